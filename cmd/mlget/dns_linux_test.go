package main_test

import (
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mlget/mlget/internal/linklab"
)

// answered is a message with these answers.
func answered(m *dnsmessage.Message, bodies ...dnsmessage.ResourceBody) []byte {
	for _, b := range bodies {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 1}, Body: b,
		})
	}
	text, _ := m.Pack() // nil is garbage as well
	return text
}

// TestNamesThatLie: what the name server of one link says wrongly does no harm while
// the other link's is right; the file is right in any case.
func TestNamesThatLie(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 6e6}, fastWiFi, fastLTE)
	nowhere := &dnsmessage.AResource{A: [4]byte{192, 0, 2, 77}}
	isA := func(m *dnsmessage.Message) bool { return m.Questions[0].Type == dnsmessage.TypeA }
	serve := func(t *testing.T, lie func(m *dnsmessage.Message) ([]byte, bool)) (addr string) {
		conn, err := l.ListenPacket(0)
		check(t, err)
		s := &nameServer{conn: conn, address: [4]byte{192, 0, 2, 1}, lie: lie}
		s.start(t)
		return conn.LocalAddr().String()
	}
	for _, c := range []struct {
		name string
		lie  func(m *dnsmessage.Message) ([]byte, bool)
	}{
		{"an address of nobody", func(m *dnsmessage.Message) ([]byte, bool) { return answered(m, nowhere), isA(m) }},
		{"many addresses of nobody, and the right one", func(m *dnsmessage.Message) ([]byte, bool) {
			return answered(m, nowhere, nowhere, nowhere, &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}), isA(m)
		}},
		{"this machine", func(m *dnsmessage.Message) ([]byte, bool) {
			return answered(m, &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}), isA(m)
		}},
		{"no such name", func(m *dnsmessage.Message) ([]byte, bool) {
			m.RCode = dnsmessage.RCodeNameError
			return answered(m), true
		}},
		{"a failure", func(m *dnsmessage.Message) ([]byte, bool) {
			m.RCode = dnsmessage.RCodeServerFailure
			return answered(m), true
		}},
		{"an alias of itself", func(m *dnsmessage.Message) ([]byte, bool) {
			return answered(m, &dnsmessage.CNAMEResource{CNAME: m.Questions[0].Name}), true
		}},
		{"the answer to another question", func(m *dnsmessage.Message) ([]byte, bool) {
			m.ID++
			return answered(m, nowhere), true
		}},
		{"an address in the other family only, of nobody", func(m *dnsmessage.Message) ([]byte, bool) {
			if isA(m) {
				return answered(m), true
			}
			return answered(m, &dnsmessage.AAAAResource{AAAA: [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 77}}), true
		}},
		{"garbage", func(*dnsmessage.Message) ([]byte, bool) { return []byte(strings.Repeat("\xc0\x0c", 300)), true }},
		{"nothing", func(*dnsmessage.Message) ([]byte, bool) { return nil, true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := l.folder(t)
			good, bad := serve(t, nil), serve(t, c.lie)
			url := strings.Replace(l.URL(), "192.0.2.1", "files.test", 1)
			r := l.fetch(t, url, "--link", "rmnet0,dns="+good, "--link", "wlan0,dns="+bad, "--connect-timeout", "3s")
			if r.Links[1].Bytes == 0 {
				t.Error("the other link has brought nothing")
			}
			// Alone it has nobody else to ask: an error, if the address is not among what it was told.
			res := l.mlget(t, "--links", "wlan0", "--link", "wlan0,dns="+bad, "-t", "2", "--connect-timeout", "1s", "--max-time", "20s", "-o", "alone.bin", url)
			if res.code != 4 && res.code != 0 {
				t.Errorf("alone: exit %d: %s", res.code, res.stderr)
			}
		})
	}
}

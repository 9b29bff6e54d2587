package android

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

func word(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func TestReadAnswer(t *testing.T) {
	message := make([]byte, 40)
	for name, c := range map[string]struct {
		reply []byte
		err   string // "" is none
	}{
		"an answer":            {append(append(word(0), word(40)...), message...), ""},
		"a name not found":     {append(append(word(3), word(40)...), message...), ""},
		"nothing":              {nil, "EOF"},
		"half a code":          {word(0)[:3], "EOF"},
		"no length":            {word(0), "EOF"},
		"cut short":            {append(append(word(0), word(40)...), message[:39]...), "EOF"},
		"shorter than DNS":     {append(append(word(0), word(11)...), message...), "11 bytes"},
		"negative length":      {append(append(word(0), word(-1)...), message...), "-1 bytes"},
		"a length beyond all":  {append(append(word(0), word(1<<30)...), message...), "bytes"},
		"no network":           {word(-64), "the network is gone"},
		"silent name servers":  {word(-110), "do not answer"},
		"blocked, or no way":   {word(-111), "no name server of the network can be reached, or (Android 14 and later) Android blocks"},
		"no servers":           {word(-3), "the network has no name servers"},
		"not evaluated":        {word(-11), "refuses this app's question"},
		"another errno":        {word(-5), "input/output error"},
		"Android 9":            {[]byte("500 no such command\x00"), "takes no DNS queries"},
		"a number of no errno": {word(-1 << 31), "takes no DNS queries"},
	} {
		_, err := readAnswer(bytes.NewReader(c.reply))
		if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || !errors.Is(err, ErrResolver)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

// TestNoAnswer: which numbers are worth asking again, and which are a time-out. 3 is
// not ESRCH and 11 is not EAGAIN (DnsProxyListener.cpp).
func TestNoAnswer(t *testing.T) {
	for code, again := range map[int]bool{110: true, 111: true, 3: true, 64: true, 5: true, 11: false, 1: false, 13: false, 22: false, 84: false, 90: false} {
		e := &NoAnswer{Code: code}
		if e.Temporary() != again || e.Timeout() != (code == 110) || strings.Contains(e.Error(), "no such process") || strings.Contains(e.Error(), "temporarily unavailable") {
			t.Errorf("%d: again %v, time-out %v: %v", code, e.Temporary(), e.Timeout(), e)
		}
	}
}

// FuzzReplies gives both parsers of what netd says all kinds of bytes.
func FuzzReplies(f *testing.F) {
	f.Add(append(append(word(0), word(12)...), make([]byte, 12)...))
	f.Add(word(-110))
	f.Add([]byte("500 no such command\x00"))
	f.Add(slices.Concat([]byte(codeFound), found(addr4()), found(addr6()), word(0)))
	f.Add(slices.Concat([]byte(codeFailed), word(4), binary.NativeEndian.AppendUint32(nil, eaiNoName)))
	f.Add(binary.NativeEndian.AppendUint32(nil, ^uint32(12)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if answer, err := readAnswer(bytes.NewReader(b)); err == nil && (len(answer) < 12 || len(answer) > len(b)-8) {
			t.Errorf("an answer of %d bytes", len(answer))
		}
		if addrs, err := readAddrs(bytes.NewReader(b), "host"); err == nil && len(addrs) > len(b)/24 {
			t.Errorf("%d addresses", len(addrs))
		}
		if errno, err := readReply(bytes.NewReader(b)); err == nil && (errno < 0 || errno > errnoMax) {
			t.Errorf("errno %d", errno)
		}
	})
}

// found is one address of an answer to getaddrinfo.
func found(address []byte) []byte {
	return slices.Concat(word(1), word(0), word(2), word(1), word(6), word(int32(len(address))), address, word(3), []byte("a.\x00"))
}

// addr4 and addr6 are a struct sockaddr_in and a struct sockaddr_in6.
func addr4() []byte {
	return append(binary.NativeEndian.AppendUint16(nil, linuxInet), 0, 80, 192, 0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0)
}

func addr6() []byte {
	return append(binary.NativeEndian.AppendUint16(nil, linuxInet6),
		0, 80, 0, 0, 0, 0, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0)
}

func TestReadAddrs(t *testing.T) {
	failed := func(n uint32) []byte {
		return slices.Concat([]byte(codeFailed), word(4), binary.NativeEndian.AppendUint32(nil, n))
	}
	for name, c := range map[string]struct {
		reply []byte
		want  string // of addresses
		err   string
	}{
		"two":                   {slices.Concat([]byte(codeFound), found(addr4()), found(addr6()), word(0)), "[192.0.2.7 2001:db8::7]", ""},
		"none":                  {slices.Concat([]byte(codeFound), word(0)), "[]", ""},
		"of an unknown family":  {slices.Concat([]byte(codeFound), found([]byte{9, 9, 9}), found(nil), word(0)), "[]", ""},
		"no end":                {slices.Concat([]byte(codeFound), found(addr4())), "", "EOF"},
		"cut short":             {slices.Concat([]byte(codeFound), found(addr4())[:30]), "", "EOF"},
		"a field beyond all":    {slices.Concat([]byte(codeFound), word(1), make([]byte, 16), word(1<<30)), "", "field"},
		"a negative field":      {slices.Concat([]byte(codeFound), word(1), make([]byte, 16), word(-1)), "", "field"},
		"addresses without end": {slices.Concat([]byte(codeFound), bytes.Repeat(found(addr4()), maxFound+1)), "", "more than"},
		"no such name":          {failed(eaiNoName), "", "no such host"},
		"no address":            {failed(eaiNoData), "", "no such host"},
		"servers do not answer": {failed(2), "", "name servers do not answer"},
		"a server fails":        {failed(4), "", "name server of the network failed"},
		"something else":        {failed(11), "", "getaddrinfo error 11"},
		"another code":          {[]byte("500 what"), "", `code "500 "`},
		"nothing":               {nil, "", "EOF"},
	} {
		addrs, err := readAddrs(bytes.NewReader(c.reply), "host")
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || err == nil && fmt.Sprint(addrs) != c.want {
			t.Errorf("%s: %v, %v, want %s, %q", name, addrs, err, c.want, c.err)
		}
		var dns *net.DNSError
		if errors.As(err, &dns) != (c.err == "no such host") || err != nil && dns == nil && !errors.Is(err, ErrResolver) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLookupCommand(t *testing.T) {
	for family, want := range map[int]string{
		0: "getaddrinfo a.test ^ 0 0 1 0 101\x00", 4: "getaddrinfo a.test ^ 0 2 1 0 101\x00", 6: "getaddrinfo a.test ^ 0 10 1 0 101\x00",
	} {
		if got, err := lookupCommand(101, "a.test", family); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	for _, host := range []string{"", "a b", "a\x00b", "^", "a\"b", `a\b`, "a'b", "é", strings.Repeat("a", 256)} {
		if got, err := lookupCommand(101, host, 0); err == nil {
			t.Errorf("%q became %q", host, got)
		}
	}
}

func TestCommand(t *testing.T) {
	if got, want := string(appendCommand(nil, 101, []byte{1, 2, 3})), "resnsend 101 0 AQID\x00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := len(appendCommand(nil, 65535, make([]byte, maxQuery))); n > maxCommand {
		t.Errorf("the longest query makes a command of %d bytes", n)
	}
}

func TestQueryTooLong(t *testing.T) {
	q := &query{}
	if _, err := q.Write(make([]byte, 2+maxQuery+1)); !errors.Is(err, ErrResolver) {
		t.Error(err)
	}
	if _, err := q.Read(make([]byte, 2)); !errors.Is(err, ErrResolver) {
		t.Error(err)
	}
	if _, err := DialResolver(context.Background(), t.TempDir()+"/none", 100); !errors.Is(err, ErrResolver) {
		t.Error(err)
	}
}

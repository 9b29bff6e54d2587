package android

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
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
		"no network":           {word(-64), "machine is not on the network"},
		"silent name servers":  {word(-110), "do not answer"},
		"blocked":              {word(-111), "Data Saver"},
		"Android 9":            {[]byte("500 no such command\x00"), "Android 9 and older"},
		"a number of no errno": {word(-1 << 31), "no such query"},
	} {
		_, err := readAnswer(bytes.NewReader(c.reply))
		if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || !errors.Is(err, ErrResolver)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

// FuzzReplies gives both parsers of what netd says all kinds of bytes.
func FuzzReplies(f *testing.F) {
	f.Add(append(append(word(0), word(12)...), make([]byte, 12)...))
	f.Add(word(-110))
	f.Add([]byte("500 no such command\x00"))
	f.Add(binary.NativeEndian.AppendUint32(nil, ^uint32(12)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if answer, err := readAnswer(bytes.NewReader(b)); err == nil && (len(answer) < 12 || len(answer) > len(b)-8) {
			t.Errorf("an answer of %d bytes", len(answer))
		}
		if errno, err := readReply(bytes.NewReader(b)); err == nil && (errno < 0 || errno > errnoMax) {
			t.Errorf("errno %d", errno)
		}
	})
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

package fetch

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestEncodedBodyIsLeftAlone: content that a server encodes unasked is kept as sent, and is
// another object than unencoded content.
func TestEncodedBodyIsLeftAlone(t *testing.T) {
	var asked int
	s := newRawServer(t, func(p *peer) {
		for p.request() != nil {
			head := []string{"HTTP/1.1 206 OK", "Content-Range: bytes 0-9/100", "Content-Length: 10", `Etag: "x"`}
			if asked++; asked > 1 {
				head = append(head, "Content-Encoding: GZip, identity", "Content-Encoding: zstd")
			}
			p.say(lines(head...) + "\x1f\x8b34567890")
		}
	})
	c := client(t, Config{})
	var objects []Object
	for range 3 {
		resp, err := c.Get(context.Background(), s.url(t), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp); err != nil || string(body) != "\x1f\x8b34567890" {
			t.Errorf("%q, %v", body, err)
		}
		objects = append(objects, resp.Object)
		_ = resp.Close()
	}
	if objects[0].Encoding != "" || objects[1].Encoding != "gzip, zstd" || objects[2].Encoding != objects[1].Encoding {
		t.Errorf("%+v", objects)
	}
}

func TestEncodingOf(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "identity": "", " Identity ,": "", "x-gzip": "gzip", "X-Compress": "compress",
		"utf-8": "utf-8", "aws-chunked,gzip": "aws-chunked, gzip", "a\xffb": "a�b",
	} {
		if got := encodingOf(http.Header{"Content-Encoding": {text}}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := encodingOf(http.Header{"Content-Encoding": {strings.Repeat("\u00e9", 5000)}}); len(got) > 64 || !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
}

func TestEvident(t *testing.T) {
	for name, encoding := range map[string]string{
		"a.tar.gz": "gzip", "/x/a.TGZ": "gzip", "b.Z": "compress", "a.tar.zst": "zstd", "c.tar.bz2": "bzip2",
		"f.xz": "xz", "j.js.br": "br", "file=x.tar.gz": "gzip",
	} {
		if !(Object{Encoding: encoding}).Evident(name) {
			t.Errorf("%s does not tell of %s", name, encoding)
		}
		for _, other := range []string{"", "utf-8", "gzip, zstd", "deflate"} {
			if (Object{Encoding: other}).Evident(name) {
				t.Errorf("%s tells of %q", name, other)
			}
		}
	}
	if (Object{Encoding: "gzip"}).Evident("a.json") || (Object{Encoding: "gzip"}).Evident("a.zst") {
		t.Error("evident from the name of something else")
	}
}

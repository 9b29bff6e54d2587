package main_test

import (
	"bufio"
	"io"
	"net"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptSOCKS is "socks NAME USER PASSWORD": a SOCKS5 proxy at $NAME, by RFC 1928 and RFC
// 1929, for whom every name is the site's.
func scriptSOCKS(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: socks NAME USER PASSWORD")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = ln.Close() })
	ts.Setenv(args[0], ln.Addr().String())
	site := strings.TrimPrefix(siteOf(ts).clear.URL, "http://")
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go serveSOCKS(conn, site, args[1], args[2])
		}
	}()
}

// serveSOCKS serves one client.
func serveSOCKS(conn net.Conn, to, user, password string) {
	defer conn.Close() //nolint:errcheck // it may be gone
	in := bufio.NewReader(conn)
	read := func(n int) string {
		b := make([]byte, n)
		_, _ = io.ReadFull(in, b)
		return string(b)
	}
	text := func() string { return read(int(read(1)[0])) }
	if read(1) != "\x05" || !strings.Contains(text(), "\x02") {
		_, _ = io.WriteString(conn, "\x05\xff")
		return
	}
	_, _ = io.WriteString(conn, "\x05\x02")
	read(1)
	if u, p := text(), text(); u != user || p != password {
		_, _ = io.WriteString(conn, "\x01\x01")
		return
	}
	_, _ = io.WriteString(conn, "\x01\x00")
	if read(4) == "\x05\x01\x00\x03" { // a name
		text()
	}
	read(2)
	there, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer there.Close() //nolint:errcheck // so may that
	_, _ = io.WriteString(conn, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
	go func() { _, _ = io.Copy(there, in); _ = there.(*net.TCPConn).CloseWrite() }()
	_, _ = io.Copy(conn, there)
}

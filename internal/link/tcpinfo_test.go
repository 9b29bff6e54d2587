package link

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"testing"
)

func TestReadTCPInfo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not read on " + runtime.GOOS)
	}
	listener := listen(t, "tcp4", "127.0.0.1:0")
	defer closing(t, listener)
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, client)
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, server)
	const size = 100_000
	sent := make(chan error, 1)
	go func() {
		_, err := server.Write(make([]byte, size))
		sent <- err
	}()
	if _, err := io.CopyN(io.Discard, client, size); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]net.Conn{"plain": client, "TLS": tls.Client(client, &tls.Config{ServerName: "x"})} {
		info, ok := ReadTCPInfo(c)
		if !ok || info.BytesReceived < size || info.SegsIn == 0 || info.SegsOut == 0 || info.DataSegsIn == 0 || info.DataSegsIn > info.SegsIn || info.MinRTT <= 0 || info.RTT < info.MinRTT {
			t.Errorf("%s: %+v, %v", name, info, ok)
		}
	}
	_ = client.Close()
	if info, ok := ReadTCPInfo(client); ok {
		t.Errorf("closed: %+v", info)
	}
	a, b := net.Pipe()
	defer closing(t, a)
	defer closing(t, b)
	if info, ok := ReadTCPInfo(a); ok {
		t.Errorf("a pipe: %+v", info)
	}
	udp, err := net.Dial("udp4", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, udp)
	if info, ok := ReadTCPInfo(udp); ok {
		t.Errorf("UDP: %+v", info)
	}
}

package fetch

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// trafficKey is the key of a TLS 1.3 connection's records for that secret (RFC 8446, 7.3), with
// AES-128-GCM.
func trafficKey(t *testing.T, secret []byte) (seal cipher.AEAD, iv []byte) {
	t.Helper()
	expand := func(label string, n int) []byte {
		label = "tls13 " + label
		info := string([]byte{0, byte(n), byte(len(label))}) + label + "\x00"
		out, err := hkdf.Expand(sha256.New, secret, info, n)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	block, err := aes.NewCipher(expand("key", 16))
	if err != nil {
		t.Fatal(err)
	}
	if seal, err = cipher.NewGCM(block); err != nil {
		t.Fatal(err)
	}
	return seal, expand("iv", seal.NonceSize())
}

// emptyRecord is a record of application data that holds none, the seq-th that is sealed with
// the secret that keys, in the format of SSLKEYLOGFILE, have for the server.
func emptyRecord(t *testing.T, keys string, seq uint64) []byte {
	t.Helper()
	_, keys, found := strings.Cut(keys, "SERVER_TRAFFIC_SECRET_0 ")
	words := strings.Fields(keys)
	if !found || len(words) < 2 {
		t.Fatalf("no secret in %q", keys)
	}
	secret, err := hex.DecodeString(words[1])
	if err != nil {
		t.Fatal(err)
	}
	seal, nonce := trafficKey(t, secret)
	tail := nonce[len(nonce)-8:]
	binary.BigEndian.PutUint64(tail, binary.BigEndian.Uint64(tail)^seq)
	const applicationData = 23
	head := []byte{applicationData, 3, 3, 0, byte(1 + seal.Overhead())}
	return append(head, seal.Seal(nil, nonce, []byte{applicationData}, head)...)
}

// TestAnEmptyRecordDelaysNoData: what came before it is handed on, though nothing follows
// yet. Tickets and new keys come in such records, too.
func TestAnEmptyRecordDelaysNoData(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	srv.StartTLS() // for its certificate
	defer srv.Close()
	mu := &sync.Mutex{}
	some := sync.NewCond(mu)
	near := &tank{mu: mu, some: some, in: &bytes.Buffer{}, out: &bytes.Buffer{}}
	far := &tank{mu: mu, some: some, in: near.out, out: near.in}
	var keys bytes.Buffer
	server := tls.Server(far, &tls.Config{ //nolint:gosec // a test's
		Certificates: srv.TLS.Certificates, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, KeyLogWriter: &keys,
	})
	written := make(chan error, 1)
	go func() {
		_, err := server.Write([]byte("0123456789"))
		written <- err
	}()
	c := newTLSStream(near, &tls.Config{InsecureSkipVerify: true}, &aheadPool{}) //nolint:gosec // a test's
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if suite := server.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("%s: no AES in this processor", tls.CipherSuiteName(suite))
	}
	if _, err := far.Write(emptyRecord(t, keys.String(), 1)); err != nil {
		t.Fatal(err)
	}
	c.gather(1 << 20)
	got := make([]byte, 20)
	if n, err := c.Read(got); err != nil || string(got[:n]) != "0123456789" { // waits for more, if at all
		t.Errorf("%q, %v", got[:n], err)
	}
}

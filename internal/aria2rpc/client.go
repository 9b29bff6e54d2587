package aria2rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// UnixPrefix stands before the path of a UNIX socket in an address.
const UnixPrefix = "unix:"

// maxAnswer bounds what a client reads, in bytes.
const maxAnswer = 64 << 20

// Client calls a server.
type Client struct {
	http   http.Client
	url    string
	secret string
}

// NewClient makes a client of the server at HOST:PORT or unix:PATH. secret may be empty.
func NewClient(at, secret string) *Client {
	c := &Client{url: "http://" + at + "/jsonrpc", secret: secret}
	if path, ok := strings.CutPrefix(at, UnixPrefix); ok {
		c.url = "http://localhost/jsonrpc"
		c.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}
		return c
	}
	c.http.Transport = &http.Transport{} // through no proxy
	return c
}

// Call makes a call and decodes its result, unless that is nil. What the server says against
// the call is an error, as it words it.
func (c *Client) Call(ctx context.Context, result any, method string, params ...any) error {
	if c.secret != "" {
		params = append([]any{tokenPrefix + c.secret}, params...)
	}
	if params == nil {
		params = []any{}
	}
	call, err := json.Marshal(map[string]any{"jsonrpc": rpcVersion, "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(call))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	reply, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxAnswer))
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *errorMembers   `json:"error"`
	}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil:
		return fmt.Errorf("%s: its answer is not one of aria2's JSON-RPC", reply.Status)
	case answer.Error != nil:
		return &callError{answer.Error.Code, answer.Error.Message}
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// IsRefusal says whether an error is the server's answer, so that there is one.
func IsRefusal(err error) bool { return errors.As(err, new(*callError)) }

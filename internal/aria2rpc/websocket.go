package aria2rpc

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/mlget/mlget/internal/daemon"
)

// writeTime is how long a client may take to read a message; chosen by hand.
const writeTime = 10 * time.Second

// isWebSocket says whether a request is to become a WebSocket (RFC 6455, 4.2.1).
func isWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// serveWebSocket answers a client's requests, and sends it notifications, until either goes.
// Whether the page that asks may do so was decided before.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	select {
	case s.sockets <- struct{}{}:
		defer func() { <-s.sockets }()
	default:
		w.Header().Set("Connection", "close")
		http.Error(w, "too many WebSockets", http.StatusServiceUnavailable)
		return
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has been answered
	}
	defer c.CloseNow() //nolint:errcheck // it is closed already, or nobody is there
	c.SetReadLimit(maxRequest)
	notices := s.Manager.Subscribe()
	defer s.Manager.Unsubscribe(notices)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var answering sync.Mutex // a call for the end is answered before the connection is closed
	go func() {
		defer cancel()
		s.notify(ctx, c, notices)
		answering.Lock()
		defer answering.Unlock()
		_ = c.Close(websocket.StatusGoingAway, "")
	}()
	for {
		_, text, err := c.Read(ctx)
		if err != nil {
			return
		}
		if !s.calls.Allow() {
			_ = c.Close(websocket.StatusPolicyViolation, "too many requests")
			return
		}
		answering.Lock()
		err = send(ctx, c, s.parse(ctx, text))
		answering.Unlock()
		if err != nil {
			return
		}
	}
}

// notify sends notifications until there are no more.
func (s *Server) notify(ctx context.Context, c *websocket.Conn, notices <-chan daemon.Notice) {
	names := notificationNames() // in the order of daemon.Kind
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.stopped:
			return
		case n, ok := <-notices:
			if !ok {
				return
			}
			if n.Kind > daemon.Erred {
				continue
			}
			if send(ctx, c, object{"jsonrpc": rpcVersion, "method": names[n.Kind], "params": []object{{"gid": n.GID.String()}}}) != nil {
				return
			}
		}
	}
}

func send(ctx context.Context, c *websocket.Conn, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return c.Write(ctx, websocket.MessageText, encode(answer))
}

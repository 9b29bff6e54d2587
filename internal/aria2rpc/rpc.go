package aria2rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
)

// response is the answer to a call. Its members are in aria2's order.
type response struct {
	ID      any           `json:"id"`
	Version string        `json:"jsonrpc"`
	Error   *errorMembers `json:"error,omitempty"`
	Result  any           `json:"result,omitempty"`
}

type errorMembers struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

const rpcVersion = "2.0"

func failure(id any, err error) response {
	r := response{ID: id, Version: rpcVersion, Error: &errorMembers{codeFailed, err.Error()}}
	var call *callError
	if errors.As(err, &call) {
		r.Error.Code = call.code
	}
	return r
}

// request is one request, of one call or many, and what it has cost so far.
type request struct {
	*Server
	ctx   context.Context //nolint:containedctx // the request's, for as long as it is answered
	wrong int             // secrets
	size  int             // of the results of its calls, in bytes
}

func (s *Server) request(ctx context.Context) *request { return &request{Server: s, ctx: ctx} }

// Bounds of a request, chosen by hand: how deep lists and objects may be in each other, how many
// values there are about, from how many bytes of results on its further calls are refused, and
// after how many wrong secrets.
const (
	maxDepth   = 50
	maxValues  = 200_000
	maxResults = 16 << 20
	maxWrong   = 5
)

// decode reads a request: one value, and nothing behind it.
func decode(text []byte) (any, error) {
	depth, values := 0, 0
	inText, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case inText && c == '\\':
			escaped = true
		case c == '"':
			inText = !inText
		case inText:
		case c == ',':
			values++
		case c == '[', c == '{':
			values++
			depth++
		case c == ']', c == '}':
			depth--
		}
		if depth > maxDepth || values > maxValues {
			return nil, &callError{codeParse, "Parse error."}
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &callError{codeParse, "Parse error."}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &callError{codeParse, "Parse error."}
	}
	return v, nil
}

// answer answers a call, or a batch of them.
func (r *request) answer(asked any) any {
	switch a := asked.(type) {
	case map[string]any:
		return r.one(a)
	case []any:
		all := make([]response, 0, len(a))
		for _, call := range a {
			c, ok := call.(map[string]any)
			if !ok { // aria2 passes over it
				continue
			}
			one := r.one(c)
			one.Result = r.keep(one.Result)
			all = append(all, one)
		}
		return all
	case nil:
		return failure(nil, &callError{codeInvalid, "Invalid Request."})
	}
	return failure(nil, &callError{codeParse, "Parse error."})
}

// keep is a result of one of many calls as it will be sent, so that they take no more memory than
// the answer.
func (r *request) keep(result any) any {
	if result == nil {
		return nil
	}
	text := encode(result)
	r.size += len(text)
	return json.RawMessage(text)
}

// one answers a call. One without an id is refused: aria2 knows no notifications of clients.
func (r *request) one(call map[string]any) response {
	id, hasID := call["id"]
	method, ok := call["method"].(string)
	if !ok || !hasID {
		return failure(id, &callError{codeInvalid, "Invalid Request."})
	}
	var p params
	if given, there := call["params"]; there {
		list, ok := given.([]any)
		if !ok {
			return failure(id, &callError{codeParams, "Invalid params."})
		}
		p = list
	}
	result, err := r.call(method, p)
	if err != nil {
		return failure(id, err)
	}
	return response{ID: id, Version: rpcVersion, Result: result}
}

// status is the HTTP status of a response, as aria2 has it.
func (r response) status() int {
	switch {
	case r.Error == nil:
		return 200
	case r.Error.Code == codeParse, r.Error.Code == codeParams:
		return 500
	}
	return 400
}

// multicall makes several calls, each with a secret of its own.
func (r *request) multicall(p params) (any, error) {
	calls, err := required[[]any](p, 0)
	if err != nil {
		return nil, err
	}
	results := make([]any, 0, len(calls))
	fail := func(err error) { results = append(results, failure(nil, err).Error) }
	for _, c := range calls {
		call, ok := c.(map[string]any)
		if !ok {
			fail(failf("system.multicall expected struct."))
			continue
		}
		method, ok := call["methodName"].(string)
		switch {
		case !ok:
			fail(failf("Missing methodName."))
			continue
		case method == multicall:
			fail(failf("Recursive system.multicall forbidden."))
			continue
		}
		list, _ := call["params"].([]any)
		if result, err := r.call(method, list); err != nil {
			fail(err)
		} else {
			results = append(results, []any{r.keep(result)})
		}
	}
	return results, nil
}

package aria2rpc

import (
	"bytes"
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

// maxDepth bounds how deep lists and objects of a request may be in each other.
const maxDepth = 50

// decode reads a request: one value, and nothing behind it.
func decode(text []byte) (any, error) {
	depth := 0
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
		case c == '[', c == '{':
			if depth++; depth > maxDepth {
				return nil, &callError{codeParse, "Parse error."}
			}
		case c == ']', c == '}':
			depth--
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

// answer answers a request, or a batch of them.
func (s *Server) answer(request any) any {
	switch r := request.(type) {
	case map[string]any:
		return s.one(r)
	case []any:
		all := make([]response, 0, len(r))
		for _, call := range r {
			if c, ok := call.(map[string]any); ok { // aria2 passes over the others
				all = append(all, s.one(c))
			}
		}
		return all
	case nil:
		return failure(nil, &callError{codeInvalid, "Invalid Request."})
	}
	return failure(nil, &callError{codeParse, "Parse error."})
}

// one answers a call. One without an id is refused: aria2 knows no notifications of clients.
func (s *Server) one(r map[string]any) response {
	id, hasID := r["id"]
	method, ok := r["method"].(string)
	if !ok || !hasID {
		return failure(id, &callError{codeInvalid, "Invalid Request."})
	}
	var p params
	if given, there := r["params"]; there {
		list, ok := given.([]any)
		if !ok {
			return failure(id, &callError{codeParams, "Invalid params."})
		}
		p = list
	}
	result, err := s.call(method, p)
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
func (s *Server) multicall(p params) (any, error) {
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
		if result, err := s.call(method, list); err != nil {
			fail(err)
		} else {
			results = append(results, []any{result})
		}
	}
	return results, nil
}

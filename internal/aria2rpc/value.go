package aria2rpc

import (
	"fmt"
	"strings"
)

// params are a call's parameters, as encoding/json decodes them with UseNumber.
type params []any

// callError is a call's failure, as aria2 words it.
type callError struct {
	code    int
	message string
}

func (e *callError) Error() string { return e.message }

// The codes of JSON-RPC 2.0, and the one that aria2 has for all that goes wrong with a call.
const (
	codeParse   = -32700
	codeInvalid = -32600
	codeParams  = -32602
	codeFailed  = 1
)

func failf(format string, args ...any) error {
	return &callError{codeFailed, fmt.Sprintf(format, args...)}
}

func missing(at int) error   { return failf("The parameter at %d is required but missing.", at) }
func wrongType(at int) error { return failf("The parameter at %d has wrong type.", at) }

// as is the parameter at a place, if it is there and of type T.
func as[T any](p params, at int) (value T, there bool, err error) {
	if at >= len(p) {
		return value, false, nil
	}
	value, there = p[at].(T)
	if !there {
		return value, false, wrongType(at)
	}
	return value, true, nil
}

// required is the parameter at a place.
func required[T any](p params, at int) (value T, err error) {
	value, there, err := as[T](p, at)
	if err == nil && !there {
		err = missing(at)
	}
	return value, err
}

// integer is the whole number at a place.
func integer(p params, at int) (n int, there bool, err error) {
	if at >= len(p) {
		return 0, false, nil
	}
	number, ok := p[at].(interface{ Int64() (int64, error) })
	if !ok {
		return 0, false, wrongType(at)
	}
	long, err := number.Int64()
	if err != nil || long != int64(int(long)) {
		return 0, false, wrongType(at)
	}
	return int(long), true, nil
}

// requiredInteger is the whole number at a place.
func requiredInteger(p params, at int) (n int, err error) {
	n, there, err := integer(p, at)
	if err == nil && !there {
		err = missing(at)
	}
	return n, err
}

// atLeast refuses a number at a place that is too low.
func atLeast(n, least, at int) error {
	if n < least {
		return failf("The integer parameter at %d has invalid value: the value must be greater than or equal to %d.", at, least)
	}
	return nil
}

// texts are those of a list that are texts; aria2 passes over the others.
func texts(list []any) (all []string) {
	for _, v := range list {
		if text, ok := v.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// keys is what of a status is wanted.
type keys map[string]bool

// optionalKeys reads the list of keys at a place; nil: all.
func optionalKeys(p params, at int) (keys, error) {
	list, _, err := as[[]any](p, at)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	k := make(keys, len(list))
	for _, name := range texts(list) {
		k[name] = true
	}
	return k, nil
}

// object is a JSON object; encoding/json sorts its members, as aria2 does.
type object map[string]any

// pick is the members that are wanted.
func (o object) pick(k keys) object {
	if k == nil {
		return o
	}
	for name := range o {
		if !k[name] {
			delete(o, name)
		}
	}
	return o
}

// isHTTP says whether a URI can be downloaded.
func isHTTP(uri string) bool {
	scheme, rest, ok := strings.Cut(uri, "://")
	return ok && rest != "" && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

package digestauth

import "strings"

// Challenge is one way to authenticate that a server offers (RFC 9110, 11.6.1).
type Challenge struct {
	Scheme string            // as sent: a token
	Params map[string]string // by their names in lower case
}

// maxChallenges bounds how many are read.
const maxChallenges = 16

// Parse reads the values of a header WWW-Authenticate or Proxy-Authenticate, each of which
// may hold several challenges. What follows something that cannot be read is left out.
func Parse(values []string) (all []Challenge) {
	for _, v := range values {
		r := reader{v}
		for len(all) < maxChallenges {
			r.skip(", \t")
			word := r.token()
			if word == "" {
				break
			}
			r.skip(" \t")
			value, ok := r.value()
			switch {
			case ok && len(all) > 0: // a parameter of the challenge before
				name := strings.ToLower(word)
				if _, twice := all[len(all)-1].Params[name]; !twice {
					all[len(all)-1].Params[name] = value
				}
				continue
			case ok:
				return all // of no challenge
			}
			all = append(all, Challenge{word, make(map[string]string)})
			r.token68()
		}
	}
	return all
}

// reader takes a header's value apart.
type reader struct{ rest string }

// skip passes over these characters.
func (r *reader) skip(cut string) { r.rest = strings.TrimLeft(r.rest, cut) }

func (r *reader) token() string {
	n := 0
	for n < len(r.rest) && isTokenByte(r.rest[n]) {
		n++
	}
	word := r.rest[:n]
	r.rest = r.rest[n:]
	return word
}

// value reads "=" and a token or a quoted-string; false: there is none, and nothing is read.
func (r *reader) value() (string, bool) {
	rest, ok := strings.CutPrefix(r.rest, "=")
	if !ok {
		return "", false
	}
	rest = strings.TrimLeft(rest, " \t")
	if !strings.HasPrefix(rest, `"`) {
		// Not quite a token: nonces stand there without quotes, too.
		n := strings.IndexAny(rest, ", \t")
		if n < 0 {
			n = len(rest)
		}
		r.rest = rest[n:]
		return rest[:n], true
	}
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			r.rest = rest[i+1:]
			return b.String(), true
		case c == '\\' && i+1 < len(rest):
			i++
			b.WriteByte(rest[i])
		default:
			b.WriteByte(c)
		}
	}
	r.rest = ""
	return b.String(), true
}

// token68 passes over what some schemes have in place of parameters: base64.
func (r *reader) token68() {
	n := strings.IndexAny(r.rest, ", \t")
	if n < 0 {
		n = len(r.rest)
	}
	if word := strings.TrimRight(r.rest[:n], "="); !strings.ContainsAny(word, `="`) && (n == len(r.rest) || r.rest[n] == ',') {
		r.rest = r.rest[n:]
	}
}

func isTokenByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

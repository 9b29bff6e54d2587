package get

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/term"
)

// formatPart is text, or a variable.
type formatPart struct{ text, variable string }

// parseFormat reads curl's: %{variable}, %% for %, and \n, \r and \t; all else
// stands for itself.
func parseFormat(format string) (parts []formatPart) {
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, formatPart{text: text.String()})
			text.Reset()
		}
	}
	for format != "" {
		switch {
		case strings.HasPrefix(format, "%%"):
			text.WriteByte('%')
			format = format[2:]
		case strings.HasPrefix(format, "%{") && strings.IndexByte(format, '}') > 2:
			flush()
			end := strings.IndexByte(format, '}')
			parts = append(parts, formatPart{variable: format[2:end]})
			format = format[end+1:]
		case len(format) > 1 && format[0] == '\\' && strings.IndexByte("nrt", format[1]) >= 0:
			text.WriteByte("\n\r\t"[strings.IndexByte("nrt", format[1])])
			format = format[2:]
		default:
			text.WriteByte(format[0])
			format = format[1:]
		}
	}
	flush()
	return parts
}

// control are the variables that print nothing of a download by themselves.
func control() []string { return []string{"json", "onerror", "stderr", "stdout"} }

func isVariable(name string) bool { return slices.Contains(Variables(), name) }

// Variables are the names of all variables.
func Variables() []string {
	return append(control(), "content_type", "errormsg", "exitcode", "filename_effective", "http_code", "http_code_raw", "http_version", "link_delta",
		"links", "local_ip", "local_port", "method", "mlget_version", "num_connects", "num_headers", "num_redirects", "num_retries", "remote_ip", "remote_port",
		"response_code", "scheme", "size_download", "size_upload", "speed_download", "time_starttransfer", "time_total", "url", "url_effective", "urlnum")
}

// values are variables, as text and as JSON.
type values map[string]struct{ plain, json string }

func (v values) set(name, plain, json string) { v[name] = struct{ plain, json string }{plain, json} }

func (v values) text(name, s string) { v.set(name, s, asJSON(s)) }

func (v values) int(name string, n int64) { v.number(name, strconv.FormatInt(n, 10)) }

func (v values) number(name, digits string) { v.set(name, digits, digits) }

// code is three digits, as curl has it.
func (v values) code(name string, n int) { v.set(name, fmt.Sprintf("%03d", n), strconv.Itoa(n)) }

func (v values) seconds(name string, s float64) { v.number(name, strconv.FormatFloat(s, 'f', 6, 64)) }

func (v values) list(name string, all []string) { v.set(name, strings.Join(all, ","), asJSON(all)) }

func asJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // or no URL with a query could be read
	if enc.Encode(v) != nil {
		return "null" // of text and lists of text there is always JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// object is all variables as one JSON object on one line.
func (v values) object() string {
	var b strings.Builder
	for _, name := range Variables() {
		if slices.Contains(control(), name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(name) + ":" + v[name].json)
	}
	return "{" + string(term.HarmlessJSON([]byte(b.String()))) + "}"
}

// print writes what the parts say.
func (v values) print(parts []formatPart, stdio console.IO) error {
	out, errs := &strings.Builder{}, &strings.Builder{}
	to := out
loop:
	for _, p := range parts {
		switch p.variable {
		case "":
			to.WriteString(p.text)
		case "stdout":
			to = out
		case "stderr":
			to = errs
		case "json":
			to.WriteString(v.object())
		case "onerror": // the rest is for failures
			if v["exitcode"].plain == "0" {
				break loop
			}
		default:
			to.WriteString(v[p.variable].plain)
		}
	}
	for _, one := range []struct {
		w    io.Writer
		text string
	}{{stdio.Out, out.String()}, {stdio.Err, errs.String()}} {
		if one.text == "" {
			continue
		}
		if _, err := io.WriteString(one.w, one.text); err != nil {
			return err
		}
	}
	return nil
}

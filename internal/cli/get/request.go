package get

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/fetch"
)

// maxData bounds what is sent with a request: it is kept in memory.
const maxData = 64 << 20

// requestOptions holds the flags of requests beyond GET, and of the client's identity.
type requestOptions struct {
	method   string
	data     []byte // nil: none
	inQuery  bool   // data is the end of the URL
	cert     string
	key      string
	pins     string
	resolve  []string
	moves    []string
	schemes  string
	maxSize  flags.Size
	retryFor time.Duration
}

func (o *requestOptions) addFlags(f *pflag.FlagSet) {
	f.VarP(dataFlag{o, asForm}, "data", "d", "send `DATA` as a form, over one link")
	flags.Detail(f, "data", "POST, unless -X says otherwise; @FILE sends a file without its line ends; several are joined with &. One request over one link, which is not tried again by itself.")
	f.StringVarP(&o.method, "request", "X", "", "use `METHOD` instead of GET or POST")
	flags.NameVar(f, &o.cert, "cert", "E", "identify by the certificate in `FILE` (PEM)")
	flags.NameVar(f, &o.key, "key", "", "its key, if in another `FILE` (PEM)")
}

func (o *requestOptions) addExpertFlags(f *pflag.FlagSet) {
	f.Var(dataFlag{o, asIs}, "post-data", "send `DATA` unchanged, without @FILE")
	f.StringVar(&o.pins, "pinnedpubkey", "", "public keys, one of which servers must have: sha256//BASE64[;...], or a `FILE`")
	f.StringArrayVar(&o.resolve, "resolve", nil, "`HOST:PORT:ADDRESS`[,ADDRESS...] to connect to, without a name server")
	f.StringArrayVar(&o.moves, "connect-to", nil, "`HOST:PORT:HOST:PORT`: connect to the latter in the place of the former")
	f.StringVar(&o.schemes, "proto", "", "`LIST` of the protocols allowed, also for redirects: =https")
	o.maxSize = flags.Size{None: true}
	f.Var(&o.maxSize, "max-filesize", "refuse files that are larger (exit 8)")
	flags.DurationVar(f, &o.retryFor, "retry-max-time", "", 0, "try nothing again after this time")
}

// addHabits defines what others call these. tries is the number of --tries.
func (o *requestOptions) addHabits(f *pflag.FlagSet, tries *flags.Tries) {
	f.Var(retryFlag{tries}, "retry", "--tries, less one")
	f.Var(dataFlag{o, asIs}, "data-raw", "--post-data")
	f.Var(dataFlag{o, asBytes}, "data-binary", "--post-data, or a file's")
	f.Var(dataFlag{o, asForm}, "data-ascii", "--data")
	f.Var(dataFlag{o, encoded}, "data-urlencode", "--data, of which this percent-encodes what needs it")
	f.BoolVarP(&o.inQuery, "get", "G", false, "append --data to the URL as its query")
	f.Var(dataFlag{o, ofFile}, "post-file", "--post-data of a file")
	for _, name := range []string{"retry", "data-raw", "data-binary", "data-ascii", "data-urlencode", "get", "post-file"} {
		f.Lookup(name).Hidden = true
	}
}

// retryFlag is curl's --retry: how many attempts there are after the first.
type retryFlag struct{ tries *flags.Tries }

func (retryFlag) Type() string   { return "N" }
func (retryFlag) String() string { return "" }

func (f retryFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<20 {
		return errors.New("want a number from 0 on")
	}
	return f.tries.Set(strconv.Itoa(n + 1))
}

// dataKind is how a flag's value becomes data.
type dataKind uint8

const (
	asIs    dataKind = iota // it is the data
	asForm                  // so it is, but @FILE is a file's, without its line ends
	asBytes                 // so it is, but @FILE is a file's
	ofFile                  // it is the name of a file
	encoded                 // TEXT, =TEXT, NAME=TEXT, @FILE or NAME@FILE: the text is percent-encoded
)

// dataFlag is data to send.
type dataFlag struct {
	o    *requestOptions
	kind dataKind
}

func (dataFlag) Type() string   { return "string" }
func (dataFlag) String() string { return "" }

func (f dataFlag) Set(text string) error {
	if f.kind == encoded {
		return f.o.addEncoded(text)
	}
	name, isFile := strings.CutPrefix(text, "@")
	if f.kind == asIs || f.kind != ofFile && !isFile {
		return f.o.add([]byte(text))
	}
	if f.kind == ofFile {
		name = text
	}
	data, err := readData(name)
	if err != nil {
		return err
	}
	if f.kind == asForm {
		data = bytes.Map(func(r rune) rune {
			if r == '\r' || r == '\n' || r == 0 {
				return -1
			}
			return r
		}, data)
	}
	return f.o.add(data)
}

// readData reads a file that is to be sent.
func readData(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	return io.ReadAll(io.LimitReader(file, maxData+1))
}

// addEncoded adds what curl's --data-urlencode takes.
func (o *requestOptions) addEncoded(text string) error {
	i := strings.IndexAny(text, "=@")
	if i < 0 {
		return o.add([]byte(url.QueryEscape(text)))
	}
	name, content := text[:i], text[i+1:]
	if text[i] == '@' {
		data, err := readData(content)
		if err != nil {
			return err
		}
		content = string(data)
	}
	if name != "" {
		name += "="
	}
	return o.add([]byte(name + url.QueryEscape(content)))
}

// addQuery appends the data to a URL as its query, with -G, percent-encoded where necessary.
func (o *requestOptions) addQuery(u *url.URL) {
	if !o.inQuery || o.data == nil {
		return
	}
	var b strings.Builder
	for _, c := range o.data {
		if c <= ' ' || c >= 0x7f || c == '#' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += b.String()
}

// add joins data to what was given before, as curl does.
func (o *requestOptions) add(data []byte) error {
	if o.data != nil {
		data = slices.Concat(o.data, []byte("&"), data)
	}
	if len(data) > maxData {
		return fmt.Errorf("more than %d bytes", maxData)
	}
	o.data = append([]byte{}, data...)
	return nil
}

// alone says whether the request may be made once only, over one link.
func (o *requestOptions) alone() bool {
	return o.data != nil && !o.inQuery || o.method != "" && o.method != "GET"
}

// apply puts what the flags say into the configuration of requests.
func (o *requestOptions) apply(cfg *fetch.Config) error {
	o.method = strings.TrimSpace(o.method)
	switch {
	case o.method == "":
	case !httpguts.ValidHeaderFieldName(o.method):
		return exit.Usagef("-X: not a method")
	case strings.EqualFold(o.method, "HEAD"), strings.EqualFold(o.method, "CONNECT"):
		return exit.UsageError{Err: fmt.Errorf("-X: %s brings no file", o.method), Hint: "-I fetches the headers only"}
	}
	cfg.Method = o.method
	if !o.inQuery {
		cfg.Body, cfg.ContentType = o.data, "application/x-www-form-urlencoded"
	}
	if o.alone() {
		cfg.NoRange = true
	}
	cfg.MaxSize = o.maxSize.Bytes
	if len(o.resolve)+len(o.moves) > 0 {
		cfg.Addresses = new(fetch.Addresses)
	}
	for _, text := range o.resolve {
		if err := cfg.Addresses.Resolve(text); err != nil {
			return exit.Usagef("--resolve %s: %w", text, err)
		}
	}
	for _, text := range o.moves {
		if err := cfg.Addresses.ConnectTo(text); err != nil {
			return exit.Usagef("--connect-to %s: %w", text, err)
		}
	}
	if o.schemes != "" {
		if cfg.Schemes = allowed(o.schemes); len(cfg.Schemes) == 0 {
			return exit.UsageError{Err: errors.New("--proto: neither http nor https is allowed then"), Hint: "--proto =https"}
		}
	}
	return o.identify(cfg.TLS)
}

// allowed reads curl's list of protocols: words that are added, removed (-) or stand alone (=).
// Only http and https are known.
func allowed(list string) (schemes []string) {
	is := map[string]bool{"http": true, "https": true}
	for word := range strings.SplitSeq(list, ",") {
		name := strings.ToLower(strings.TrimLeft(strings.TrimSpace(word), "+-="))
		alone, without := strings.HasPrefix(word, "="), strings.HasPrefix(word, "-")
		for _, scheme := range []string{"http", "https"} {
			if name == scheme || name == "all" {
				is[scheme] = !without
			} else if alone {
				is[scheme] = false
			}
		}
	}
	for _, scheme := range []string{"http", "https"} {
		if is[scheme] {
			schemes = append(schemes, scheme)
		}
	}
	return schemes
}

// identify loads the client's certificate, and the keys that servers must have.
func (o *requestOptions) identify(conf *tls.Config) error {
	if o.key != "" && o.cert == "" {
		return exit.Usagef("--key needs --cert")
	}
	if o.cert != "" {
		key := o.key
		if key == "" {
			key = o.cert
		}
		pair, err := tls.LoadX509KeyPair(o.cert, key)
		if err != nil {
			return exit.FileError{Err: fmt.Errorf("--cert: %w", err)}
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if o.pins == "" {
		return nil
	}
	pins, err := readPins(o.pins)
	if err != nil {
		return err
	}
	conf.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 && slices.Contains(pins, sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo)) {
			return nil
		}
		return errors.New("the server's public key is none of --pinnedpubkey")
	}
	return nil
}

// readPins reads public keys: their SHA-256 in base64, as curl has it, or a file with one, PEM
// or DER.
func readPins(text string) (pins [][sha256.Size]byte, err error) {
	const prefix = "sha256//"
	if !strings.HasPrefix(text, prefix) {
		key, err := os.ReadFile(text)
		if err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("--pinnedpubkey: %w", err)}
		}
		if block, _ := pem.Decode(key); block != nil {
			key = block.Bytes
		}
		return append(pins, sha256.Sum256(key)), nil
	}
	for word := range strings.SplitSeq(text, ";") {
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(word, prefix))
		if err != nil || len(sum) != sha256.Size || !strings.HasPrefix(word, prefix) {
			return nil, exit.UsageError{Err: errors.New("--pinnedpubkey: not a list of keys"), Hint: "sha256//BASE64[;sha256//BASE64...], or a file with the public key"}
		}
		pins = append(pins, [sha256.Size]byte(sum))
	}
	return pins, nil
}

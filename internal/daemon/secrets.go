package daemon

import (
	"net/url"
	"strings"
)

// secretOptions are options that are secrets as a whole.
const secretOptions = " http-passwd ftp-passwd all-proxy-passwd http-proxy-passwd https-proxy-passwd ftp-proxy-passwd rpc-secret rpc-passwd "

// WithoutSecrets is the options without passwords, and without header lines that identify
// the user; removed says that there were any.
func (o Options) WithoutSecrets() (public Options, removed bool) {
	public = make(Options, len(o))
	for name, value := range o {
		clean := value
		switch {
		case strings.Contains(secretOptions, " "+name+" "):
			removed = true
			continue
		case name == "header":
			clean = publicHeader(value)
		case strings.HasSuffix(name, "-proxy"), name == "referer":
			clean = WithoutPassword(value)
		}
		removed = removed || clean != value
		public[name] = clean
	}
	return public, removed
}

// publicHeader is header lines without those that identify the user.
func publicHeader(lines string) string {
	var kept strings.Builder
	for line := range strings.Lines(lines) {
		name, _, _ := strings.Cut(line, ":")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "authorization", "proxy-authorization", "cookie":
		default:
			if !strings.Contains(strings.ToLower(name), "token") && !strings.Contains(strings.ToLower(name), "key") {
				kept.WriteString(line)
			}
		}
	}
	return kept.String()
}

// WithoutPassword is a URI without user and password. Of what cannot be read all is left out
// up to the last @.
func WithoutPassword(uri string) string {
	if !strings.Contains(uri, "@") {
		return uri
	}
	u, err := url.Parse(uri)
	if err != nil {
		return uri[strings.LastIndexByte(uri, '@')+1:]
	}
	if u.User == nil {
		return uri
	}
	u.User = nil
	return u.String()
}

// saved is the job as the session file has it: without secrets. One that needs them to go on
// is saved as paused.
func (j *Job) saved() Job {
	s := *j
	public, removed := j.Options.All().WithoutSecrets()
	s.Options = public.Pack()
	s.URIs = make([]string, len(j.URIs))
	for i, uri := range j.URIs {
		s.URIs[i] = WithoutPassword(uri)
		removed = removed || s.URIs[i] != uri
	}
	if removed && (s.State == Waiting || s.State == Active) {
		s.State = Paused
		s.Message = "the password, cookie or authorization of this job was not saved: give it again"
	}
	return s
}

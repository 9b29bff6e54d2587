package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// webServer is a web server of somebody else, and how to start it.
type webServer struct {
	name     string
	programs []string // where it may be
	pack     string   // Debian's package
	// conf is its configuration, and args how it is called in the foreground. Of
	// the names in it ADDRESS, ROOT, DIR, CERT and KEY stand for what they say.
	conf string
	args []string
}

// Ports of these servers; 80 and 443 are those of the laboratory's own.
const (
	clearPort  = 8080
	securePort = 8443
)

func webServers() []webServer {
	return []webServer{
		{
			name: "nginx", programs: []string{"nginx", "/usr/sbin/nginx"}, pack: "nginx-light",
			args: []string{"-c", "DIR/conf", "-e", "DIR/err"},
			conf: `daemon off; master_process off; user root; pid DIR/pid;
events {} http { access_log off; default_type application/octet-stream;
client_body_temp_path DIR/t; proxy_temp_path DIR/t; fastcgi_temp_path DIR/t; uwsgi_temp_path DIR/t; scgi_temp_path DIR/t;
server { listen ADDRESS:8080; listen ADDRESS:8443 ssl http2; root ROOT; autoindex on;
ssl_certificate CERT; ssl_certificate_key KEY; } }`,
		},
		{
			name: "apache", programs: []string{"apache2", "/usr/sbin/apache2"}, pack: "apache2-bin",
			args: []string{"-D", "FOREGROUND", "-f", "DIR/conf"},
			// It refuses to serve as root.
			conf: `ServerRoot DIR
ServerName ADDRESS
PidFile DIR/pid
ErrorLog DIR/err
User nobody
Group nogroup
Mutex file:DIR
DefaultRuntimeDir DIR
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule autoindex_module /usr/lib/apache2/modules/mod_autoindex.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
Listen ADDRESS:8080
Listen ADDRESS:8443
DocumentRoot ROOT
<Directory ROOT>
Require all granted
Options +Indexes
IndexOptions FancyIndexing
</Directory>
<VirtualHost ADDRESS:8443>
SSLEngine on
SSLCertificateFile CERT
SSLCertificateKeyFile KEY
Protocols h2 http/1.1
</VirtualHost>
`,
		},
		{
			name: "caddy", programs: []string{"caddy", "/usr/bin/caddy"}, pack: "caddy",
			args: []string{"run", "--config", "DIR/conf", "--adapter", "caddyfile"},
			conf: `{
	admin off
	auto_https off
	storage file_system DIR/storage
}
http://ADDRESS:8080 {
	root * ROOT
	file_server browse
}
https://ADDRESS:8443 {
	tls CERT KEY
	root * ROOT
	file_server browse
}
`,
		},
		{
			name: "lighttpd", programs: []string{"lighttpd", "/usr/sbin/lighttpd"}, pack: "lighttpd lighttpd-mod-openssl",
			args: []string{"-D", "-f", "DIR/conf"},
			conf: `server.modules = ("mod_openssl", "mod_dirlisting")
server.document-root = "ROOT"
server.errorlog = "DIR/err"
server.bind = "ADDRESS"
server.port = 8080
dir-listing.activate = "enable"
mimetype.assign = ("" => "application/octet-stream")
$SERVER["socket"] == "ADDRESS:8443" {
	ssl.engine = "enable"
	ssl.pemfile = "CERT"
	ssl.privkey = "KEY"
}
`,
		},
		{
			name: "h2o", programs: []string{"h2o", "/usr/bin/h2o"}, pack: "h2o",
			args: []string{"-m", "worker", "-c", "DIR/conf"},
			conf: `user: root
pid-file: DIR/pid
error-log: DIR/err
num-threads: 1
listen:
  host: ADDRESS
  port: 8080
listen:
  host: ADDRESS
  port: 8443
  ssl:
    certificate-file: CERT
    key-file: KEY
hosts:
  default:
    paths:
      "/":
        file.dir: ROOT
        file.dirlisting: ON
`,
		},
	}
}

// start starts the server in the laboratory with the files below root, and ends it
// with the test. It skips the test where the server is not installed.
func (s webServer) start(t *testing.T, l *lab, root string) (address string) {
	t.Helper()
	exe := ""
	for _, name := range s.programs {
		if path, err := exec.LookPath(name); err == nil {
			exe = path
			break
		}
	}
	if exe == "" {
		t.Skipf("%s is not installed: apt-get install --no-install-recommends %s", s.name, s.pack)
	}
	if s.name == "apache" && os.Geteuid() != 0 {
		t.Skip("apache does not serve as root, and in a user namespace there is nobody else")
	}
	address = strings.TrimSuffix(strings.TrimPrefix(l.URL(), "http://"), "/body.bin")
	dir := t.TempDir()
	fill := strings.NewReplacer("ADDRESS", address, "ROOT", root, "DIR", dir,
		"CERT", filepath.Join(l.Dir(), "cert.pem"), "KEY", filepath.Join(l.Dir(), "key.pem"))
	check(t, os.WriteFile(filepath.Join(dir, "conf"), []byte(fill.Replace(s.conf)), 0o600))
	args := make([]string, len(s.args))
	for i, a := range s.args {
		args[i] = fill.Replace(a)
	}
	output, err := os.Create(filepath.Join(dir, "out"))
	check(t, err)
	defer output.Close() //nolint:errcheck // it is the server's now
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, output, output
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	check(t, l.InServer(cmd.Start))
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = cmd.Wait() // it is ended by a signal
	}()
	t.Cleanup(func() {
		// It and its workers are a group of their own.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-over:
		case <-time.After(2 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-over
	})
	said := func() string {
		out, _ := os.ReadFile(filepath.Join(dir, "out"))
		log, _ := os.ReadFile(filepath.Join(dir, "err"))
		return string(out) + string(log)
	}
	for _, port := range []int{clearPort, securePort} {
		for deadline := time.Now().Add(hang); ; time.Sleep(10 * time.Millisecond) {
			err := l.InServer(func() error {
				// Without names and deadlines it is dialled on this thread.
				c, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.ParseIP(address), Port: port})
				if err == nil {
					err = c.Close()
				}
				return err
			})
			if err == nil {
				break
			}
			select {
			case <-over:
				t.Fatalf("%s has ended: %s", s.name, said())
			default:
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s does not answer: %v: %s", s.name, err, said())
			}
		}
	}
	return address
}

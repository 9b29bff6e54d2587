package aria2c

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ytdlp is what yt-dlp passes (its downloader/external.py, Aria2cFD).
const ytdlp = "--no-conf --auto-save-interval=10 --console-log-level=warn --summary-interval=0 --download-result=hide --http-accept-gzip=true" +
	" --file-allocation=none -x16 -j16 -s16 --min-split-size 1M --load-cookies=/c --header User-Agent:x --header Accept-Encoding:gzip,deflate --max-overall-download-limit 5M" +
	" --all-proxy http://p:1/ --check-certificate=false --remote-time=true --show-console-readout=false --remove-control-file=true --allow-overwrite=true" +
	" --always-resume=false --auto-file-renaming=false --force-save=false"

func TestParse(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"there.bin", "there.1.bin"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		ytdlp + " --dir ./sub/ --out ./x.part -- http://a/": "--no-config --globoff --header=User-Agent:x --proxy=http://p:1/ --load-cookies=/c --concurrency=16 --limit-rate=5M" +
			" --insecure --directory-prefix=./sub/ --output=./x.part --progress=none -- http://a/",
		"http://a/":                                       "--no-config --globoff --no-remote-time --content-disposition --progress=aria2:false:60:default -- http://a/",
		"http://a/ http://b/":                             "--no-config --globoff --no-remote-time --content-disposition --progress=aria2:false:60:done -- http://a/ | --no-config --globoff --no-remote-time --content-disposition --progress=aria2:false:60:default -- http://b/",
		"-Z http://a/ http://b":                           "--no-config --globoff --no-remote-time --progress=aria2:false:60:default -- http://a/ http://b",
		"-c -q -t 5 -m 3 -d D http://a/":                  "--no-config --globoff --tries=3 --timeout=5s --quiet --continue --no-remote-time --directory-prefix=D --output=index.html --progress=none -- http://a/",
		"-i list -j2":                                     "--no-config --globoff --input-file=list --concurrency=2 --no-remote-time --progress=aria2:false:60:default --",
		"-d DIR -o there.bin http://a/":                   "--no-config --globoff --no-remote-time --directory-prefix=DIR --output=there.2.bin --progress=aria2:false:60:default -- http://a/",
		"-c -d DIR -o there.bin http://a/":                "--no-config --globoff --continue --no-remote-time --directory-prefix=DIR --output=there.bin --progress=aria2:false:60:default -- http://a/",
		"--interface 127.0.0.1 --all-proxy= http://a/":    "--no-config --globoff --proxy= --no-remote-time --links=lo --content-disposition --progress=aria2:false:60:default -- http://a/",
		"--max-download-limit=0 --http-user=u http://a/":  "--no-config --globoff --user=u --no-remote-time --content-disposition --progress=aria2:false:60:default -- http://a/",
		"--allow-overwrite --no-netrc=false -k1M http://": "--no-config --globoff --no-remote-time --content-disposition --progress=aria2:false:60:default -- http://",
	} {
		if strings.Contains(args, "127.0.0.1") {
			if _, err := os.Stat("/sys/class/net/lo"); err != nil {
				continue // it is called otherwise here
			}
		}
		words := strings.Fields(strings.ReplaceAll(args, "DIR", dir))
		c, err := Parse(words)
		var got []string
		for _, a := range c.Attempts {
			got = append(got, strings.Join(a, " "))
		}
		if text := strings.ReplaceAll(strings.Join(got, " | "), dir, "DIR"); err != nil || text != want {
			t.Errorf("%s\n\t%s, %v\nwant\n\t%s", args, text, err, want)
		}
	}
	if c, err := Parse([]string{"-v"}); err != nil || !c.Version {
		t.Error(c, err)
	}
	if _, err := Parse(strings.Fields("-d " + dir + " -o there.bin --auto-file-renaming=false http://a/")); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	for args, code := range map[string]int{"--nonsense http://a/": Option, "-y": Option, "--out": Option, "": Unknown, "--enable-rpc": Option, "--split=0 http://a/": Option, "--max-=4 http://a/": Option, "--continue=x http://a/": Option} {
		_, err := Parse(strings.Fields(args))
		if got, _ := Code(err); got != code {
			t.Errorf("%s: %v, exit code %d", args, err, got)
		}
	}
}

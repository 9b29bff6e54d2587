package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sets are the paper's, in number, range and average.
func TestSetsAreThePapers(t *testing.T) {
	for _, k := range Kinds() {
		s, err := Parse(k.Name)
		if err != nil || s.Len() != k.Count {
			t.Fatalf("%s: %d files, %v", k.Name, s.Len(), err)
		}
		names, bodies := map[string]bool{}, map[uint64]bool{}
		for i := range s.Len() {
			f := s.File(i)
			if f.Body.Size < k.Min || f.Body.Size > k.Max {
				t.Errorf("%s: %d bytes", f.Name, f.Body.Size)
			}
			names[f.Name], bodies[f.Body.Seed] = true, true
			if g, ok := s.Find(f.Name); !ok || g != f {
				t.Errorf("%s is not found, or another: %v", f.Name, g)
			}
		}
		if len(names) != k.Count || len(bodies) != k.Count {
			t.Errorf("%s: %d names, %d bodies", k.Name, len(names), len(bodies))
		}
		mean := float64(s.Bytes()) / float64(k.Count)
		if off := mean/float64(k.Mean) - 1; off < -0.05 || off > 0.05 {
			t.Errorf("%s: %.0f bytes on average, not %d", k.Name, mean, k.Mean)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		text  string
		files int
		last  string // name of the last file; empty: an error
	}{
		{"html", 1500, "html-1499.html"},
		{"html/600", 600, "html-0599.html"},
		{"html/2+video/3", 5, "video-0002.mp4"},
		{"image/200", 200, "image-0199.jpg"},
		{"image/201", 0, ""},
		{"image/0", 0, ""},
		{"image/-1", 0, ""},
		{"image/+1", 0, ""},
		{"image/", 0, ""},
		{"html+html/3", 0, ""},
		{"html+", 0, ""},
		{"", 0, ""},
		{"pages", 0, ""},
	} {
		s, err := Parse(tc.text)
		if tc.last == "" {
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("%q: %v, %v", tc.text, s, err)
			}
			continue
		}
		if err != nil || s.Len() != tc.files || s.File(s.Len()-1).Name != tc.last {
			t.Errorf("%q: %d files, last %s, %v", tc.text, s.Len(), s.File(s.Len()-1).Name, err)
		}
	}
}

// A file is the same whatever else is in its set, and another one than all others.
func TestPartsAgree(t *testing.T) {
	all, err := Parse("html")
	if err != nil {
		t.Fatal(err)
	}
	part, err := Parse("video/1+html/7")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := all.File(6), part.File(7); a != b {
		t.Errorf("%v and %v", a, b)
	}
	for _, name := range []string{"html-0007.html", "html-7.html", "html--001.html", "image-0000.jpg", "html-0001.jpg", ""} {
		if f, ok := part.Find(name); ok {
			t.Errorf("%q is found: %v", name, f)
		}
	}
}

func TestWriteAndSums(t *testing.T) {
	s, err := Parse("html/3+image/1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.Write(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	var want, sums, list strings.Builder
	for i := range s.Len() {
		text, err := os.ReadFile(filepath.Join(dir, s.File(i).Name))
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.Sum256(text)
		fmt.Fprintf(&want, "%s  %s\n", hex.EncodeToString(h[:]), s.File(i).Name)
		info, err := os.Stat(filepath.Join(dir, s.File(i).Name))
		if err != nil || !info.ModTime().Equal(Modified()) || info.Size() != s.File(i).Body.Size {
			t.Errorf("%v, %v", info, err)
		}
	}
	written, err := os.ReadFile(filepath.Join(dir, SumsName))
	if err != nil || string(written) != want.String() {
		t.Errorf("%s\n%v", written, err)
	}
	if err := s.Sums(context.Background(), &sums); err != nil || sums.String() != want.String() {
		t.Errorf("%s\n%v", sums.String(), err)
	}
	if err := s.List("http://host/d", &list); err != nil || !strings.HasPrefix(list.String(), "http://host/d/html-0000.html\nhttp://host/d/html-0001.html\n") {
		t.Errorf("%s\n%v", list.String(), err)
	}
}

// TestSomebodyElsesSums: they are not replaced, those of another set are.
func TestSomebodyElsesSums(t *testing.T) {
	s, err := Parse("html/2")
	if err != nil {
		t.Fatal(err)
	}
	for text, ours := range map[string]bool{
		"":                           true, // an interruption left it so
		"00ff  html-0000.html\n":     true,
		"http://h/d/image-0000.jpg":  true,
		"00ff  linux-6.12.tar.xz\n":  false,
		"mine\n00ff  html-0000.html": false,
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, SumsName)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(context.Background(), dir); errors.Is(err, ErrForeign) == ours || ours && err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if there, err := os.ReadFile(name); err != nil || (string(there) == text) == ours {
			t.Errorf("%q is %q now, %v", text, there, err)
		}
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	s, err := Parse("10gb")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var b bytes.Buffer
	if err := s.Sums(ctx, &b); !errors.Is(err, context.Canceled) || b.Len() > 0 {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}

package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/release"
)

// program is an ELF file without content, as a linker would make one.
func program(machine elf.Machine, kind elf.Type, loader string) []byte {
	const headerBytes, entryBytes = 64, 56
	var b bytes.Buffer
	head := elf.Header64{
		Type: uint16(kind), Machine: uint16(machine), Version: 1, Ehsize: headerBytes, Phentsize: entryBytes,
	}
	copy(head.Ident[:], "\x7fELF\x02\x01\x01")
	if loader != "" {
		head.Phoff, head.Phnum = headerBytes, 1
	}
	_ = binary.Write(&b, binary.LittleEndian, head) // of a fixed size, into memory
	if loader != "" {
		_ = binary.Write(&b, binary.LittleEndian, elf.Prog64{
			Type: uint32(elf.PT_INTERP), Off: headerBytes + entryBytes, Filesz: uint64(len(loader) + 1),
		})
		b.WriteString(loader + "\x00")
	}
	return b.Bytes()
}

func TestCheckBinary(t *testing.T) {
	const loader = "/system/bin/linker64"
	for name, c := range map[string]struct {
		binary []byte
		arch   string
		err    string
	}{
		"phone":              {program(elf.EM_AARCH64, elf.ET_DYN, loader), "aarch64", ""},
		"32-bit phone":       {program(elf.EM_ARM, elf.ET_EXEC, ""), "arm", ""},
		"not independent":    {program(elf.EM_AARCH64, elf.ET_EXEC, ""), "aarch64", "ET_EXEC"},
		"another loader":     {program(elf.EM_AARCH64, elf.ET_DYN, "/lib/ld-linux.so"), "aarch64", "ld-linux"},
		"another processor":  {program(elf.EM_X86_64, elf.ET_DYN, loader), "aarch64", "EM_X86_64"},
		"the other phone":    {program(elf.EM_AARCH64, elf.ET_DYN, loader), "arm", "EM_AARCH64"},
		"an unknown one":     {program(elf.EM_AARCH64, elf.ET_DYN, loader), "mips", "mips"},
		"no program":         {bytes.Repeat([]byte("#!/bin/sh\n"), 10), "aarch64", "bad magic"},
		"nothing":            {nil, "aarch64", "EOF"},
		"dynamic on 32 bits": {program(elf.EM_ARM, elf.ET_EXEC, "/system/bin/linker"), "arm", "linker"},
	} {
		err := release.CheckBinary(bytes.NewReader(c.binary), c.arch)
		if (err == nil) != (c.err == "") || err != nil && (!errors.Is(err, release.ErrPackage) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

func TestDeb(t *testing.T) {
	d := release.Deb{
		Version: "1.2.3", Arch: "aarch64", License: []byte("do what you like\n"),
		Binary: program(elf.EM_AARCH64, elf.ET_DYN, "/system/bin/linker64"),
	}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := d.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two packages of one program differ")
	}
	members := unpack(t, first.Bytes())
	if got := string(members["debian-binary"]); got != "2.0\n" {
		t.Errorf("debian-binary is %q", got)
	}
	control := untar(t, members["control.tar.gz"])
	for _, want := range []string{"Package: mlget\n", "Version: 1.2.3\n", "Architecture: aarch64\n", "Installed-Size: 1\n"} {
		if !strings.Contains(string(control["./control"]), want) {
			t.Errorf("%q is not in\n%s", want, control["./control"])
		}
	}
	if strings.Contains(string(control["./control"]), "Google Play") {
		t.Errorf("the program for 64 bits runs everywhere:\n%s", control["./control"])
	}
	var old bytes.Buffer
	static := d
	static.Arch, static.Binary = "arm", program(elf.EM_ARM, elf.ET_EXEC, "")
	if err := static.Write(&old); err != nil {
		t.Fatal(err)
	}
	if got := string(untar(t, unpack(t, old.Bytes())["control.tar.gz"])["./control"]); !strings.Contains(got, "not in\n that of Google Play.\n") {
		t.Errorf("the static program's package says nothing of Google Play:\n%s", got)
	}
	data := untar(t, members["data.tar.gz"])
	const root = "./data/data/com.termux/files/usr/"
	if !bytes.Equal(data[root+"bin/mlget"], d.Binary) || !bytes.Equal(data[root+"share/doc/mlget/copyright"], d.License) {
		t.Errorf("files %v", slices.Collect(func(yield func(string) bool) {
			for name := range data {
				if !yield(name) {
					return
				}
			}
		}))
	}
	if _, ok := data["./data/data/com.termux/"]; !ok {
		t.Error("folders are missing")
	}
	if dpkg, err := exec.LookPath("dpkg-deb"); err == nil { // where there is one it has the last word
		file := filepath.Join(t.TempDir(), "mlget.deb")
		if err := os.WriteFile(file, first.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, arg := range []string{"--info", "--contents"} {
			if out, err := exec.Command(dpkg, arg, file).CombinedOutput(); err != nil {
				t.Errorf("dpkg-deb %s: %v\n%s", arg, err, out)
			}
		}
	}
	d.Version = "1 2"
	if err := d.Write(io.Discard); !errors.Is(err, release.ErrPackage) {
		t.Errorf("version 1 2: %v", err)
	}
	d.Version, d.Arch = "1", "arm"
	if err := d.Write(io.Discard); !errors.Is(err, release.ErrPackage) {
		t.Errorf("the wrong processor: %v", err)
	}
}

// unpack reads an ar archive.
func unpack(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	members := make(map[string][]byte)
	b, ok := bytes.CutPrefix(b, []byte("!<arch>\n"))
	if !ok {
		t.Fatal("no archive")
	}
	for len(b) > 0 {
		head := string(b[:60])
		size, err := strconv.Atoi(strings.TrimSpace(head[48:58]))
		if err != nil || head[58:] != "`\n" {
			t.Fatalf("header %q", head)
		}
		members[strings.TrimSpace(head[:16])] = b[60 : 60+size]
		b = b[60+size+size%2:]
	}
	return members
}

func untar(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s is of %d:%d at %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
	}
}

// TestInstall runs install.sh with an adb that only writes down what it is told.
func TestInstall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	script, err := os.ReadFile("install.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		abi  string
		file string // "" is an error
		bad  bool   // the file is not what the sums say
		says string
	}{
		"arm64":  {"arm64-v8a", "mlget-android-arm64", false, "next: "},
		"arm":    {"armeabi-v7a", "mlget-linux-arm", false, "next: "},
		"mips":   {"mips", "", false, "no mlget for mips"},
		"none":   {"", "", false, "is USB debugging on"},
		"other":  {"arm64-v8a", "", true, "not what SHA256SUMS says"},
		"no adb": {"arm64-v8a", "", false, "platform tools"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(name, text string, mode os.FileMode) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			put("install.sh", string(script), 0o755)
			put("mlget-android-arm64", "64", 0o644)
			put("mlget-linux-arm", "32", 0o644)
			sums := fmt.Sprintf("%x  mlget-android-arm64\n%x  mlget-linux-arm\n", sha256.Sum256([]byte("64")), sha256.Sum256([]byte("32")))
			if c.bad {
				sums = strings.Repeat("0", 64) + "  mlget-android-arm64\n"
			}
			put("SHA256SUMS", sums, 0o644)
			adb := "adb"
			if name == "no adb" {
				adb = "something-else"
			}
			put(adb, "#!/bin/sh\necho \"$*\" >> '"+dir+"/log'\ncase \"$*\" in *getprop*) printf '"+c.abi+"\\r\\n' ;; esac\n", 0o755)
			base, elsewhere := filepath.Base(dir), t.TempDir()
			if err := os.Mkdir(filepath.Join(elsewhere, base), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", filepath.Join(base, "install.sh")) // as README has it: sh dist/install.sh
			cmd.Dir = filepath.Dir(dir)
			cmd.Env = append(os.Environ(), "ADB="+filepath.Join(dir, "adb")+" -s PHONE", "CDPATH="+elsewhere)
			out, err := cmd.CombinedOutput()
			if !strings.Contains(string(out), c.says) {
				t.Errorf("%q is not said:\n%s", c.says, out)
			}
			log, _ := os.ReadFile(filepath.Join(dir, "log")) // is there whenever adb was called
			pushed := strings.Contains(string(log), "-s PHONE push "+c.file+" /data/local/tmp/mlget\n")
			if (err == nil) != (c.file != "") || c.file != "" && !pushed || c.file == "" && strings.Contains(string(log), "push") {
				t.Errorf("%v\n%s\nadb was told:\n%s", err, out, log)
			}
			if c.file != "" && !strings.HasSuffix(string(log), "shell chmod 755 /data/local/tmp/mlget\n-s PHONE shell /data/local/tmp/mlget version\n") {
				t.Errorf("adb was told:\n%s", log)
			}
		})
	}
}

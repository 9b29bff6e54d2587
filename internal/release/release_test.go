package release_test

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

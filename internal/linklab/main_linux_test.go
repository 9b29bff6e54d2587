package linklab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mainCommand is this test program as linklab.
func mainCommand(t *testing.T, args ...string) (cmd *exec.Cmd, out, errOut *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), asMainVar+"=1")
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, errOut
	return cmd, out, errOut
}

func TestRunStatus(t *testing.T) {
	SkipIfUnsupported(t)
	small := []string{"run", "--link", "wlan0,down=100", "--size", "1K"}
	for _, tc := range []struct {
		command     []string
		status      int
		out, errOut string
	}{
		{[]string{"--", "sh", "-c", "echo $LINKLAB_SIZE; exit 9"}, 9, "1024\n", ""},
		{[]string{"sh", "-c", "echo -n $1", "--", "--size"}, 0, "--size", ""},
		{[]string{"--", "sh", "-c", "kill -9 $$"}, 137, "", ""},
		{[]string{"--", "nosuchcommand"}, 127, "", "linklab: command: exec: \"nosuchcommand\": executable file not found in $PATH\n"},
		{[]string{"--", "/etc/passwd"}, 126, "", "linklab: command: fork/exec /etc/passwd: permission denied\n"},
		{[]string{"--server", "apache", "--", "true"}, 125, "", "linklab: --server apache: builtin or nginx\n"},
		{[]string{"--serve", "/etc/passwd", "--size", "1", "--", "true"}, 125, "", "if any flags in the group"},
		{[]string{"--scenario", "low-speed", "--", "true"}, 125, "", "exclude each other"},
		{[]string{"--link", "wlan0,down=1", "--", "true"}, 125, "", "linklab: link wlan0: named twice\n"},
	} {
		cmd, out, errOut := mainCommand(t, append(small[:len(small):len(small)], tc.command...)...)
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != tc.status || out.String() != tc.out || !strings.Contains(errOut.String(), tc.errOut) || tc.errOut == "" && errOut.Len() > 0 {
			t.Errorf("%q: %v, %q, %q", tc.command, err, out, errOut)
		}
	}
}

func TestRunForwardsSignals(t *testing.T) {
	SkipIfUnsupported(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, _, errOut := mainCommand(t, "run", "--link", "wlan0,down=100", "--size", "1K", "--",
			"sh", "-c", `trap "echo got it; exit 5" INT TERM; echo ready; sleep 100 & wait`)
		out, err := pipe(cmd)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, out, "ready\n")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if err = errors.Join(err, ignoreExit(cmd.Wait())); err != nil {
			t.Fatal(err)
		}
		if string(rest) != "got it\n" || cmd.ProcessState.ExitCode() != 5 {
			t.Errorf("%v: %q, %v, %q", sig, rest, cmd.ProcessState, errOut)
		}
	}
}

// TestRunUnderNohup closes the terminal of somebody who has said nohup.
func TestRunUnderNohup(t *testing.T) {
	SkipIfUnsupported(t)
	cmd, _, errOut := mainCommand(t, "run", "--link", "wlan0,down=100", "--size", "1K", "--", "sh", "-c", "echo ready; read -r line; echo $line")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	in, out := pipes(t, cmd)
	expect(t, out, "ready\n")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	// A signal that is not ignored comes before what is written after it.
	time.Sleep(100 * time.Millisecond)
	if _, err := io.WriteString(in, "still here\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err = errors.Join(err, cmd.Wait()); err != nil || string(rest) != "still here\n" {
		t.Errorf("%q, %v, %q", rest, err, errOut)
	}
}

func TestKilledRunLeavesNothing(t *testing.T) {
	SkipIfUnsupported(t)
	server := "builtin"
	if _, err := exec.LookPath("nginx"); err == nil {
		server = "nginx"
	}
	cmd, _, errOut := mainCommand(t, "run", "--link", "wlan0,down=100", "--size", "1K", "--tls", "--server", server, "--",
		"sh", "-c", `sleep 100 & echo $$ $! $LINKLAB_CA; wait`)
	out, err := pipe(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var shell, child int
	var ca string
	if _, err := fmt.Fscan(out, &shell, &child, &ca); err != nil {
		t.Fatalf("%v, %q", err, errOut)
	}
	nginx := childrenOf(t, cmd.Process.Pid, "nginx")
	if (server == "nginx") != (len(nginx) == 1) {
		t.Errorf("%d processes of nginx", len(nginx))
	}
	if _, err := os.Stat(ca); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, pid := range append(nginx, shell, child) {
		gone(t, pid)
	}
	dir := strings.TrimSuffix(ca, "/ca.pem")
	for range 2000 {
		if _, err := os.Stat(dir); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s is left", dir)
}

// TestScratchGoesAwayWithItsProcess kills a process that has one.
func TestScratchGoesAwayWithItsProcess(t *testing.T) {
	cmd, _, _ := mainCommand(t)
	cmd.Env = append(cmd.Env, asScratchVar+"=1")
	out, err := pipe(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	_, err = fmt.Fscan(out, &dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for range 2000 {
		if _, err := os.Stat(dir); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s is left", dir)
}

// holdScratch says which directory it has, and waits to be killed.
func holdScratch() {
	dir, _, err := Scratch(1)
	_, _ = fmt.Fprintln(os.Stdout, dir, err) // nobody could be told
	time.Sleep(time.Minute)
}

// TestNobodyStaysInTheLab starts what is out of reach of a signal to COMMAND's process
// group, and lets linklab end by itself, and be killed.
func TestNobodyStaysInTheLab(t *testing.T) {
	SkipIfUnsupported(t)
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	for _, killed := range []bool{false, true} {
		cmd, _, errOut := mainCommand(t, "run", "--link", "wlan0,down=100", "--size", "1K", "--",
			"sh", "-c", `setsid sh -c 'echo $$; exec sleep 100 2>&1' & read -r line`)
		in, out := pipes(t, cmd)
		var stays int
		if _, err := fmt.Fscan(out, &stays); err != nil {
			t.Fatalf("%v, %q", err, errOut)
		}
		end := in.Close
		if killed {
			end = cmd.Process.Kill
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed, or with the status of read
		gone(t, stays)
	}
}

// TestWithoutRoot runs the command as somebody who is nobody.
func TestWithoutRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	const uid = 54321
	info, err := os.Stat(tunPath)
	if err != nil || info.Mode().Perm()&0o006 != 0o006 {
		t.Skipf("%s is not for everybody", tunPath)
	}
	// The test program lies where others may not look.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "linklab-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(dir+"/linklab", text, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd, out, errOut := mainCommand(t, "run", "--link", "wlan0,down=100", "--size", "1K", "--", "sh", "-c", "id -u; ls /sys/class/net; exit 6")
	cmd.Path, cmd.Dir = dir+"/linklab", "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	err = ignoreExit(cmd.Run())
	if cmd.ProcessState.ExitCode() == statusFailed && strings.Contains(errOut.String(), "user namespace") {
		t.Skipf("the kernel allows no user namespace: %s", errOut)
	}
	if err != nil || cmd.ProcessState.ExitCode() != 6 || strings.Join(strings.Fields(out.String()), " ") != "0 lo wlan0" {
		t.Errorf("%v, %v, %q, %q", err, cmd.ProcessState, out, errOut)
	}
}

// pipes starts the command and gives its input and its output.
func pipes(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := pipe(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}

// pipe starts the command and gives its output.
func pipe(cmd *exec.Cmd) (io.Reader, error) {
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return out, cmd.Start()
}

func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v", got, err)
	}
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// childrenOf finds the children of a process that have this name.
func childrenOf(t *testing.T, parent int, name string) (pids []int) {
	t.Helper()
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		text, err := os.ReadFile("/proc/" + d.Name() + "/stat")
		if err != nil {
			continue
		}
		var pid, ppid int
		var comm, state string
		if _, err := fmt.Sscan(string(text), &pid, &comm, &state, &ppid); err == nil && ppid == parent && comm == "("+name+")" {
			pids = append(pids, pid)
		}
	}
	return pids
}

package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSignalsThatEndTheRun: signals that come with the first one are the same wish, as timeout(1) sends
// two; a later one is another, unless the terminal says again that it is closed.
func TestSignalsThatEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, killed := 0, 0
		signals := make(chan os.Signal)
		done := make(chan struct{})
		go func() {
			defer close(done)
			handleSignals(signals, func() { ended++ }, func() { killed++ })
		}()
		check := func(when string, wantEnded, wantKilled int) {
			t.Helper()
			synctest.Wait()
			if ended != wantEnded || killed != wantKilled {
				t.Errorf("%s: ended %d times, killed %d times", when, ended, killed)
			}
		}
		signals <- syscall.SIGTERM
		signals <- syscall.SIGTERM
		time.Sleep(oneWish / 2)
		signals <- os.Interrupt
		check("together", 1, 0)
		time.Sleep(oneWish)
		signals <- syscall.SIGHUP
		check("a terminal", 1, 0)
		signals <- os.Interrupt
		check("another one", 1, 1)
		close(signals)
		<-done
	})
}

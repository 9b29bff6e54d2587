package fetch

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// Wait returns at once if the rest of a body, however short, has been read ahead: over TLS only
// ahead shows that.
func TestWaitFindsDataReadAhead(t *testing.T) {
	for _, between := range []struct{ name, frame string }{
		{"ping", frame(framePing, 0, 0, "12345678")},
		{"settings", frame(frameSettings, 0, 0, "")},
		{"window", frame(frameWindow, 0, 0, u32(5))},
		{"unknown", frame(0xbe, 0, 0, "")},
		{"nothing", ""},
	} {
		for _, last := range []int{1, 5, 8, 9} {
			t.Run(fmt.Sprint(between.name, last), func(t *testing.T) {
				s := newTLSServer(t, "h2", func(p *peer) {
					p.preface()
					s := p.nextStream()
					p.say(frame(frameHeaders, flagHeaders, s, "\x88") + // 200, of unknown length
						frame(frameData, 0, s, strings.Repeat("a", 100-last)) +
						between.frame +
						frame(frameData, flagEnd, s, strings.Repeat("b", last)))
					_, _ = io.Copy(io.Discard, p.br) // the connection stays
				})
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				r, err := client(t, s.trusted).Get(ctx, s.url(t), 0, -1)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(readerOf(r, true))
				if err != nil || len(got) != 100 {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				_ = r.Close()
			})
		}
	}
}

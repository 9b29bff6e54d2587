package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/rewrite"
)

// sweeps is the page with figures 7 and 8 of Guner and Kosar's trade-offs. Its tables are
// those of `mlget bench sweep`, which runs within `linklab run`.
const sweeps = "sweeps"

const sweepsIntro = "# Grids and tails\n\nFor those who compare with figures 7 and 8 of Guner and Kosar's trade-offs. Written by `linklab bench --document sweeps` (`mlget bench sweep` in the laboratory); do not edit. Power is that of the laboratory's battery: the radios' models (docs/energy-models.md) and 0.7 W. One download each; files at once stop at the number of files.\n"

// sweep is a section of the page: a run of `mlget bench sweep` over links.
type sweep struct {
	title      string
	lab, mlget string // arguments, separated by blanks; those of mlget are expanded by a shell
}

// sweepList are all sections in order. The grids' results stay in stateDir: what is there
// already is not measured again.
func sweepList() (list []sweep) {
	for _, g := range []struct{ set, files, concurrency string }{
		{"html", "100", "1,2,4,8,16,32"}, {"image", "50", "1,2,4,8,16,32"}, {"video", "8", "1,2,4,8"},
	} {
		set := g.set + "/" + g.files
		list = append(list, sweep{
			"Figure 7: " + set + " over sydney",
			"--scenario sydney --server nginx --files " + set + " --gauge 250ms",
			"-i $LINKLAB_LIST -j " + g.concurrency + " -p 1,2,4,8 -b 16K -n 1 --warm-up 0 --cool-down 1s --power-baseline 1s --state " +
				stateDir + "/sweep-" + g.set + ".jsonl -- --links wlan0 --sysfs $LINKLAB_SYSFS --power battery --power-interval 250ms",
		})
	}
	for _, l := range []struct{ name, link, tail string }{
		{"wlan0", "down=40,rtt=20,power=wifi", "3s"}, {"rmnet0", "down=40,rtt=50,power=lte", "13s"},
	} {
		link := l.name + "," + l.link
		list = append(list, sweep{
			"Figure 8: files of 17 MB over " + link,
			"--link " + link + " --server nginx --files video/2 --gauge 100ms",
			"-i $LINKLAB_LIST --tails " + l.tail + " -n 3 --cool-down 1s -- --links $LINKLAB_LINKS --sysfs $LINKLAB_SYSFS --power battery --power-interval 100ms",
		})
	}
	return list
}

// writeSweeps makes the page: this program runs itself for each section, since it is the
// sections' command lines that the page repeats.
func writeSweeps(ctx context.Context, progress io.Writer, path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	mlget := linklab.Find("mlget")
	if mlget == "" {
		return &linklab.HintError{Err: errors.New("mlget is not installed"), Hint: "make build"}
	}
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return err
	}
	page := bytes.NewBufferString(sweepsIntro)
	for _, s := range sweepList() {
		fmt.Fprintf(page, "\n## %s\n\n", s.title)
		args := append(append([]string{"run"}, strings.Fields(s.lab)...), "--", "sh", "-c", `"$0" bench sweep `+s.mlget, mlget)
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Stdout, cmd.Stderr = page, progress
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
	}
	return rewrite.File(path, page.Bytes())
}

package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/units"
)

// largeDataset is the size in bytes from which a data set has to be confirmed (--yes).
const largeDataset = 4 << 30

// listName is the file of URLs that --base makes.
const listName = "urls.txt"

// datasetOptions holds the flags of a dataset.
type datasetOptions struct {
	dir  string
	base string
	yes  bool
	list bool
}

func newBenchDatasetCommand(stdio console.IO) *cobra.Command {
	var o datasetOptions
	cmd := &cobra.Command{
		Use:   "dataset SET",
		Short: "Make a set of files to download, for any server",
		Long: `Make the files of a set, and their hashes in ` + dataset.SumsName + `: the same bytes on
every machine. The sets are those of Guner and Kosar, "Energy-Performance
Trade-offs in Mobile Data Transfers": ` + strings.Join(dataset.Names(), ", ") + `.
SET/N are the first N files of one; SET+SET is both.`,
		Example: `  mlget bench dataset html -o /srv/www/html --base http://server/html
  mlget -i /srv/www/html/urls.txt -P here
  cd here && sha256sum -c --quiet /srv/www/html/` + dataset.SumsName,
		Args: func(_ *cobra.Command, args []string) error {
			if o.list {
				return flags.NoArgs(nil, args)
			}
			if len(args) != 1 {
				return exit.Usagef("which set? There are %s", strings.Join(dataset.Names(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return listDatasets(stdio.Out)
			}
			return writeDataset(cmd.Context(), &o, args[0], stdio.Out)
		},
	}
	f := cmd.Flags()
	flags.NameVar(f, &o.dir, "output", "o", "`DIR` to make the files in (default: named as the set)")
	flags.NameVar(f, &o.base, "base", "", "`URL` of that directory on the server: make "+listName+" too, for mlget -i")
	f.BoolVar(&o.list, "list", false, "list the sets, with their sizes")
	f.BoolVarP(&o.yes, "yes", "y", false, fmt.Sprintf("make sets of more than %s too", units.Bytes(largeDataset)))
	f.SortFlags = false
	return cmd
}

func listDatasets(out io.Writer) error {
	for _, k := range dataset.Kinds() {
		s, err := dataset.Parse(k.Name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%-6s %5d files of %s to %s, %s\n",
			k.Name, k.Count, units.Bytes(k.Min), units.Bytes(k.Max), units.Bytes(s.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

func writeDataset(ctx context.Context, o *datasetOptions, name string, out io.Writer) error {
	s, err := dataset.Parse(name)
	if err != nil {
		return exit.UsageError{Err: err}
	}
	size := s.Bytes()
	if size > largeDataset && !o.yes {
		return exit.Usagef("%s is %s in %d files: say --yes", name, units.Bytes(size), s.Len())
	}
	if o.base != "" {
		if _, err := flags.ParseURL(o.base); err != nil {
			return err
		}
	}
	dir := o.dir
	if dir == "" {
		dir = strings.ReplaceAll(name, "/", "-")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.FileError{Err: err}
	}
	if o.base != "" {
		if err := dataset.CheckOurs(filepath.Join(dir, listName)); err != nil {
			return exit.FileError{Err: err}
		}
	}
	if err := s.Write(ctx, dir); err != nil {
		if ctx.Err() != nil {
			return exit.ErrLeft // another time begins with the first file again
		}
		return exit.FileError{Err: err}
	}
	if o.base != "" {
		list := func(out io.Writer) error { return s.List(o.base, out) }
		if err := console.Create(filepath.Join(dir, listName), list); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%s: %d files, %s, and %s\n", dir, s.Len(), units.Bytes(size), dataset.SumsName)
	return err
}

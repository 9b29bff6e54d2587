// Package papers holds the simulator against the tables and figures of the papers that
// mlget follows, and writes the comparisons as pages of docs/measured.
//
// All functions are safe from several goroutines; a study runs its rehearsals in
// goroutines of its own, and has ended them when it returns. The same program gives the
// same pages.
package papers

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Command is `linklab rehearse`.
func Command() *cobra.Command {
	pages := map[string]func(io.Writer) error{
		"thesis": func(w io.Writer) error { return write(w, CompareThesis, WriteThesis) },
		"energy": func(w io.Writer) error {
			return write(w, func() (*EnergyStudy, error) { return StudyEnergy(EnergyCases) }, WriteEnergy)
		},
		"many-files-sim": func(w io.Writer) error {
			return write(w, func() (*FilesStudy, error) { return StudyFiles(false) }, WriteFiles)
		},
	}
	return &cobra.Command{
		Use:   "rehearse PAGE",
		Short: "Hold the simulator against the papers, and print a page of docs/measured",
		Long: `Run the scheduler of downloads over model links, in virtual time, in the settings
of the papers, and print the page of docs/measured that compares the two:
thesis, energy or many-files-sim.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			page := pages[args[0]]
			if page == nil {
				return fmt.Errorf("page %q: want thesis, energy or many-files-sim", args[0])
			}
			return page(cmd.OutOrStdout())
		},
	}
}

// write makes a study and writes its page.
func write[S any](w io.Writer, study func() (S, error), page func(io.Writer, S) error) error {
	s, err := study()
	if err != nil {
		return err
	}
	return page(w, s)
}

package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/link"
)

func newLinksCommand(stdio IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "links",
		Short: "Show what each link can do, and why not",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLinks(cmd.Context(), asJSON, stdio)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runLinks(ctx context.Context, asJSON bool, stdio IO) error {
	infos, err := link.List(ctx)
	if err != nil {
		return err
	}
	if !asJSON {
		return link.WriteTable(stdio.Out, infos)
	}
	enc := json.NewEncoder(stdio.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(infos)
}

package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is the version that this source will be released as.
const release = "0.1.0"

// version is the program's version: the one that `go install` was asked for, or release.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Sum != "" { // a module that was downloaded
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return release
}

// build is what the program is and what it was built for.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	ARM     string `json:"arm,omitempty"` // the version of 32-bit ARM
	PIE     bool   `json:"pie"`           // as Android's loader wants it
	Cgo     bool   `json:"cgo"`
	Trimmed bool   `json:"trimmed"` // built without the builder's paths
}

func thisBuild() build {
	b := build{Version: version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOARM":
			b.ARM = s.Value
		case "-buildmode":
			b.PIE = positionIndependent(b.OS, s.Value)
		case "CGO_ENABLED":
			b.Cgo = s.Value == "1"
		case "-trimpath":
			b.Trimmed = s.Value == "true"
		}
	}
	return b
}

// positionIndependent says whether a program is that was built for a system in a mode.
// Go notes "exe" for its default too, which is "pie" for Android; there no other links.
func positionIndependent(system, mode string) bool {
	return mode == "pie" || system == "android"
}

// target is the system that it was built for, as in the names of released files.
func (b build) target() string {
	text := b.OS + "/" + b.Arch
	if b.ARM != "" {
		text += "/v" + b.ARM
	}
	return text
}

func newVersionCommand(stdio IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what this was built for",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return printVersion(stdio.Out, thisBuild(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printVersion(w io.Writer, b build, asJSON bool) error {
	if asJSON {
		return writeJSON(w, b)
	}
	_, err := fmt.Fprintf(w, "mlget %s for %s (%s)\n", b.Version, b.target(), b.Go)
	return err
}

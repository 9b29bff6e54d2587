// Package program is about this program itself: its version, what it was built for, and
// how it runs itself again.
package program

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Release is the version that this source will be released as.
const Release = "0.1.0"

// Version is the program's version: the one that `go install` was asked for, or release.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Sum != "" { // a module that was downloaded
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return Release
}

// Build is the program's version and target.
type Build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	ARM     string `json:"arm,omitempty"` // the version of 32-bit ARM
	PIE     bool   `json:"pie"`           // as Android's loader wants it
	Cgo     bool   `json:"cgo"`
	Trimmed bool   `json:"trimmed"` // built without the builder's paths
}

// This is the program that runs.
func This() Build {
	b := Build{Version: Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
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

// Target is the system that it was built for, as in the names of released files.
func (b Build) Target() string {
	text := b.OS + "/" + b.Arch
	if b.ARM != "" {
		text += "/v" + b.ARM
	}
	return text
}

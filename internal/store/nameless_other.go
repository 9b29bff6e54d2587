//go:build !linux

package store

import "github.com/mlget/mlget/pkg/scheduler"

// openNameless: there are no files without names here.
func (*File) openNameless() bool { return false }

func (f *File) takeName([]scheduler.Range) error { return nil }

// reach is a path that leads to what there is of f.
func (f *File) reach() string { return f.path + partSuffix }

// moveTo gives what there is of f, which is at part, a name that must be free.
func (f *File) moveTo(part, name string) error { return f.dir.renameNoReplace(part, name) }

func mayHaveSpares() bool { return false }

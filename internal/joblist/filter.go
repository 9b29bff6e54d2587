package joblist

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Filter says which files of a tree are wanted, and how deep the tree is, by the rules of
// wget, and where the files go. The zero value wants all of them, in the tree's directories.
type Filter struct {
	Accept, Reject           []string       // endings of files' names, or patterns with * ? [ ]; no Accept: all
	AcceptRegex, RejectRegex *regexp.Regexp // found in a file's URL; nil: none
	Level                    int            // pages between the first one, included, and a file; 0: no limit

	Flat    bool // all files go into one directory
	CutDirs int  // how many of the directories of files' paths are left out; 0, and Flat false: those of the root
	Cut     bool // CutDirs counts
}

// Check says what is wrong with the patterns.
func (f *Filter) Check() error {
	for _, list := range [][]string{f.Accept, f.Reject} {
		for _, p := range list {
			if _, err := path.Match(p, ""); err != nil {
				return fmt.Errorf("%q is no pattern: a bracket is not closed", p)
			}
		}
	}
	return nil
}

// wants says whether a file, or a directory, whose name is empty, that is so many directories
// deep is wanted.
func (f *Filter) wants(u *url.URL, depth int, name string) bool {
	switch {
	case f == nil:
		return true
	case name == "":
		return f.Level == 0 || depth < f.Level
	case f.AcceptRegex != nil && !f.AcceptRegex.MatchString(withoutUser(u)),
		f.RejectRegex != nil && f.RejectRegex.MatchString(withoutUser(u)):
		return false
	}
	return (len(f.Accept) == 0 || anyMatches(f.Accept, name)) && !anyMatches(f.Reject, name)
}

// withoutUser is a URL for expressions, which need not know passwords.
func withoutUser(u *url.URL) string {
	v := *u
	v.User = nil
	return v.String()
}

// anyMatches says whether a name has one of the endings, or is as one of the patterns.
func anyMatches(list []string, name string) bool {
	for _, p := range list {
		if !strings.ContainsAny(p, "*?[]") {
			if strings.HasSuffix(name, p) {
				return true
			}
			continue
		}
		if ok, err := path.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}

// directory is where the files of a directory go, whose path is that of the root and then
// below.
func (f *Filter) directory(root, below []string) string {
	switch {
	case f == nil || !f.Flat && !f.Cut:
		return directory(below)
	case f.Flat:
		return ""
	}
	all := append(root[:len(root):len(root)], below...)
	return directory(all[min(f.CutDirs, len(all)):])
}

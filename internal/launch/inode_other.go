//go:build !unix

package launch

import "io/fs"

func inodeOf(fs.FileInfo) (inode uint64, ok bool) { return 0, false }

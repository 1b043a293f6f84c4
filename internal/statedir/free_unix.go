//go:build unix && !netbsd && !openbsd && !solaris && !illumos

package statedir

import "golang.org/x/sys/unix"

// diskFree returns the bytes of a folder's disk that are free for this user, and all of them.
func diskFree(dir string) (free, total int64, ok bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, 0, false
	}
	size := int64(s.Bsize)
	return int64(s.Bavail) * size, int64(s.Blocks) * size, true
}

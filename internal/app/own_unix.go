//go:build unix

package app

import (
	"os"
	"syscall"
)

// isOwn reports whether a folder belongs to the user, and nobody else can write
// into it.
func isOwn(folder string) bool {
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

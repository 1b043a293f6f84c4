package fileid

import (
	"io/fs"
	"syscall"
)

// Of returns the identity of a file, and false where the system does not tell it.
func Of(info fs.FileInfo) (ID, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}, false
	}
	return ID{uint64(stat.Dev), stat.Ino, stat.Ctim.Nano()}, true
}

package filestate

import (
	"io/fs"
	"syscall"

	"callgate/internal/journal/doubt"
)

// identify adds what tells this file from another of the same name.
func identify(info fs.FileInfo, state *doubt.FileState) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok {
		state.Device, state.Inode, state.Changed = uint64(stat.Dev), stat.Ino, stat.Ctimespec.Nano()
	}
	return ok
}

package executable

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the file's content or its inode last changed. Unlike the
// modification time it cannot be set.
func changeTime(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return time.Time{}
}

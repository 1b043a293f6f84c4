//go:build unix

package workfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// nonBlocking makes an open return at once even for a pipe without a peer.
const nonBlocking = syscall.O_NONBLOCK

// isFull reports whether the disk, or the user's quota, is used up.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isBusyText reports the refusal to write into a running program, which does not
// concern a replacement by rename.
func isBusyText(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// keepOwner gives f the owner of old where the system allows it. Elsewhere the
// new file belongs to the daemon's user, as any new file does.
func keepOwner(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if !ok || err != nil {
		return
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && (is.Uid != was.Uid || is.Gid != was.Gid) {
		_ = f.Chown(int(was.Uid), int(was.Gid))
	}
}

// syncDir makes a rename in the directory durable. Some file systems cannot sync
// a directory; there the rename is as durable as they make it.
func syncDir(dir *os.Root) {
	if f, err := dir.Open("."); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

//go:build unix

package ownership

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Folder reports a folder that is a link, that another user owns, or whose mode has
// one of the forbidden bits. The last name of the path is not followed.
func Folder(path string, forbidden fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return &Problem{What: path + " is a link, not a folder", Fix: "replace the link by a folder of your own"}
	case !mode.IsDir():
		return &Problem{What: path + " is not a folder", Fix: "move it away"}
	}
	if p := Owner(path, info); p != nil {
		return p
	}
	if perm := info.Mode().Perm(); perm&forbidden != 0 {
		how := "can be opened by others"
		if perm&0o022 != 0 {
			how = "can be written by others"
		}
		return &Problem{What: fmt.Sprintf("%s %s (mode %04o)", path, how, perm), Fix: "chmod 700 " + path}
	}
	return nil
}

// Owner reports a file that belongs to another user than the one who runs this
// process; root's are another user's too.
func Owner(path string, info fs.FileInfo) *Problem {
	uid, ok := ownerOf(info)
	me := os.Geteuid()
	if !ok || uid == me {
		return nil
	}
	return &Problem{
		What: fmt.Sprintf("%s belongs to %s, and this process runs as %s", path, UserName(uid), UserName(me)),
		Fix:  ChangeOwner(path),
	}
}

// ChangeOwner says what to do about a file or a folder of another user.
func ChangeOwner(path string) string {
	if os.Geteuid() == 0 {
		return "run callgate as that user, not with sudo"
	}
	return fmt.Sprintf("if it should be yours: sudo chown -R %d %s", os.Geteuid(), path)
}

// Secret reports a file that belongs to another user, or that others may read or
// write.
func Secret(path string, info fs.FileInfo) *Problem {
	if p := Owner(path, info); p != nil {
		return p
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return &Problem{What: fmt.Sprintf("%s is open to others (mode %04o)", path, perm), Fix: "chmod 600 " + path}
	}
	return nil
}

func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

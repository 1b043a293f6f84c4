// Package ownership tells who owns a file or a folder, and who else may change it.
//
// # Law
//
// A name is no proof: in a shared folder any user can be the first to make a file
// of any name. What the user runs, reads rules from or connects to must belong to
// the user (or to root, where that is said), and nobody else may write it. On
// systems without modes and owners the access lists decide, and nothing is
// reported.
package ownership

import (
	"os/user"
	"strconv"
)

// Problem is why a file or a folder is not trusted.
type Problem struct {
	What string
	Fix  string // what the user can do about it
}

// Error returns what is wrong.
func (p *Problem) Error() string { return p.What }

// UserName returns how people know a user: by name and number.
func UserName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil && u.Username != "" {
		return u.Username + " (user " + id + ")"
	}
	return "user " + id
}

// Writer is somebody, other than the user and root, who may change a file.
type Writer struct {
	Who string // "anybody", or a group, or a user
	How string // why they may: the file's mode, or that they own it
	fix string // a command, without the file
	or  string // what else can be done; may be ""
}

// Hint says what to do about a file that is at path.
func (w *Writer) Hint(path string) string { return w.fix + " " + path + w.or }

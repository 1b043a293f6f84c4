//go:build unix

package ownership

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// WriterOf returns somebody, other than the user and root, who may change a file or
// a folder: its owner, its group or all users. It returns nil for a file that is
// the user's or root's alone.
//
// Many systems give each user a group of their own and make files that it may
// write. Such a group is no other writer, as long as nobody else is in it.
func WriterOf(info fs.FileInfo) *Writer {
	if w := OwnerOf(info); w != nil {
		return w
	}
	perm := info.Mode().Perm()
	how := fmt.Sprintf("mode %04o", perm)
	if perm&0o002 != 0 {
		return &Writer{Who: "anybody", How: how, fix: "chmod o-w"}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || perm&0o020 == 0 || hasPrivateGroup(int(st.Uid), int(st.Gid)) {
		return nil
	}
	return &Writer{Who: "the group " + groupName(int(st.Gid)), How: how, fix: "chmod g-w"}
}

// OwnerOf returns the owner of a file that belongs neither to the user nor to root.
func OwnerOf(info fs.FileInfo) *Writer {
	uid, ok := ownerOf(info)
	me := os.Geteuid()
	if !ok || uid == me || uid == 0 {
		return nil
	}
	return &Writer{
		Who: UserName(uid), How: "the owner",
		fix: "chown " + strconv.Itoa(me), or: ", or run callgate as its owner",
	}
}

func groupName(gid int) string {
	id := strconv.Itoa(gid)
	if g, err := user.LookupGroupId(id); err == nil && g.Name != "" {
		return g.Name
	}
	return id
}

// hasPrivateGroup reports whether a group is a user's own. Root has none: its files
// are not made for a group to write.
func hasPrivateGroup(uid, gid int) bool {
	if uid == 0 || gid == 0 {
		return false
	}
	users, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return false
	}
	groups, err := os.ReadFile("/etc/group")
	return err == nil && privateGroup(string(users), string(groups), strconv.Itoa(uid), strconv.Itoa(gid))
}

// privateGroup reports whether a group is the main group of one user, and has no
// other member, by the system's lists of users and groups.
func privateGroup(users, groups, uid, gid string) bool {
	name, found := "", false
	for line := range strings.Lines(users) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || f[3] != gid {
			continue
		}
		if found || f[2] != uid {
			return false
		}
		name, found = f[0], true
	}
	if !found || name == "" {
		return false
	}
	known := false
	for line := range strings.Lines(groups) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || f[2] != gid {
			continue
		}
		if f[3] != "" && f[3] != name {
			return false
		}
		known = true
	}
	return known
}

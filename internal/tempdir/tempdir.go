// Package tempdir makes the temporary folders of this program, and removes those that a
// killed process left.
//
// # Law
//
// The name of a folder says who made it: the process, when that began, and in which
// space of process numbers. A folder is removed when it is this user's, its space is
// this one, and no such process is there any more; its age does not count. What another
// container made in a shared folder is never touched, since its processes cannot be seen.
package tempdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"callgate/internal/ownership"
	"callgate/internal/peer"
)

const prefix = "callgate-"

// kinds are those whose folders Sweep looks at.
var kinds = [...]string{"run", "git", "private", "edit", "doctor"}

// System returns the absolute path of the system's temporary folder. TMPDIR may be relative to the folder that this
// process was started in, while its commands and its clients run in others.
func System() string {
	dir, err := filepath.Abs(os.TempDir())
	if err != nil {
		return os.TempDir()
	}
	return dir
}

// Make makes a folder of a kind: one of run, git, private, edit and doctor. Only its owner
// can open it.
func Make(kind string) (string, error) {
	return os.MkdirTemp(System(), prefix+kind+"-"+maker()+"-")
}

// maker names this process.
func maker() string {
	pid := os.Getpid()
	return fmt.Sprintf("%d.%s.%s", pid, strconv.FormatUint(peer.Started(pid), 36), space())
}

// space names the space in which the numbers of processes are given out.
func space() string {
	link, _ := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	number, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), 10, 64)
	if err != nil {
		return "0"
	}
	return strconv.FormatUint(number, 36)
}

// Sweep removes the folders of processes that have ended; a kernel does it when it
// starts. What cannot be removed stays.
func Sweep() {
	system := System()
	entries, err := os.ReadDir(system)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !isLeft(e.Name()) {
			continue
		}
		full := filepath.Join(system, e.Name())
		if info, err := os.Lstat(full); err == nil && info.IsDir() && ownership.Owner(full, info) == nil {
			Remove(full)
		}
	}
}

// isLeft reports whether a name is that of a folder whose maker has ended.
func isLeft(name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	kind, rest, ok2 := strings.Cut(rest, "-")
	if !ok || !ok2 || !isKind(kind) {
		return false
	}
	by, _, ok := strings.Cut(rest, "-")
	parts := strings.Split(by, ".")
	if !ok || len(parts) != 3 || parts[2] != space() {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	began, err2 := strconv.ParseUint(parts[1], 36, 64)
	return err == nil && err2 == nil && pid > 0 && hasEnded(pid, began)
}

func isKind(kind string) bool {
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// hasEnded reports whether a process is gone. Numbers are given out again, so one that
// began at another time is another one.
func hasEnded(pid int, began uint64) bool {
	p, err := os.FindProcess(pid)
	if err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return true
	}
	now := peer.Started(pid)
	return began != 0 && now != 0 && now != began
}

// Remove removes a folder, whatever modes its user left. It changes modes only inside
// the folder: a link that somebody puts there leads nowhere else.
func Remove(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || os.Chmod(dir, 0o700) != nil {
		return
	}
	if root, err := os.OpenRoot(dir); err == nil {
		makeRemovable(root, ".")
		_ = root.Close()
	}
	_ = os.RemoveAll(dir)
}

// makeRemovable gives every folder below one a mode in which it can be emptied.
func makeRemovable(root *os.Root, dir string) {
	entries, _ := fs.ReadDir(root.FS(), dir)
	for _, e := range entries {
		if sub := path.Join(dir, e.Name()); e.IsDir() && root.Chmod(sub, 0o700) == nil {
			makeRemovable(root, sub)
		}
	}
}

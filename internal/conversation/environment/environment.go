// Package environment says where a conversation is held: the machine's system, the
// day, and the branch of the workspace's repository.
//
// # Law
//
// A repository is not trusted: nothing of it runs. Its branch is read out of its files,
// of which few bytes count, and a name that git would not give a branch is not told.
package environment

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"callgate/internal/lazyregexp"
	"callgate/internal/ownership"
)

// Today returns the date, with the day of the week.
func Today(now time.Time) string { return now.Format("Monday, 2006-01-02") }

// System returns the operating system and its architecture.
func System() string {
	names := map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows", "freebsd": "FreeBSD"}
	name := cmp.Or(names[runtime.GOOS], runtime.GOOS)
	if release := releaseName(readSmall("/etc/os-release")); release != "" && runtime.GOOS == "linux" {
		return fmt.Sprintf("%s (%s, %s)", name, release, runtime.GOARCH)
	}
	return fmt.Sprintf("%s (%s)", name, runtime.GOARCH)
}

var prettyName = lazyregexp.New(`(?m)^PRETTY_NAME="?([^"\n]{1,80})"?$`)

// releaseName is the name of a Linux distribution.
func releaseName(text string) string {
	if m := prettyName.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// Branch says in words which branch the repository of the folders is on, the nearest
// first; "" when none of them is the root of one.
func Branch(folders []string) string {
	for _, folder := range folders {
		dir := filepath.Join(folder, ".git")
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if ownership.OwnerOf(info) != nil {
			return ""
		}
		if !info.IsDir() { // a worktree: the file says where its folder is
			target, ok := strings.CutPrefix(readSmall(dir), "gitdir: ")
			if !ok {
				return ""
			}
			if dir = strings.TrimSpace(target); !filepath.IsAbs(dir) {
				dir = filepath.Join(folder, dir)
			}
		}
		return branchOf(readSmall(filepath.Join(dir, "HEAD")))
	}
	return ""
}

var (
	// branchName is what git allows of a branch's name, and no character that could
	// end a line or a quotation.
	branchName = lazyregexp.New(`^ref: refs/heads/([\pL\pN][\pL\pN\pS_./+@#=!%&(),;'-]{0,199})$`)
	commit     = lazyregexp.New(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)
)

// branchOf says in words what a HEAD file says.
func branchOf(head string) string {
	head = strings.TrimRight(head, "\r\n")
	if m := branchName.FindStringSubmatch(head); m != nil && !strings.ContainsAny(m[1], "<>`\"") {
		return fmt.Sprintf("on branch %q", m[1])
	}
	if commit.MatchString(head) {
		return "on no branch, at commit " + head[:12]
	}
	return ""
}

// readSmall returns the beginning of a small regular file, "" if it cannot be read.
func readSmall(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return ""
	}
	return string(data)
}

package memtrim

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// available returns the memory that the process may use: that of the machine, or less if
// its control group says so.
func available() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	have := int64(uint64(info.Totalram) * uint64(info.Unit))
	groups, _ := os.ReadFile("/proc/self/cgroup") // a machine without them has no limit of theirs
	return min(have, groupLimit("/sys/fs/cgroup", string(groups), have))
}

// groupLimit returns the smallest memory limit of the control groups that a process is in,
// as /proc/self/cgroup lists them, and of those above them; most if there is none.
func groupLimit(root, groups string, most int64) int64 {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		dir, file := root, "memory.max"
		if parts[1] == "memory" {
			dir, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			text, err := os.ReadFile(filepath.Join(dir, at, file))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
				most = min(most, n)
			}
			if at == "/" {
				break
			}
		}
	}
	return most
}

package mask

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mounts is what is mounted where, as this process sees it.
type Mounts []mounted

// mounted is one mount: the part of a file system below root is seen at point.
type mounted struct{ device, root, point string }

// ReadMounts reads the mounts. Where the system does not list them there are none.
func ReadMounts() Mounts {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	return parseMounts(string(data))
}

// parseMounts reads lines of the form: ID PARENT DEVICE ROOT POINT OPTIONS …
func parseMounts(text string) Mounts {
	var all Mounts
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[3], "/") || !strings.HasPrefix(fields[4], "/") {
			continue // what has no path in a file system has no second name
		}
		all = append(all, mounted{fields[2], unescape(fields[3]), unescape(fields[4])})
	}
	return all
}

// unescape reads the \040 by which the system writes a blank.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Aliases returns the other names by which mounts show the same files, or a part of
// them: a home that is also mounted elsewhere has its keys there too.
func (m Mounts) Aliases(paths []string) []string {
	var found []string
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		at, ok := m.at(real)
		if !ok {
			continue
		}
		inside := filepath.Join(at.root, strings.TrimPrefix(real, at.point))
		for _, o := range m {
			if o.device != at.device {
				continue
			}
			switch {
			case within(inside, o.root):
				name := filepath.Join(o.point, strings.TrimPrefix(inside, o.root))
				if name != real && sameFile(name, real) {
					found = append(found, name)
				}
			case within(o.root, inside): // a part of it
				original := filepath.Join(real, strings.TrimPrefix(o.root, inside))
				if o.point != original && !within(o.point, real) && sameFile(o.point, original) {
					found = append(found, o.point)
				}
			}
		}
	}
	return found
}

// at is the mount in which a path lies: the deepest, and of several the last.
func (m Mounts) at(path string) (found mounted, ok bool) {
	for _, o := range m {
		if within(path, o.point) && (!ok || len(o.point) >= len(found.point)) {
			found, ok = o, true
		}
	}
	return found, ok
}

func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

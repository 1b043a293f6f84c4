package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeDeb makes a .deb, which puts the files below /usr: an ar archive of a version, of
// what the package is, and of its files (deb(5)).
func (r *release) writeDeb(arch string, all []file) error {
	var sums strings.Builder
	size := 0
	for _, f := range all {
		fmt.Fprintf(&sums, "%x  usr/%s\n", md5.Sum(f.data), f.path) // the format knows no other sum
		size += len(f.data)
	}
	about, err := r.archive(".", []file{
		{"control", []byte(r.control(arch, size)), 0o644}, {"md5sums", []byte(sums.String()), 0o644},
	})
	if err != nil {
		return err
	}
	data, err := r.archive("./usr", all)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, member := range []file{
		{"debian-binary", []byte("2.0\n"), 0}, {"control.tar.gz", about, 0}, {"data.tar.gz", data, 0},
	} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.path, r.time.Unix(), 0, 0, "100644", len(member.data))
		b.Write(member.data)
		if len(member.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	name := fmt.Sprintf("callgate_%s-1_%s.deb", debianVersion(r.version), arch)
	return os.WriteFile(filepath.Join(r.out, name), b.Bytes(), 0o644)
}

// control is what the package says of itself. Sizes are in KiB there.
func (r *release) control(arch string, size int) string {
	summary, rest, _ := strings.Cut(description, "\n")
	return fmt.Sprintf(`Package: callgate
Version: %s-1
Section: utils
Priority: optional
Architecture: %s
Maintainer: %s
Installed-Size: %d
Recommends: ripgrep, git
Description: %s
 %s
`, debianVersion(r.version), arch, maintainer, (size+1023)/1024, summary, strings.ReplaceAll(rest, "\n", "\n "))
}

// debianVersion is a version as both systems order it: one before a release has a tilde.
func debianVersion(version string) string { return strings.Replace(version, "-", "~", 1) }

// Package layout knows which files an installed Callgate has, and where they lie.
//
// # Law
//
// A program at PREFIX/bin has its completions and manual pages under PREFIX/share, as make
// install and the packages put them; a user may have completions in their home. A file
// counts only if its beginning says that it is Callgate's: one that merely has the name is
// nobody's to remove. Nothing is written here.
package layout

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Kind is what a file is.
type Kind string

// The kinds.
const (
	Program    Kind = "program"
	Completion Kind = "completion"
	Manual     Kind = "manual page"
	Words      Kind = "document" // the licence, the changelog
	Origin     Kind = "package mark"
)

// File is a file of an installed Callgate.
type File struct {
	Kind  Kind   `json:"kind"`
	Shell string `json:"shell,omitempty"` // of a completion
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// Place is where a completion may lie, and how it begins.
type Place struct {
	Shell string
	Path  string // below the prefix
	Begin string // what stands within its first bytes
}

// Places are where the completions of a prefix lie. Debian has its own folder for zsh.
func Places() []Place {
	const zsh = "#compdef callgate"
	return []Place{
		{"bash", "share/bash-completion/completions/callgate", "# bash completion"},
		{"zsh", "share/zsh/site-functions/_callgate", zsh},
		{"zsh", "share/zsh/vendor-completions/_callgate", zsh},
		{"fish", "share/fish/vendor_completions.d/callgate.fish", "# fish completion for callgate"},
	}
}

// Prefix is the folder that a program was installed under; "" if it lies in no bin.
func Prefix(program string) string {
	if folder := filepath.Dir(program); filepath.Base(folder) == "bin" {
		return filepath.Dir(folder)
	}
	return ""
}

// Package is the kind of package (deb, rpm) that brought a program; "" for none.
func Package(program string) string {
	data, err := head(filepath.Join(Prefix(program), "share/callgate/package"))
	if Prefix(program) == "" || err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Find lists the files that were installed with a program, which itself comes first, and
// the completions in a home.
func Find(program, home string) []File {
	var found []File
	add := func(kind Kind, shell, path, begin string) {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(found, func(f File) bool { return f.Path == path }) {
			return // a home may be the prefix
		}
		if begin != "" {
			if data, err := head(path); err != nil || !bytes.Contains(data, []byte(begin)) {
				return
			}
		}
		found = append(found, File{kind, shell, path, info.Size()})
	}
	add(Program, "", program, "")
	if prefix := Prefix(program); prefix != "" {
		for _, p := range Places() {
			add(Completion, p.Shell, filepath.Join(prefix, filepath.FromSlash(p.Path)), p.Begin)
		}
		pages := filepath.Join(prefix, "share", "man", "man1")
		for _, name := range manualPages(pages) {
			add(Manual, "", filepath.Join(pages, name), `.TH "CALLGATE`)
		}
		for _, name := range []string{"copyright", "changelog", "changelog.gz", "README.md"} {
			add(Words, "", filepath.Join(prefix, "share", "doc", "callgate", name), "")
		}
		add(Origin, "", filepath.Join(prefix, "share", "callgate", "package"), "")
	}
	if home != "" {
		for _, p := range homePlaces() {
			add(Completion, p.Shell, filepath.Join(home, filepath.FromSlash(p.Path)), p.Begin)
		}
	}
	return found
}

// homePlaces are where users put completions.
func homePlaces() []Place {
	return []Place{
		{"bash", ".local/share/bash-completion/completions/callgate", "# bash completion"},
		{"zsh", ".zsh/completions/_callgate", "#compdef callgate"},
		{"fish", ".config/fish/completions/callgate.fish", "# fish completion for callgate"},
	}
}

// manualPages are the names in a folder that manual pages of Callgate have.
func manualPages(folder string) (names []string) {
	entries, _ := os.ReadDir(folder) // without the folder there are none
	for _, e := range entries {
		name := e.Name()
		page := strings.TrimSuffix(name, ".gz") // as packages have them
		if page == "callgate.1" || strings.HasPrefix(page, "callgate-") && strings.HasSuffix(page, ".1") {
			names = append(names, name)
		}
	}
	return names
}

// head is the beginning of a file, unpacked.
func head(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if strings.HasSuffix(path, ".gz") {
		unpacked, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(unpacked, 512))
	}
	return io.ReadAll(io.LimitReader(f, 512))
}

// OnPath lists the programs called callgate in a search path, in its order, each file once
// however often it is named.
func OnPath(path string) (found []string) {
	name := "callgate"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	var seen []fs.FileInfo
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		info, err := os.Stat(file)
		if err != nil || !filepath.IsAbs(file) || !info.Mode().IsRegular() ||
			runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
			continue
		}
		if !slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			seen, found = append(seen, info), append(found, file)
		}
	}
	return found
}

// Size is how many bytes the files at and below a path have. What cannot be read, and what
// a link leads to, is not counted.
func Size(path string) (total int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// Remove removes a file, and the folders above it that are Callgate's alone. One that has
// gone already is no error.
func Remove(f File) error {
	if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if folder := filepath.Dir(f.Path); filepath.Base(folder) == "callgate" {
		_ = os.Remove(folder) // it stays if something else is in it
	}
	return nil
}

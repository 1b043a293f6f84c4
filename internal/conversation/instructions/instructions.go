// Package instructions reads the files that tell every agent how work is done:
// AGENTS.md of a project and of its user.
//
// # Laws
//
//   - A folder's file is AGENTS.md, and CLAUDE.md where there is no AGENTS.md. The
//     user's own is AGENTS.md beside the user's app file. What was written for another
//     agent alone (~/.claude, ~/.codex) is not sent to whatever model is used here.
//   - Only a file of the user's or of root's is read that nobody else may write. One
//     that is not read is named, with the reason.
//   - A link is followed to another file of these names within the project, and
//     nowhere else: a stranger's repository does not choose which of the user's files
//     is sent to a provider.
//   - The files have a number of bytes together. The nearest one is served first, and
//     one that does not fit is cut at the end of a line. Nothing that they mention or
//     import is read.
//   - A project's memory (.callgate.md, or the file that its app names) is one of them, the
//     nearest. No link leads to it, and its first 4000 bytes are shown.
//   - Nothing in them is invisible: characters that a human would not see are written
//     out.
package instructions

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"callgate/internal/nofollow"
	"callgate/internal/ownership"
	"callgate/internal/visible"
)

// UserFile returns where the user's own file is, or would be: beside the user's app
// file. It is "" without one.
func UserFile(appFile string) string {
	if appFile == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(appFile), names[0])
}

// names are those of a folder's file: the first that exists counts.
var names = []string{"AGENTS.md", "CLAUDE.md"}

// maxRead bounds what is read of one file, whatever may be shown of it.
const maxRead = 1 << 20

// Options say which files are read. The zero value reads none.
type Options struct {
	Folders  []string // of the project, the nearest first; each holds the one before
	User     string   // the user's own file; "": none
	Memory   string   // the project's memory; "": none
	MaxBytes int      // of all texts together; 0: none is shown
}

// File is a file of instructions.
type File struct {
	Path    string
	User    bool   // the user's own
	Text    string // as far as it is shown
	Size    int    // of the whole, in bytes
	Cut     bool   // Text is the beginning only
	Problem string // why it was not read; "": it was
}

// Read returns the files, the most general first: the user's own, then the project's
// from the outermost folder to the nearest.
func Read(o Options) []File {
	var found []File // the nearest first
	if o.Memory != "" {
		if f, ok := readMemory(o.Memory); ok {
			f.cut(maxMemory)
			found = append(found, f)
		}
	}
	for _, folder := range o.Folders {
		for _, name := range names {
			f, ok := readIn(o.Folders[len(o.Folders)-1], filepath.Join(folder, name))
			if ok {
				found = append(found, f)
				break
			}
		}
	}
	if o.User != "" {
		if f, ok := readUser(o.User); ok {
			found = append(found, f)
		}
	}
	left := o.MaxBytes
	for i := range found {
		found[i].cut(left)
		left -= len(found[i].Text)
	}
	slices.Reverse(found)
	return slices.DeleteFunc(found, func(f File) bool { return f.Problem == "" && f.Size == 0 })
}

// readIn reads a file of a project. It reports false if there is none.
func readIn(top, path string) (File, bool) {
	f := File{Path: path}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return f, false
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.Problem = "it is a link to nothing"
		return f, true
	}
	if err != nil {
		return f.failed(err), true
	}
	rel, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(rel) || !slices.Contains(names, filepath.Base(real)) {
		f.Problem = "it is a link to something else than a file of instructions in this project"
		return f, true
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return f.failed(err), true
	}
	defer root.Close()
	// Not to wait for a writer of a named pipe.
	file, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return f.failed(err), true
	}
	defer file.Close()
	return f.read(file), true
}

// memoryNames are those of a project's memory: what its people and agents want every
// agent to know, beside how work is done.
var memoryNames = []string{".callgate.md", ".digitorn.md"}

const maxMemory = 4000 // bytes that are shown of it

// MemoryFile returns the memory of a project: the first that there is in its folders, the
// nearest first; "" for none.
func MemoryFile(folders []string) string {
	for _, folder := range folders {
		for _, name := range memoryNames {
			if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
				return filepath.Join(folder, name)
			}
		}
	}
	return ""
}

// readMemory reads the memory of a project, which is no link. It reports false if there is
// none.
func readMemory(path string) (File, bool) {
	f := File{Path: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, false
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(filepath.Dir(path))
	}
	if err != nil {
		return f.failed(err), true
	}
	defer root.Close()
	file, err := nofollow.Open(root, filepath.Base(path), info)
	if err != nil {
		return f.failed(err), true
	}
	defer file.Close()
	return f.read(file), true
}

// readUser reads the user's own file, which may be a link to any file of the user's.
func readUser(path string) (File, bool) {
	f := File{Path: path, User: true}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return f, false
	}
	if err != nil {
		return f.failed(err), true
	}
	defer file.Close()
	return f.read(file), true
}

// failed says why a file was not read.
func (f File) failed(err error) File {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	f.Problem = err.Error()
	return f
}

// read reads an open file, if it is one that counts.
func (f File) read(file *os.File) File {
	info, err := file.Stat()
	if err != nil {
		return f.failed(err)
	}
	if !info.Mode().IsRegular() {
		f.Problem = "it is no regular file"
		return f
	}
	if w := ownership.WriterOf(info); w != nil {
		f.Problem = fmt.Sprintf("%s may write it (%s)", w.Who, w.How)
		return f
	}
	data, err := io.ReadAll(io.LimitReader(file, maxRead))
	if err != nil {
		return f.failed(err)
	}
	if slices.Contains(data, 0) {
		f.Problem = "it is no text"
		return f
	}
	f.Size, f.Cut = int(info.Size()), info.Size() > int64(len(data))
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	f.Text = visible.Lines(text)
	return f
}

// cut shortens the text to a number of bytes, at the end of a line where there is
// one.
func (f *File) cut(limit int) {
	if len(f.Text) <= limit {
		return
	}
	f.Cut = true
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(f.Text[limit]) {
		limit--
	}
	f.Text = f.Text[:cmp.Or(strings.LastIndexByte(f.Text[:limit], '\n')+1, limit)]
}

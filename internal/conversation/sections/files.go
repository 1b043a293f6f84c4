package sections

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"callgate/internal/app/sections"
	"callgate/internal/ownership"
	"callgate/internal/visible"
	"callgate/tool"
)

const (
	maxRead  = 4 * MaxSection // bytes of one file, whatever may be told of it
	maxFiles = 50             // of a folder
)

// file is one file of a section.
type file struct{ name, text string }

// read reads the file, or the files of the folder, at a path of a section.
func (f Facts) read(s sections.Section, path string) ([]file, error) {
	root, name, err := f.open(s, path)
	if err != nil {
		return nil, failed(path, err)
	}
	defer root.Close()
	if s.Dir == "" {
		text, err := readFile(root, name)
		return []file{{path, text}}, failed(path, err)
	}
	names, err := list(root, name)
	if err != nil {
		return nil, failed(path, err)
	}
	var all []file
	for i, in := range names {
		if i == maxFiles {
			return append(all, file{path, fmt.Sprintf("[%d more files are not told]", len(names)-i)}), nil
		}
		text, err := readFile(root, filepath.Join(name, in))
		if err != nil {
			return all, failed(filepath.Join(path, in), err)
		}
		all = append(all, file{filepath.Join(path, in), text})
	}
	return all, nil
}

// open opens the folder that a path may not leave, and returns the path within it.
func (f Facts) open(s sections.Section, path string) (*os.Root, string, error) {
	top := s.Folder
	if filepath.IsAbs(path) {
		top = f.Workspace
		if rel, err := filepath.Rel(top, path); top == "" || err != nil || !filepath.IsLocal(rel) {
			top = s.Folder
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return nil, "", err
		}
		path = rel
	}
	if !filepath.IsLocal(path) {
		return nil, "", errors.New("it is neither in the app's folder nor in the workspace")
	}
	root, err := os.OpenRoot(top)
	return root, path, err
}

// failed says which file was not read, and why.
func failed(path string, err error) error {
	var at *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &tool.Error{Op: "sections.Write", Kind: tool.NotFound, Message: "there is no " + path, Err: fs.ErrNotExist}
	case errors.As(err, &at):
		err = at.Err
	}
	return tool.Errorf("sections.Write", tool.Failed, "%s is not read: %v", path, err)
}

// list names the files of a folder that are told: those that are not hidden, by name.
func list(root *os.Root, name string) ([]string, error) {
	dir, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// readFile reads the beginning of a text.
func readFile(root *os.Root, name string) (string, error) {
	// Not to wait for a writer of a named pipe.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	if w := ownership.WriterOf(info); w != nil {
		return "", fmt.Errorf("%s may write it (%s)", w.Who, w.How)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return "", err
	}
	if slices.Contains(data, 0) {
		return "", errors.New("it is no text")
	}
	text := strings.ToValidUTF8(strings.TrimPrefix(string(data), "\ufeff"), "�")
	return visible.Lines(strings.ReplaceAll(text, "\r\n", "\n")), nil
}

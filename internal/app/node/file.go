package node

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"callgate/internal/ownership"
	"callgate/internal/signing"
)

const inFolder = "name a file in the app's own folder, relative to the app file"

// File reads the file that an entry names, below a folder. The file must lie in
// that folder, wherever links lead, and nobody but the user and root may own or
// write it. Both results are empty if it cannot be read.
func (r *Reader) File(e Entry, folder string, most int64) (text, path string) {
	name, ok := r.Text(e)
	if !ok {
		return "", ""
	}
	return r.FileAt(e, folder, name, most)
}

// FileAt is File for a file that an entry names in another way.
func (r *Reader) FileAt(e Entry, folder, name string, most int64) (text, path string) {
	local := filepath.FromSlash(name)
	if filepath.IsAbs(name) || !filepath.IsLocal(local) {
		r.Fail(e.At, inFolder, "%s is %s, which is not in the app's folder", e.Name(), Quote(name))
		return "", ""
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		r.Fail(e.At, inFolder, "%s cannot be read: %v", Quote(name), err)
		return "", ""
	}
	defer root.Close()
	if text, ok := r.FileIn(root, e, local, most); ok {
		return text, filepath.Join(folder, local)
	}
	return "", ""
}

// FileIn is FileAt for a file of an open folder, whose name is a local one.
func (r *Reader) FileIn(root *os.Root, e Entry, local string, most int64) (text string, ok bool) {
	name := filepath.ToSlash(local)
	data, err := readBelow(root, local, most)
	var shared *ownership.Problem
	switch {
	case errors.As(err, &shared):
		r.Fail(e.At, shared.Fix, "%s is not read: %s", Quote(name), shared.What)
	case errors.Is(err, fs.ErrNotExist):
		r.Fail(e.At, inFolder, "there is no file %s", Quote(name))
	case err != nil:
		r.Fail(e.At, inFolder, "%s cannot be read: %v", Quote(name), err)
	case int64(len(data)) > most:
		r.Fail(e.At, "shorten it", "%s is longer than %d KiB", Quote(name), most>>10)
	case !utf8.Valid(data):
		r.Fail(e.At, "save it as UTF-8", "%s is not text", Quote(name))
	default:
		return string(data), true
	}
	return "", false
}

// readBelow reads a file through its folder, so that no link leads out of it.
func readBelow(root *os.Root, name string, most int64) ([]byte, error) {
	info, err := root.Stat(name) // before opening, which would wait on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if w := ownership.WriterOf(info); w != nil {
		return nil, &ownership.Problem{What: w.Who + " may change it (" + w.How + ")", Fix: w.Hint(name)}
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}

// Signature returns the signature beside a file of a folder; nil: there is none that can be read.
func Signature(folder, name string) []byte {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil
	}
	defer root.Close()
	return SignatureIn(root, name)
}

// SignatureIn is Signature for a file of an open folder.
func SignatureIn(root *os.Root, name string) []byte {
	data, err := readBelow(root, name+signing.Suffix, signing.MaxSignature)
	if err != nil {
		return nil
	}
	return data
}

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
	const remedy = "name a file in the app's own folder, relative to the app file"
	local := filepath.FromSlash(name)
	if filepath.IsAbs(name) || !filepath.IsLocal(local) {
		r.Fail(e.At, remedy, "%s is %s, which is not in the app's folder", e.Name(), Quote(name))
		return "", ""
	}
	data, err := readBelow(folder, local, most)
	var shared *ownership.Problem
	switch {
	case errors.As(err, &shared):
		r.Fail(e.At, shared.Fix, "%s is not read: %s", Quote(name), shared.What)
	case errors.Is(err, fs.ErrNotExist):
		r.Fail(e.At, remedy, "there is no file %s", Quote(name))
	case err != nil:
		r.Fail(e.At, remedy, "%s cannot be read: %v", Quote(name), err)
	case int64(len(data)) > most:
		r.Fail(e.At, "shorten it", "%s is longer than %d KiB", Quote(name), most>>10)
	case !utf8.Valid(data):
		r.Fail(e.At, "save it as UTF-8", "%s is not text", Quote(name))
	default:
		return string(data), filepath.Join(folder, local)
	}
	return "", ""
}

// readBelow reads a file through its folder, so that no link leads out of it.
func readBelow(folder, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
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
	data, err := readBelow(folder, name+signing.Suffix, signing.MaxSignature)
	if err != nil {
		return nil
	}
	return data
}

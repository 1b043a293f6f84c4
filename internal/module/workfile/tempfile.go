package workfile

import (
	"crypto/rand"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
)

// TempFile is a file that is not complete yet, beside its place. Commit,
// KeepPartial or Discard ends it.
type TempFile struct {
	target *Target
	file   *os.File
	name   string
	marked bool
	size   int64
	old    fs.FileInfo  // whose mode and owner it takes; nil: those of a new file
	as     *fs.FileMode // the mode that it takes instead; nil: none
}

// createTemp begins a new file. It takes the mode and the owner of old, if that is
// not nil, when it is complete, or the mode that is given; until then nobody else can
// read it.
func (t *Target) createTemp(old fs.FileInfo, as *fs.FileMode) (*TempFile, error) {
	mode := fs.FileMode(0o666) // less the umask, as for every new file
	if old != nil || as != nil {
		mode = 0o600
	}
	name := ".callgate-" + rand.Text() + ".tmp"
	if t.w.Grant.Unfinished != nil {
		name = t.w.Grant.Unfinished(t.folder)
	}
	f, err := t.dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, t.w.Fail(t.shown, err)
	}
	return &TempFile{target: t, file: f, name: name, old: old, as: as}, nil
}

// Size is the number of bytes so far.
func (f *TempFile) Size() int64 { return f.size }

// Write appends to the file.
func (f *TempFile) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	f.size += int64(n)
	if err != nil {
		err = f.target.w.Fail(f.target.shown, err)
	}
	return n, err
}

// Sum hashes what was written so far.
func (f *TempFile) Sum(h hash.Hash) ([]byte, error) {
	if _, err := io.Copy(h, io.NewSectionReader(f.file, 0, f.size)); err != nil {
		return nil, f.target.w.Fail(f.target.shown, err)
	}
	return h.Sum(nil), nil
}

// Restart empties the file.
func (f *TempFile) Restart() error {
	_, err := f.file.Seek(0, io.SeekStart)
	if err == nil {
		err = f.file.Truncate(0)
	}
	if f.size = 0; err != nil {
		return f.target.w.Fail(f.target.shown, err)
	}
	return nil
}

// Commit puts the file in its place, complete and durable, and removes partial
// files of other versions.
func (f *TempFile) Commit() error {
	t := f.target
	if err := f.commit(t.checkFree); err != nil {
		return err
	}
	for _, mark := range t.Partials() {
		_ = t.dir.Remove(t.partialName(mark))
	}
	return nil
}

// commit syncs the file, renames it to its place if check returns nil, and syncs
// the directory. The check comes last, because programs outside the kernel take
// no locks. After an error the file is gone, and its place is as it was.
func (f *TempFile) commit(check func() error) error {
	t := f.target
	var err error
	if f.old != nil {
		keepOwner(f.file, f.old)
		err = f.file.Chmod(f.old.Mode().Perm())
	}
	if f.as != nil {
		err = f.file.Chmod(*f.as)
	}
	if err == nil {
		err = f.file.Sync()
	}
	err = errors.Join(err, f.file.Close())
	if err == nil {
		err = check()
	}
	if err == nil {
		err = t.w.mayChange()
	}
	if err == nil {
		err = t.dir.Rename(f.name, t.base)
	}
	if err != nil {
		_ = t.dir.Remove(f.name)
		return t.w.Fail(t.shown, err)
	}
	syncDir(t.dir)
	return nil
}

// KeepPartial keeps the file for a later call, if it is marked and not empty, and
// reports whether it did.
func (f *TempFile) KeepPartial() bool {
	if !f.marked || f.size == 0 || f.file.Sync() != nil {
		f.Discard()
		return false
	}
	return f.file.Close() == nil
}

// Discard removes the file.
func (f *TempFile) Discard() {
	_ = f.file.Close()
	_ = f.target.dir.Remove(f.name)
}

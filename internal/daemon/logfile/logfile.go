// Package logfile is the log of a kernel in the background: a file that does not grow
// without bound.
//
// # Law
//
// When the file would grow beyond its size, it is renamed to NAME.1, the one before to
// NAME.2, and so on; the oldest is removed, and a new file begins. A reader that has
// the file open reads it to its end, whatever happens to its name. The standard streams
// of the process are turned to the new file too, if they led to the old one, so that
// what the runtime prints when the process crashes is in it. A file that cannot be
// written, as on a full disk, loses lines, and stops nothing.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"callgate/internal/durable"
)

// The bounds of the log: that of one file, and how many old ones are kept beside it.
const (
	MaxSize = 8 << 20
	Kept    = 2
)

// File is an open log. It is safe for concurrent use.
type File struct {
	path    string
	maxSize int64
	streams []*os.File // standard streams that lead to the file, and follow it

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open opens the log at a path, and makes it when it is absent. A maxSize of 0 is
// MaxSize. streams are those of this process that follow the log, if they lead to it.
func Open(path string, maxSize int64, streams ...*os.File) (*File, error) {
	if maxSize <= 0 {
		maxSize = MaxSize
	}
	f := &File{path: path, maxSize: maxSize}
	if err := f.open(); err != nil {
		return nil, err
	}
	for _, s := range streams {
		if Leads(s, path) {
			f.streams = append(f.streams, s)
		}
	}
	if f.size >= f.maxSize {
		f.rotate()
	}
	return f, nil
}

// Leads reports whether a stream leads to the file at a path.
func Leads(stream any, path string) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	have, err := file.Stat()
	want, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(have, want)
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size = file, info.Size()
	return nil
}

// Write appends to the log. It never fails: nobody could be told.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size > 0 && f.size+int64(len(p)) > f.maxSize {
		f.rotate()
	}
	n, _ := f.file.Write(p)
	f.size += int64(n)
	return len(p), nil
}

// rotate begins a new file. If it cannot, the old one is emptied, so that it stays
// bounded in any case; the caller holds the lock, or is alone.
func (f *File) rotate() {
	for n := Kept; n > 0; n-- {
		from := f.path
		if n > 1 {
			from = fmt.Sprintf("%s.%d", f.path, n-1)
		}
		if err := durable.Move(from, fmt.Sprintf("%s.%d", f.path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.empty()
			return
		}
	}
	old := f.file
	if err := f.open(); err != nil {
		f.empty()
		return
	}
	for _, s := range f.streams {
		_ = follow(s, f.file)
	}
	_ = old.Close()
}

func (f *File) empty() {
	if f.file.Truncate(0) == nil {
		f.size = 0
	}
}

// Close closes the log.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}

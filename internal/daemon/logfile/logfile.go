// Package logfile is the log of a kernel in the background: a file that does not grow
// without bound.
//
// # Law
//
// When the file would grow beyond its size, or its first line is older than its age, it is
// renamed to NAME.1, the one before to NAME.2, and so on; the oldest is removed, and a new
// file begins. A crash in between leaves a gap in the names, and loses no line. A reader that has
// the file open reads it to its end, whatever happens to its name. The standard streams
// of the process are turned to the new file too, if they led to the old one, so that
// what the runtime prints when the process crashes is in it. A file that cannot be
// written, as on a full disk, loses lines, and stops nothing.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"sync"
	"time"

	"callgate/internal/durable"
)

// The bounds of the log: those of one file, and how many old ones are kept beside it.
const (
	MaxSize = 8 << 20
	MaxAge  = 30 * 24 * time.Hour
	Kept    = 2
)

// Options are the bounds of a log; zero fields are the defaults.
type Options struct {
	MaxSize int64
	MaxAge  time.Duration
	Now     func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MaxSize <= 0 {
		o.MaxSize = MaxSize
	}
	if o.MaxAge <= 0 {
		o.MaxAge = MaxAge
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// File is an open log. It is safe for concurrent use.
type File struct {
	path    string
	opt     Options
	streams []*os.File // standard streams that lead to the file, and follow it

	mu    sync.Mutex
	file  *os.File
	size  int64
	began time.Time // when its first line was written
}

// Open opens the log at a path, and makes it when it is absent. streams are those of
// this process that follow the log, if they lead to it.
func Open(path string, o Options, streams ...*os.File) (*File, error) {
	f := &File{path: path, opt: o.withDefaults()}
	if err := f.open(); err != nil {
		return nil, err
	}
	for _, s := range streams {
		if Leads(s, path) {
			f.streams = append(f.streams, s)
		}
	}
	if f.size >= f.opt.MaxSize || f.isOld() {
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
	f.file, f.size, f.began = file, info.Size(), f.opt.Now()
	if f.size > 0 {
		f.began = firstTime(f.path, info.ModTime())
	}
	return nil
}

// firstTime is the time that the first line of a log tells, as text or as JSON, and otherwise when the file was last
// changed.
func firstTime(path string, otherwise time.Time) time.Time {
	file, err := os.Open(path)
	if err != nil {
		return otherwise
	}
	defer file.Close()
	head := make([]byte, 128)
	n, _ := io.ReadFull(file, head)
	if m := lineTime.FindSubmatch(head[:n]); m != nil {
		if t, err := time.Parse(time.RFC3339Nano, string(m[1])); err == nil {
			return t
		}
	}
	return otherwise
}

var lineTime = regexp.MustCompile(`^(?:time=|\{"time":")([0-9T:.+Z-]+)`)

// isOld reports whether the file is older than it may be. An empty one has no age.
func (f *File) isOld() bool { return f.size > 0 && f.opt.Now().Sub(f.began) >= f.opt.MaxAge }

// Write appends to the log. It never fails: nobody could be told.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size > 0 && f.size+int64(len(p)) > f.opt.MaxSize || f.isOld() {
		f.rotate()
	}
	if f.size == 0 {
		f.began = f.opt.Now()
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

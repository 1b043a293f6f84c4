package users

import (
	"os"
	"sync"
	"time"
)

// File is the block of a file that may change: it is read again when the file has another time or size. It is safe for
// concurrent use.
type File struct {
	Path func() string

	mu    sync.Mutex
	read  stamp
	rules Rules
	good  bool // rules are those that the file once had
	err   error
}

// stamp tells one content of a file from another.
type stamp struct {
	path string
	time time.Time
	size int64
}

// Rules returns the rules that the file has, or the last that it had while there is a mistake in it. A file that had
// none since it was first read is an error.
func (f *File) Rules() (Rules, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := stamp{path: f.Path()}
	if info, err := os.Stat(now.path); err == nil {
		now.time, now.size = info.ModTime(), info.Size()
	}
	if now != f.read || !f.good && f.err == nil {
		rules, err := Load(now.path)
		f.read, f.err = now, err
		if err == nil {
			f.rules, f.good = rules, true
		}
	}
	if f.good {
		return f.rules, nil
	}
	return Rules{}, f.err
}

package vectorcache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"callgate/internal/durable"
	"callgate/tool"
)

const (
	writeTries = 4         // how often the file may be replaced under a writer
	staleAfter = time.Hour // a file written aside that nobody renamed by then
)

// read returns the whole file. A file that does not exist, or is too large, counts
// as empty.
func (c *Cache) read() ([]byte, error) {
	f, err := c.open(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFrom(f)
}

// readFrom reads a file that may be growing.
func readFrom(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil || info.Size() > maxFile {
		return nil, err
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // it was truncated in the meantime
	}
	return data[:n], err
}

// open opens the file. It refuses anything but a regular file: opening a pipe
// would wait for the other end.
func (c *Cache) open(flag int) (*os.File, error) {
	info, err := os.Stat(c.path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", c.path)
	}
	return os.OpenFile(c.path, flag, 0o600)
}

// write appends records to the file, again if it was replaced at the same time.
func (c *Cache) write(records []byte) error {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	for range writeTries {
		if written, err := c.append(records); written || err != nil {
			return err
		}
	}
	return nil // other processes keep replacing it: a cache may lose rows
}

// append appends records in one write. It returns false if the file was replaced
// in the meantime, so that they may be lost with the old one. If there is no valid
// file, it writes all rows.
func (c *Cache) append(records []byte) (written bool, err error) {
	f, err := c.open(os.O_RDWR | os.O_APPEND | os.O_CREATE)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() == 0 {
		records = c.everything()
	} else if !c.isOwnFile(f, info) {
		f.Close()
		return true, c.replace(c.everything(), nil)
	}
	if _, err := f.Write(records); err != nil {
		return false, err
	}
	return c.current(f), nil
}

// isOwnFile reports whether a file has the expected header.
func (c *Cache) isOwnFile(f *os.File, info fs.FileInfo) bool {
	start := make([]byte, len(c.format.header))
	_, err := f.ReadAt(start, 0)
	return err == nil && bytes.Equal(start, c.format.header) && info.Size() <= maxFile
}

// current reports whether an open file still has its name.
func (c *Cache) current(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(c.path)
	return err == nil && os.SameFile(mine, named)
}

var errReplaced = errors.New("another process replaced the file first")

// replace puts a whole new file in the place of the old one, which may be given
// open: then it must still be the one of that name.
func (c *Cache) replace(data []byte, old *os.File) error {
	_ = durable.RemovePartials(c.path, staleAfter)
	f, err := durable.New(filepath.Dir(c.path), filepath.Base(c.path))
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if old != nil {
		if !c.current(old) {
			return errReplaced
		}
		if runtime.GOOS == "windows" {
			old.Close() // a file that is open cannot be replaced there
		}
	}
	return f.Commit(c.path, 0o600)
}

// Compact removes the rows that keep rejects from the file and from memory, if the
// file is more than twice as large as needed; else it does nothing. If it fails,
// the file stays as it was and remains in use.
func (c *Cache) Compact(keep func(key [16]byte) bool) error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if err := c.flush(); err != nil {
		return err
	}
	dead, live := c.sort(keep)
	c.mu.RLock()
	detached := c.detached
	c.mu.RUnlock()
	if detached {
		if len(dead) > live {
			c.forget(dead)
		}
		return nil
	}
	done, err := c.rewrite(keep, live)
	if err != nil {
		return tool.Errorf("vectorcache.Compact", tool.Unavailable,
			"the file of cached vectors cannot be made smaller: %w", err).WithHint("it stays in use as it is")
	}
	if done {
		c.forget(dead)
	}
	return nil
}

// sort calls keep for each key in memory, without holding a lock.
func (c *Cache) sort(keep func([16]byte) bool) (dead [][16]byte, live int) {
	c.mu.RLock()
	keys := make([][16]byte, 0, len(c.rows))
	for key := range c.rows {
		keys = append(keys, key)
	}
	c.mu.RUnlock()
	for _, key := range keys {
		if keep(key) {
			live++
		} else {
			dead = append(dead, key)
		}
	}
	return dead, live
}

func (c *Cache) forget(dead [][16]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range dead {
		delete(c.rows, key)
	}
}

// rewrite reduces the file to its live records, if these are less than half of it.
// It reads the file, since other processes may have appended to it.
func (c *Cache) rewrite(keep func([16]byte) bool, live int) (done bool, err error) {
	f, err := c.open(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !c.isOwnFile(f, info) {
		return false, err // the next flush replaces it
	}
	head := len(c.format.header)
	if info.Size() <= 2*int64(head+live*c.format.size()) {
		return false, nil
	}
	data, err := readFrom(f)
	if err != nil || len(data) < head {
		return false, err
	}
	kept, end := c.live(data[head:], keep)
	if len(data) <= 2*len(kept) {
		return false, nil
	}
	if err := c.replace(kept, f); err != nil {
		if errors.Is(err, errReplaced) {
			err = nil // that process did the work
		}
		return false, err
	}
	// What was appended to the old file after it was read, or was incomplete then.
	late, _ := io.ReadAll(io.LimitReader(f, maxFile))
	late = append(data[head+end:], late...)
	var over []byte
	for _, record := range c.format.records(late) {
		over = append(over, record...)
	}
	if len(over) > 0 {
		_ = c.write(over) // rows of other processes; the next flush reports a disk that fails
	}
	return true, nil
}

// live returns the content of a file with the records that keep accepts, the last
// of each key, in their order; and the end of the last valid record.
func (c *Cache) live(body []byte, keep func([16]byte) bool) (data []byte, end int) {
	last := map[[16]byte]int{}
	for at, record := range c.format.records(body) {
		last[keyOf(record)], end = at, at
	}
	data = bytes.Clone(c.format.header)
	for at, record := range c.format.records(body) {
		if key := keyOf(record); last[key] == at && keep(key) {
			data = append(data, record...)
		}
	}
	return data, end
}

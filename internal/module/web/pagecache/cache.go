// Package pagecache keeps pages on disk for a while, as a browser does: by what
// their servers say of it.
//
// # Law
//
//   - A page is found again only under the whole key it was kept under.
//   - Files are the owner's alone, and appear under their names only when they
//     are whole. One that cannot be read is as if it were not there.
//   - All pages together stay within a bound: those used longest ago go first.
//     The folder may be emptied at any time, and several processes may share
//     it.
//   - A page is shown without asking for as long as both the server and the app
//     allow it, and after that only when the server says that it has not
//     changed. What the server wants not to be stored, or meant for one reader,
//     is not kept.
package pagecache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cache is a folder of pages.
type Cache struct {
	dir  string
	most int64

	mu    sync.Mutex
	size  int64 // of the files, at the least
	known bool  // whether they were counted
}

// New is a cache of at most so many bytes in a folder, which is made when it is
// needed. Without a folder nothing is kept.
func New(dir string, most int64) *Cache { return &Cache{dir: dir, most: most} }

// Key is what a page is kept under.
type Key struct {
	User  string // whose it is
	Rules string // the rules it was fetched by
	URL   string
}

func (k Key) file() string {
	sum := sha256.New()
	for _, part := range []string{k.User, k.Rules, k.URL} {
		own := sha256.Sum256([]byte(part))
		sum.Write(own[:])
	}
	return hex.EncodeToString(sum.Sum(nil)) + suffix
}

const suffix = ".page"

// Entry is a page that is kept.
type Entry struct {
	Key       Key
	URL       string // where it was found in the end
	Type      string // its content type
	ETag      string
	Modified  string    // as the server writes it
	Stored    time.Time // when it was fetched, or confirmed
	Fresh     time.Time // until when the server allows it to be shown without asking
	Truncated bool
	Sum       string // of the body
	Body      []byte `json:"-"`
}

// CanRevalidate reports whether a server can say that the page has not changed.
func (e *Entry) CanRevalidate() bool { return e.ETag != "" || e.Modified != "" }

// Get finds a page.
func (c *Cache) Get(k Key) (*Entry, bool) {
	if c.dir == "" {
		return nil, false
	}
	name := filepath.Join(c.dir, k.file())
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	head, content, ok := bytes.Cut(data, []byte("\n"))
	e := &Entry{Body: content}
	if !ok || json.Unmarshal(head, e) != nil || e.Key != k || e.Sum != sumOf(content) {
		_ = os.Remove(name)
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now)
	return e, true
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Put keeps a page, if it is not too large a part of what may be kept.
func (c *Cache) Put(e *Entry) error {
	if c.dir == "" || int64(len(e.Body)) > c.most/4 {
		return nil
	}
	e.Sum = sumOf(e.Body)
	head, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, "new-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(slices.Concat(head, []byte("\n"), e.Body))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.dir, e.Key.file()))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	c.grew(int64(len(head) + 1 + len(e.Body)))
	return nil
}

// Drop forgets a page.
func (c *Cache) Drop(k Key) {
	if c.dir != "" {
		_ = os.Remove(filepath.Join(c.dir, k.file()))
	}
}

// grew counts a new file, and makes room where there is too much.
func (c *Cache) grew(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += n; c.known && c.size <= c.most {
		return
	}
	c.size, c.known = c.makeRoom(), true
}

type file struct {
	name string
	size int64
	used time.Time
}

// makeRoom counts the files and, where they are too many, removes those used
// longest ago until a fifth is free. It removes what a process left behind that
// died, too.
func (c *Cache) makeRoom() (size int64) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return 0
	}
	var files []file
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f := file{filepath.Join(c.dir, entry.Name()), info.Size(), info.ModTime()}
		switch {
		case strings.HasSuffix(f.name, suffix):
			files = append(files, f)
			size += f.size
		case strings.HasSuffix(f.name, ".tmp") && time.Since(f.used) > time.Hour:
			_ = os.Remove(f.name)
		}
	}
	if size <= c.most {
		return size
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, f := range files {
		if size <= c.most*4/5 {
			break
		}
		if err := os.Remove(f.name); err == nil || errors.Is(err, fs.ErrNotExist) {
			size -= f.size
		}
	}
	return size
}

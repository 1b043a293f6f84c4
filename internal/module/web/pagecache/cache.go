// Package pagecache keeps pages on disk for a while, as a browser does: for as
// long as their servers permit.
//
// # Law
//
//   - A page is found only under the whole key it was kept under.
//   - Only the owner can read the files. A file gets its name when it is
//     complete, and a file that cannot be read counts as missing.
//   - All pages together stay within a limit; pages used longest ago are removed
//     first. The folder may be emptied at any time, and several processes may
//     share it.
//   - A page is shown without asking its server for as long as both the server
//     and the app allow, and after that only when the server says that it has
//     not changed. A page that the server forbids to store, or meant for one
//     reader, is not kept.
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
	dir   string
	limit int64 // bytes of all files

	mu      sync.Mutex
	size    int64 // bytes of all files; other processes may have added some
	counted bool  // whether the files of earlier processes are in size
}

// New returns a cache of at most limit bytes in a folder, which is made when it
// is needed. Without a folder nothing is kept.
func New(dir string, limit int64) *Cache { return &Cache{dir: dir, limit: limit} }

// Key identifies a page.
type Key struct {
	User  string // who read it
	Rules string // the rules it was fetched under
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
	URL       string // after redirects
	Type      string // its content type
	ETag      string
	Modified  string    // the header Last-Modified
	Stored    time.Time // when it was fetched or confirmed
	Fresh     time.Time // until when the server allows to show it without asking
	Truncated bool
	Sum       string // of the body
	Body      []byte `json:"-"`
}

// CanRevalidate reports whether the server can tell that the page has not
// changed.
func (e *Entry) CanRevalidate() bool { return e.ETag != "" || e.Modified != "" }

// Get returns a page, if it is kept.
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

// Put keeps a page, unless it would fill more than a quarter of the cache.
func (c *Cache) Put(e *Entry) error {
	if c.dir == "" || int64(len(e.Body)) > c.limit/4 {
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
	c.grow(int64(len(head) + 1 + len(e.Body)))
	return nil
}

// Drop removes a page.
func (c *Cache) Drop(k Key) {
	if c.dir != "" {
		_ = os.Remove(filepath.Join(c.dir, k.file()))
	}
}

// grow counts a new file, and removes old files if there are too many bytes.
func (c *Cache) grow(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += n; c.counted && c.size <= c.limit {
		return
	}
	c.size, c.counted = c.prune(), true
}

type file struct {
	name string
	size int64
	used time.Time
}

// prune counts the bytes of all files. If they are too many, it removes files
// used longest ago until a fifth of the cache is free. It also removes
// temporary files of processes that died.
func (c *Cache) prune() (size int64) {
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
	if size <= c.limit {
		return size
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name))
	})
	for _, f := range files {
		if size <= c.limit*4/5 {
			break
		}
		if err := os.Remove(f.name); err == nil || errors.Is(err, fs.ErrNotExist) {
			size -= f.size
		}
	}
	return size
}

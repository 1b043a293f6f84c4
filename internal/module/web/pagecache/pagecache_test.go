package pagecache_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"callgate/internal/module/web/pagecache"
)

func key(url string) pagecache.Key { return pagecache.Key{User: "u", Rules: "r", URL: url} }

func put(t *testing.T, c *pagecache.Cache, k pagecache.Key, body []byte) {
	t.Helper()
	if err := c.Put(&pagecache.Entry{Key: k, URL: k.URL, Type: "text/plain", ETag: `"t"`, Stored: time.Now(),
		Body: body}); err != nil {
		t.Fatal(err)
	}
}

func TestKeeps(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pages")
	c := pagecache.New(dir, 1<<20)
	if _, ok := c.Get(key("a")); ok {
		t.Error("there is a page before any was kept")
	}
	put(t, c, key("a"), []byte("alpha\nbeta"))
	for name, k := range map[string]pagecache.Key{
		"another page":  key("b"),
		"another user":  {User: "v", Rules: "r", URL: "a"},
		"other rules":   {User: "u", Rules: "s", URL: "a"},
		"shifted parts": {User: "ur", Rules: "", URL: "a"},
	} {
		if _, ok := c.Get(k); ok {
			t.Errorf("%s was found", name)
		}
	}
	e, ok := pagecache.New(dir, 1<<20).Get(key("a"))
	if !ok || string(e.Body) != "alpha\nbeta" || e.ETag != `"t"` || e.Type != "text/plain" || !e.CanRevalidate() {
		t.Errorf("%+v", e)
	}
	c.Drop(key("a"))
	if _, ok := c.Get(key("a")); ok {
		t.Error("it was dropped")
	}
	none := pagecache.New("", 1<<20)
	put(t, none, key("a"), []byte("x"))
	if _, ok := none.Get(key("a")); ok {
		t.Error("without a folder something was kept")
	}
}

// Only the owner can read the files, and a file that was changed is removed.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pages")
	c := pagecache.New(dir, 1<<20)
	for name, spoil := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"changed": func(b []byte) []byte { return bytes.Replace(b, []byte("alpha"), []byte("omega"), 1) },
		"empty":   func([]byte) []byte { return nil },
		"no JSON": func([]byte) []byte { return []byte("x\ny") },
	} {
		put(t, c, key("a"), []byte("alpha"))
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("the mode is %v", info.Mode())
		}
		raw, err := os.ReadFile(files[0])
		if err == nil {
			err = os.WriteFile(files[0], spoil(raw), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Get(key("a")); ok {
			t.Errorf("%s: it was found", name)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
			t.Errorf("%s: it is still there", name)
		}
	}
}

// All files together stay within the limit, and pages used last stay.
func TestLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	dir := t.TempDir()
	c := pagecache.New(dir, limit)
	old := filepath.Join(dir, "new-1.tmp")
	if err := os.WriteFile(old, []byte("left by a process that died"), 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("x"), 50_000)
	put(t, c, key("first"), body)
	for i := range 100 {
		put(t, c, key(fmt.Sprint(i)), body)
		if _, ok := c.Get(key("first")); !ok {
			t.Fatalf("the page used last was removed, at %d", i)
		}
	}
	var size int64
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > limit+100_000 || len(files) < 10 {
		t.Errorf("%d files, %d bytes", len(files), size)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the temporary file of a dead process is still there")
	}
	put(t, c, key("huge"), make([]byte, limit/2))
	if _, ok := c.Get(key("huge")); ok {
		t.Error("one page took half of the cache")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	c := pagecache.New(t.TempDir(), 200_000)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 50 {
				k := key(fmt.Sprint(i % 7))
				body := bytes.Repeat([]byte{byte('a' + w)}, 5000)
				_ = c.Put(&pagecache.Entry{Key: k, Body: body})
				if e, ok := c.Get(k); ok && (len(e.Body) != 5000 || e.Body[0] != e.Body[4999]) {
					t.Error("half a page was found")
				}
			}
		})
	}
	all.Wait()
}

func TestCacheability(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	at := func(s int) string { return now.Add(time.Duration(s) * time.Second).Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		header map[string]string
		keep   bool
		fresh  time.Duration
	}{
		"nothing":            {nil, true, time.Minute},
		"an age":             {map[string]string{"Cache-Control": "public, max-age=300"}, true, 300 * time.Second},
		"an age in quotes":   {map[string]string{"Cache-Control": `max-age="300"`}, true, 300 * time.Second},
		"some of it is gone": {map[string]string{"Cache-Control": "max-age=300", "Age": "100"}, true, 200 * time.Second},
		"a bad age":          {map[string]string{"Cache-Control": "max-age=soon"}, true, 0},
		"no-cache":           {map[string]string{"Cache-Control": "No-Cache, max-age=300"}, true, 0},
		"no-store":           {map[string]string{"Cache-Control": "no-store"}, false, 0},
		"private":            {map[string]string{"Cache-Control": "private"}, false, 0},
		"of a field":         {map[string]string{"Cache-Control": `private="set-cookie"`}, false, 0},
		"vary":               {map[string]string{"Vary": "*"}, false, 0},
		"vary by name":       {map[string]string{"Vary": "Accept-Encoding"}, true, time.Minute},
		"expires":            {map[string]string{"Expires": at(100)}, true, 100 * time.Second},
		"by its own clock":   {map[string]string{"Expires": at(5100), "Date": at(5000)}, true, 100 * time.Second},
		"expired":            {map[string]string{"Expires": "-1"}, true, 0},
		"an age first":       {map[string]string{"Cache-Control": "max-age=10", "Expires": at(100)}, true, 10 * time.Second},
		"an old proxy":       {map[string]string{"Pragma": "no-cache"}, true, 0},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		keep, fresh := pagecache.Cacheability(h, now, time.Minute)
		if keep != c.keep || fresh.Sub(now) != c.fresh {
			t.Errorf("%s: %v, %v", name, keep, fresh.Sub(now))
		}
	}
}

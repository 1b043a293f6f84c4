package oauth_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callgate/internal/source/mcp/oauth"
	"callgate/tool"
)

// The logins of testdata/tokens, as an earlier version wrote them.
var old = map[string]*oauth.Record{
	"0f3c5a7e9b1d2f4a6c8e0b2d4f6a8c0e": {
		Access: "access-one", Refresh: "refresh-one", Expiry: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		ClientID: "client", TokenURL: "https://auth.test/token", Scopes: []string{"tools", "offline_access"},
	},
	"a1b2c3d4e5f60718293a4b5c6d7e8f90": {
		Access: "access-two", ClientID: "known", ClientSecret: "the client's", TokenURL: "https://other.test/token",
		AuthStyle: 1,
	},
}

// oldFolder is a folder with the logins of an earlier version.
func oldFolder(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "tokens")
	if err := os.CopyFS(folder, os.DirFS("testdata/tokens")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// importAll imports a folder and returns what is logged.
func importAll(t testing.TB, s oauth.Store, folder string) string {
	t.Helper()
	var log bytes.Buffer
	oauth.Import(t.Context(), s, folder, slog.New(slog.NewTextHandler(&log, nil)))
	return log.String()
}

func expectOld(t *testing.T, s oauth.Store) {
	t.Helper()
	for key, want := range old {
		got, err := s.Load(t.Context(), key)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(oauth.Record{}, "Version")); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}

// names lists the files of a folder.
func names(t testing.TB, folder string) string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		all = append(all, f.Name())
	}
	return strings.Join(all, " ")
}

func TestImport(t *testing.T) {
	t.Parallel()
	folder := oldFolder(t)
	partial := filepath.Join(folder, ".0f3c.json.123.partial") // of a write that a crash cut off
	if err := os.WriteFile(partial, []byte("access"), 0o600); err != nil {
		t.Fatal(err)
	}
	place := t.TempDir()
	s := openStore(t, place)
	log := importAll(t, s, folder)
	if !strings.Contains(log, "logins=2") || strings.Contains(log, "access-one") {
		t.Errorf("the log says %q", log)
	}
	expectOld(t, s)
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if log := importAll(t, s, folder); log != "" {
		t.Errorf("a second import says %q", log)
	}
	expectOld(t, openStore(t, place)) // they are in the database, not in memory
}

// crashing is a store whose process dies, as far as the import can tell, at one
// of its operations: that one and all that follow fail, the first of them before
// or after it is done.
type crashing struct {
	oauth.Store
	left int  // operations before the crash
	done bool // the operation of the crash is done
}

var errCrash = tool.Errorf("test", tool.Unavailable, "the process is gone")

func (c *crashing) Load(ctx context.Context, key string) (*oauth.Record, error) {
	if c.left--; c.left < 0 {
		return nil, errCrash
	}
	return c.Store.Load(ctx, key)
}

func (c *crashing) Save(ctx context.Context, key string, r *oauth.Record) error {
	c.left--
	if c.left == -1 && c.done {
		if err := c.Store.Save(ctx, key, r); err != nil {
			return err
		}
	}
	if c.left < 0 {
		return errCrash
	}
	return c.Store.Save(ctx, key, r)
}

// An import that ends at any moment loses nothing: each login is in its file or
// in the store, and the next import finishes the work.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	for left := range 6 { // a file is a load, a save and a load
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("after %d operations, done %v", left, done), func(t *testing.T) {
				t.Parallel()
				folder := oldFolder(t)
				s := openStore(t, t.TempDir())
				log := importAll(t, &crashing{Store: s, left: left, done: done}, folder)
				if !strings.Contains(log, "not imported") {
					t.Errorf("the log says %q", log)
				}
				for key := range old {
					if _, err := os.Stat(filepath.Join(folder, key+".json")); err == nil {
						continue
					}
					if r, err := s.Load(t.Context(), key); r == nil || err != nil {
						t.Errorf("%s is lost: %v", key, err)
					}
				}
				importAll(t, s, folder)
				expectOld(t, s)
				if got := names(t, folder); got != "" {
					t.Errorf("left are %q", got)
				}
			})
		}
	}
}

// A crash after a login was stored and before its file was removed leaves the
// file. It takes the place of no login that was made or renewed since.
func TestImportKeepsNewLogins(t *testing.T) {
	t.Parallel()
	folder := oldFolder(t)
	s := openStore(t, t.TempDir())
	const key = "a1b2c3d4e5f60718293a4b5c6d7e8f90"
	if err := s.Save(t.Context(), key, &oauth.Record{Access: "renewed"}); err != nil {
		t.Fatal(err)
	}
	importAll(t, s, folder)
	if got, err := s.Load(t.Context(), key); err != nil || got.Access != "renewed" {
		t.Errorf("an old login took the place of a new one: %v, %v", got, err)
	}
	if got := names(t, folder); got != "" {
		t.Errorf("left are %q", got)
	}
}

// Two kernels that start at once may both import.
func TestTwoImports(t *testing.T) {
	t.Parallel()
	folder, place := oldFolder(t), t.TempDir()
	var wg sync.WaitGroup
	for range 2 {
		s := openStore(t, place)
		wg.Go(func() {
			if log := importAll(t, s, folder); strings.Contains(log, "not imported") {
				t.Errorf("the log says %s", log)
			}
		})
	}
	wg.Wait()
	expectOld(t, openStore(t, place))
	if got := names(t, folder); got != "" {
		t.Errorf("left are %q", got)
	}
}

// A damaged file is reported without a word of it, and left; the others are
// imported.
func TestImportOfDamage(t *testing.T) {
	t.Parallel()
	folder := oldFolder(t)
	bad := map[string]string{
		"b0.json": `{"access_token": "s3cr3t`, "b1.json": "", "b2.json": `{"client_id": "x"}`,
		"b3.json": `{"access_token":"s3cr3t"}` + strings.Repeat(" ", 2<<20),
	}
	for name, text := range bad {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t, t.TempDir())
	for range 2 { // it is reported at each start
		log := importAll(t, s, folder)
		for name := range bad {
			if !strings.Contains(log, name) {
				t.Errorf("the log does not name %s: %s", name, log)
			}
		}
		if strings.Contains(log, "s3cr3t") {
			t.Errorf("the log says %s", log)
		}
	}
	expectOld(t, s)
	if got := names(t, folder); got != "b0.json b1.json b2.json b3.json" {
		t.Errorf("left are %q", got)
	}
}

// Whatever a file holds, it is imported and removed, or left as it was.
func FuzzImport(f *testing.F) {
	f.Add(`{"access_token":"a","expiry":"2026-03-01T12:00:00Z","scopes":["x"]}`)
	f.Add(`{"refresh_token":"r","auth_style":1}`)
	f.Add(`{"expiry":"yesterday"}`)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		folder := filepath.Join(t.TempDir(), "tokens")
		path := filepath.Join(folder, "k.json")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := oauth.NewMemory()
		importAll(t, s, folder)
		stored, err := s.Load(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadFile(path)
		switch {
		case stored == nil && (err != nil || string(left) != text):
			t.Errorf("the file is lost: %q, %v", left, err)
		case stored != nil && !os.IsNotExist(err):
			t.Errorf("the file is still there: %v", err)
		case stored != nil && stored.Access == "" && stored.Refresh == "":
			t.Error("a login without a token was imported")
		}
	})
}

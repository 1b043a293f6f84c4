package oauth_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/document"
	"callgate/internal/secret"
	"callgate/internal/source/mcp/oauth"
	"callgate/internal/storage/sqlite"
	kerneltoken "callgate/internal/token"
	"callgate/tool"
)

// openDocuments opens a folder's documents, which several may do at once.
func openDocuments(t testing.TB, folder string) document.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(folder, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db.Stores().Documents
}

// openStore opens the logins of a folder as a kernel does.
func openStore(t testing.TB, folder string) oauth.Store {
	t.Helper()
	vault, err := secret.Open(filepath.Join(folder, "secrets.box"))
	if err != nil {
		t.Fatal(err)
	}
	return oauth.NewSealed(openDocuments(t, folder), vault)
}

func record() *oauth.Record {
	return &oauth.Record{
		Access: "a-token-for-access", Refresh: "a-token-to-renew", Expiry: time.Now().Add(time.Hour).UTC().Round(0),
		ClientID: "c", ClientSecret: "the-client's", TokenURL: "https://x/token", Scopes: []string{"s"},
	}
}

func TestStores(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]oauth.Store{"memory": oauth.NewMemory(), "documents": openStore(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			ctx, r := t.Context(), record()
			if got, err := s.Load(ctx, "k"); got != nil || err != nil {
				t.Errorf("from nothing came %v, %v", got, err)
			}
			if err := s.Save(ctx, "k", r); err != nil || r.Version == 0 {
				t.Fatal(r.Version, err)
			}
			got, err := s.Load(ctx, "k")
			if diff := cmp.Diff(r, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
			stale := *r
			r.Access = "another"
			if err := s.Save(ctx, "k", r); err != nil {
				t.Fatal(err)
			}
			for name, version := range map[string]int64{"a version that is gone": stale.Version, "none": 0} {
				old := stale
				old.Version = version
				if err := s.Save(ctx, "k", &old); tool.KindOf(err) != tool.Conflict {
					t.Errorf("in the place of %s: %v", name, err)
				}
			}
			if got, err := s.Load(ctx, "k"); err != nil || got.Access != "another" {
				t.Errorf("a stale login was stored: %v, %v", got, err)
			}
			stale.Version = oauth.AnyVersion
			if err := s.Save(ctx, "k", &stale); err != nil {
				t.Error(err)
			}
			if got, err := s.Load(ctx, "k"); err != nil || got.Access != record().Access || got.Version != stale.Version {
				t.Errorf("whatever was there: %v, %v", got, err)
			}
			for range 2 {
				if err := s.Delete(ctx, "k"); err != nil {
					t.Error(err)
				}
			}
			if got, err := s.Load(ctx, "k"); got != nil || err != nil {
				t.Errorf("after it was removed came %v, %v", got, err)
			}
			if err := s.Save(ctx, "k", &stale); tool.KindOf(err) != tool.Conflict {
				t.Errorf("in the place of one that was removed: %v", err)
			}
		})
	}
}

// Nothing of a login can be read from the database, and nobody but its owner
// can read the files.
func TestLoginsAreSealed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := openStore(t, folder)
	if err := s.Save(t.Context(), "k", record()); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"a-token-for-access", "a-token-to-renew", "the-client's"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s holds %s", f.Name(), secret)
			}
		}
		if info, err := f.Info(); err != nil || filepath.Separator == '/' && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
	// Another kernel that has the key reads it.
	if got, err := openStore(t, folder).Load(t.Context(), "k"); err != nil || got.Access != "a-token-for-access" {
		t.Errorf("%v, %v", got, err)
	}
}

// A login that was kept among the kernel's own tokens is moved, and is in nobody's way before.
func TestLoginOfBefore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	docs, s := openDocuments(t, folder), openStore(t, folder)
	want := record()
	if err := s.Save(t.Context(), "k", want); err != nil {
		t.Fatal(err)
	}
	doc, err := docs.Get(t.Context(), "logins", "k")
	if err != nil {
		t.Fatal(err)
	}
	_, err = docs.Write(t.Context(), document.Change{Collection: "tokens", Key: "k", Data: doc.Data},
		document.Change{Collection: "tokens", Key: "other", Data: []byte(`{"id":"a token of the kernel's"}`)},
		document.Change{Collection: "logins", Key: "k", If: doc.Version})
	if err != nil {
		t.Fatal(err)
	}
	tokens := kerneltoken.NewStore(docs)
	if _, err := tokens.List(t.Context()); err != nil {
		t.Errorf("a login keeps the kernel's tokens from being listed: %v", err)
	}
	got, err := s.Load(t.Context(), "k")
	if err != nil || got == nil || got.Access != want.Access {
		t.Fatalf("got %+v, %v", got, err)
	}
	got.Access = "renewed"
	if err := s.Save(t.Context(), "k", got); err != nil {
		t.Errorf("it cannot be renewed: %v", err)
	}
	if _, err := docs.Get(t.Context(), "tokens", "k"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("it is in its former place still: %v", err)
	}
	if got, err := s.Load(t.Context(), "other"); got != nil || err != nil {
		t.Errorf("a token of the kernel's is a login: %+v, %v", got, err)
	}
}

// A login that cannot be read is reported without a word of it, and a new one
// takes its place.
func TestDamagedLogin(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, folder string, data []byte) []byte{
		"changed": func(_ *testing.T, _ string, data []byte) []byte { data[len(data)-1] ^= 1; return data },
		"plain":   func(*testing.T, string, []byte) []byte { return []byte(`{"access_token": "s3cr3t`) },
		"without its key": func(t *testing.T, folder string, data []byte) []byte {
			for _, name := range []string{"secrets.box", "secrets.key"} {
				if err := os.Remove(filepath.Join(folder, name)); err != nil {
					t.Fatal(err)
				}
			}
			return data
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			docs := openDocuments(t, folder)
			if err := openStore(t, folder).Save(t.Context(), "k", record()); err != nil {
				t.Fatal(err)
			}
			doc, err := docs.Get(t.Context(), "logins", "k")
			if err != nil {
				t.Fatal(err)
			}
			change := document.Change{Collection: "logins", Key: "k", If: doc.Version, Data: damage(t, folder, doc.Data)}
			if _, err := docs.Write(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			a := oauth.NewAccount("far", "k", openStore(t, folder), http.DefaultClient)
			_, err = a.Token(t.Context())
			if tool.KindOf(err) != tool.Unavailable || strings.Contains(err.Error(), "s3cr3t") ||
				!strings.Contains(err.Error(), "log in again") {
				t.Errorf("the error is %v", err)
			}
			if err := a.Set(t.Context(), &oauth.Record{Access: "good"}); err != nil {
				t.Fatal(err)
			}
			again := oauth.NewAccount("far", "k", openStore(t, folder), http.DefaultClient)
			if got, err := again.Token(t.Context()); got != "good" || err != nil {
				t.Errorf("after a new login: %q, %v", got, err)
			}
		})
	}
}

func TestTokenWithoutRefresh(t *testing.T) {
	t.Parallel()
	a := oauth.NewAccount("far", "k", openStore(t, t.TempDir()), http.DefaultClient)
	if got, err := a.Token(t.Context()); got != "" || err != nil {
		t.Errorf("without a login: %q, %v", got, err)
	}
	if err := a.Set(t.Context(), &oauth.Record{Access: "good"}); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Token(t.Context()); got != "good" || err != nil {
		t.Errorf("a token without an end: %q, %v", got, err)
	}
	if got, err := a.Renew(t.Context(), "good"); got != "" || err != nil {
		t.Errorf("renewed without a way to: %q, %v", got, err)
	}
	if got, err := a.Renew(t.Context(), "another"); got != "good" || err != nil {
		t.Errorf("what was refused is not what we have: %q, %v", got, err)
	}
}

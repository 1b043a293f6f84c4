package document_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"callgate/internal/document"
	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/internal/storage/storagetest"
	"callgate/tool"
)

func openStore(t testing.TB) document.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
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

// scopedDriver is a driver whose documents are those of one scope.
type scopedDriver struct{ storage.Driver }

func (d scopedDriver) Stores() storage.Stores {
	s := d.Driver.Stores()
	s.Documents = document.Scoped(s.Documents, "mine")
	return s
}

// A store of a scope is a store like any other.
func TestScopedConformance(t *testing.T) {
	storagetest.Documents(t, func(t *testing.T, place string) storage.Driver {
		db, err := sqlite.Open(t.Context(), filepath.Join(place, "state.db"))
		if err != nil {
			t.Fatal(err)
		}
		return scopedDriver{db}
	})
}

// No name of a collection leads out of its scope.
func TestScopesAreApart(t *testing.T) {
	all := openStore(t)
	names := []string{"c", "/c", "../theirs/c", "theirs/c", "", "%2F"}
	for _, scope := range []string{"theirs", "mine", "mine/theirs"} {
		s := document.Scoped(all, scope)
		for _, name := range names {
			_, err := s.Write(t.Context(), document.Change{Collection: name, Key: "k", Data: []byte(scope + name)})
			if want := map[bool]tool.Kind{true: tool.Invalid}[name == ""]; tool.KindOf(err) != want {
				t.Fatalf("%q in %q: %v", name, scope, err)
			}
		}
	}
	if _, err := all.Write(t.Context(), document.Change{Collection: "trust", Key: "k", Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"theirs", "mine", "mine/theirs"} {
		s := document.Scoped(all, scope)
		for _, name := range names {
			got, err := s.Get(t.Context(), name, "k")
			if name == "" {
				if tool.KindOf(err) != tool.NotFound {
					t.Errorf("no name in %q: %v", scope, err)
				}
				continue
			}
			if err != nil || string(got.Data) != scope+name || got.Collection != name {
				t.Errorf("%q in %q holds %q of %q, %v", name, scope, got.Data, got.Collection, err)
			}
			list, err := s.List(t.Context(), name, "", "", 0)
			if err != nil || len(list) != 1 || list[0].Collection != name {
				t.Errorf("%q in %q lists %v, %v", name, scope, list, err)
			}
		}
		if _, err := s.Get(t.Context(), "trust", "k"); tool.KindOf(err) != tool.NotFound {
			t.Errorf("%q reaches a collection outside: %v", scope, err)
		}
	}
}

func TestJoin(t *testing.T) {
	for want, parts := range map[string][]string{
		"ada/engine/session/s1": {"ada", "engine", "session", "s1"},
		"a%2Fb/c":               {"a/b", "c"},
		"a/b%2Fc":               {"a", "b/c"},
		"a%252Fb":               {"a%2Fb"},
		"/":                     {"", ""},
		"%C3%A9/%00/%FF":        {"é", "\x00", "\xff"},
		"%7E":                   {"~"},
	} {
		if got := document.Join(parts...); got != want {
			t.Errorf("%q is joined as %q, want %q", parts, got, want)
		}
	}
	long := strings.Repeat("x", 500)
	a, b := document.Join(long+"a", "y"), document.Join(long+"b", "y")
	if a == b || len(a) > 130 || !strings.HasPrefix(a, "xxxx") || !strings.HasSuffix(a, "/y") {
		t.Errorf("long parts are joined as %q and %q", a, b)
	}
}

// Two lists of parts have two names, and each is a name that a store takes.
func FuzzJoin(f *testing.F) {
	f.Add("a", "b", "a/b", "")
	f.Add("%2F", "~", "/", "\x00")
	f.Add(strings.Repeat("é", 300), "x", strings.Repeat("é", 301), "x")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		x, y := document.Join(a, b), document.Join(c, d)
		if same := a == c && b == d; (x == y) != same {
			t.Errorf("%q, %q and %q, %q are joined as %q and %q", a, b, c, d, x, y)
		}
		four := document.Join(a, b, c, d)
		change := document.Change{Collection: four, Key: x}
		if err := document.Check([]document.Change{change}); err != nil || !utf8.ValidString(four) {
			t.Errorf("%q: %v", four, err)
		}
	})
}

// Writers that use Update lose nothing, however many there are.
func TestUpdate(t *testing.T) {
	s := openStore(t)
	var wg sync.WaitGroup
	const writers, each = 6, 10
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := addLetter(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := s.Get(t.Context(), "c", "k")
	if err != nil || len(got.Data) != writers*each {
		t.Errorf("%d letters are kept, %v", len(got.Data), err)
	}
}

func addLetter(ctx context.Context, s document.Store) (int64, error) {
	return document.Update(ctx, s, func() ([]document.Change, error) {
		now, err := s.Get(ctx, "c", "k")
		if err != nil && tool.KindOf(err) != tool.NotFound {
			return nil, err
		}
		data := append(bytes.Clone(now.Data), 'x')
		return []document.Change{{Collection: "c", Key: "k", If: now.Version, Data: data}}, nil
	})
}

// faster is a store in which another writer is always faster.
type faster struct{ document.Store }

func (faster) Write(context.Context, ...document.Change) (int64, error) {
	return 0, tool.Errorf("test", tool.Conflict, "another writer was faster")
}

func TestUpdateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		change := []document.Change{{Collection: "c", Key: "k", Data: []byte("x")}}
		n := 0
		attempt := func() ([]document.Change, error) { n++; return change, nil }
		if _, err := document.Update(t.Context(), faster{}, attempt); tool.KindOf(err) != tool.Conflict || n != 100 {
			t.Errorf("after %d attempts: %v", n, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := document.Update(ctx, faster{}, attempt); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("out of time: %v", err)
		}
		nothing := func() ([]document.Change, error) { return nil, nil }
		if v, err := document.Update(t.Context(), faster{}, nothing); v != 0 || err != nil {
			t.Errorf("nothing to write: %d, %v", v, err)
		}
		mine := tool.Errorf("test", tool.Conflict, "another thing")
		refuse := func() ([]document.Change, error) { return change, mine }
		if _, err := document.Update(t.Context(), faster{}, refuse); err != error(mine) {
			t.Errorf("a Conflict of the caller: %v", err)
		}
	})
}

func TestListAll(t *testing.T) {
	s := openStore(t)
	var changes []document.Change
	for n := range 2*document.MaxList + 1 {
		changes = append(changes, document.Change{Collection: "c", Key: fmt.Sprintf("k%05d", n), Data: []byte("x")})
	}
	changes = append(changes, document.Change{Collection: "c", Key: "other", Data: []byte("x")})
	if _, err := s.Write(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
	all, err := document.ListAll(t.Context(), s, "c", "k")
	if err != nil || len(all) != 2*document.MaxList+1 || all[2*document.MaxList].Key != "k02000" {
		t.Errorf("%d documents, %v", len(all), err)
	}
	if all, err := document.ListAll(t.Context(), s, "c", "none"); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

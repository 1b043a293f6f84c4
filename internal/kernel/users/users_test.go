package users_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/document"
	"callgate/internal/kernel/users"
	"callgate/internal/storage/sqlite"
	"callgate/internal/token"
)

func open(t *testing.T) document.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
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

// Who was seen stays known, as they were seen last.
func TestDirectory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := open(t)
		d := users.New(docs)
		saw := func(p token.Person) {
			t.Helper()
			if err := d.Saw(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		saw(token.Person{})
		if any, err := d.Any(t.Context()); any || err != nil {
			t.Errorf("the kernel's own user is one of them: %v", err)
		}
		saw(token.Person{User: "bob"})
		saw(token.Person{User: "ada", Teams: []string{"ops"}})
		begun := time.Now().UTC().Truncate(24 * time.Hour)
		<-time.After(49 * time.Hour)
		saw(token.Person{User: "ada", FullName: "Ada", Teams: []string{"ops", "research"}})
		for name, d := range map[string]*users.Directory{"the same": d, "the next kernel's": users.New(docs)} {
			list, err := d.List(t.Context())
			if err != nil || len(list) != 2 || list[0].User != "ada" || list[1].User != "bob" {
				t.Fatalf("%s: %+v, %v", name, list, err)
			}
			if a := list[0]; a.FullName != "Ada" || len(a.Teams) != 2 || !a.First.Equal(begun) || !a.Last.After(a.First) {
				t.Errorf("%s: ada is %+v", name, a)
			}
		}
	})
}

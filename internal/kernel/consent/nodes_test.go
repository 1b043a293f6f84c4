package consent_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"callgate/internal/document"
	"callgate/internal/kernel/consent"
	"callgate/internal/storage/sqlite"
)

// openDocuments opens documents that several consents share.
func openDocuments(t *testing.T) document.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db.Stores().Documents
}

// nodeConsents are those of a node.
func nodeConsents(docs document.Store, name string, store accepted) *consent.Consents {
	c := consent.New(store)
	c.Among(consent.Nodes{Documents: docs, ID: "id of " + name, Name: name, Several: name != "alone"})
	return c
}

// expectOwner checks whose an ID is for a file, and whether what its agents remember is one at all nodes.
func expectOwner(t *testing.T, c *consent.Consents, id, file string, written bool, owner, own string, shared bool) {
	t.Helper()
	gotOwner, gotOwn, err := c.Owner(id, file, written)
	if err != nil || gotOwner != owner || gotOwn != own {
		t.Errorf("%s for %s belongs to %q, here %q, %v; want %q, %q", id, file, gotOwner, gotOwn, err, owner, own)
	}
	if got, err := c.IsShared(id); err != nil || got != shared {
		t.Errorf("%s is shared: %v, %v", id, got, err)
	}
}

// An ID that a file writes belongs to one file among all nodes, and one of a folder to its node.
func TestOwnerAmongNodes(t *testing.T) {
	docs := openDocuments(t)
	a, b := nodeConsents(docs, "a", accepted{}), nodeConsents(docs, "b", accepted{})
	expectOwner(t, a, "notes", "/x/notes.yaml", true, "/x/notes.yaml", "", true)
	expectOwner(t, a, "notes", "/y/notes.yaml", true, "/x/notes.yaml", "", true)
	for _, file := range []string{"/x/notes.yaml", "/y/notes.yaml"} {
		expectOwner(t, b, "notes", file, true, "a:/x/notes.yaml", "", true)
	}
	expectOwner(t, b, "notes", "/notes", false, "a:/x/notes.yaml", "", true)
	for _, c := range []*consent.Consents{a, b} {
		expectOwner(t, c, "work", "/work", false, "/work", "/work", false)
		expectOwner(t, c, "work", "/file.yaml", true, "/work", "/work", false)
	}
	one, err := a.IsShared(a.OwnID("notes", "/x"))
	two, other := b.IsShared(b.OwnID("notes", "/x"))
	if one || two || err != nil || other != nil {
		t.Errorf("an ID that a file was given for itself is shared: %v %v, %v %v", one, two, err, other)
	}
}

// What a kernel had before it was one of several it has for all, or for itself if another was first, until a human
// accepts that both are one.
func TestOwnerOfBefore(t *testing.T) {
	docs, mine, theirs := openDocuments(t), accepted{}, accepted{}
	for _, store := range []accepted{mine, theirs} {
		expectOwner(t, nodeConsents(docs, "alone", store), "notes", "/x", true, "/x", "/x", false)
	}
	a, b := nodeConsents(docs, "a", mine), nodeConsents(docs, "b", theirs)
	expectOwner(t, a, "notes", "/x", true, "/x", "", true)
	expectOwner(t, b, "notes", "/x", true, "a:/x", "/x", false)
	expectOwner(t, b, "notes", "/y", true, "/x", "/x", false)
	if err := b.Join("notes"); err != nil {
		t.Fatal(err)
	}
	expectOwner(t, b, "notes", "/x", true, "a:/x", "", true)
}

// Of many files that write an ID at once, one has it.
func TestOneOwnerOfMany(t *testing.T) {
	docs := openDocuments(t)
	var wg sync.WaitGroup
	owners := make([]string, 16)
	for i := range owners {
		c := nodeConsents(docs, string(rune('a'+i)), accepted{})
		wg.Go(func() {
			owner, _, err := c.Owner("notes", "/x", true)
			if err != nil {
				t.Error(err)
			}
			owners[i] = owner
		})
	}
	wg.Wait()
	var has []string
	for _, owner := range owners {
		if owner == "/x" {
			has = append(has, owner)
		}
	}
	if len(has) != 1 {
		t.Errorf("the owners are %q", owners)
	}
}

// unread is documents that cannot be read.
type unread struct{ document.Store }

func (unread) Get(context.Context, string, string) (document.Document, error) {
	return document.Document{}, errors.New("no database")
}

// Where it cannot be found out whose an ID is, nobody has it.
func TestOwnerThatCannotBeRead(t *testing.T) {
	c := nodeConsents(unread{}, "a", accepted{})
	if owner, _, err := c.Owner("notes", "/x", true); err == nil {
		t.Errorf("it belongs to %s", owner)
	}
	if _, err := c.IsShared("notes"); err == nil {
		t.Error("it is known whether it is shared")
	}
}

package toolcache_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
)

func defs(names ...string) []translate.Definition {
	var list []translate.Definition
	for _, n := range names {
		list = append(
			list,
			translate.Definition{Name: n, Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`)},
		)
	}
	return list
}

func TestStoredAndLoaded(t *testing.T) {
	t.Parallel()
	c := toolcache.Cache(filepath.Join(t.TempDir(), "new", "folder"))
	if m, err := c.Load("k"); m != nil || err != nil {
		t.Errorf("from nothing came %v, %v", m, err)
	}
	m := toolcache.New(append(defs("b", "a", "a"), translate.Definition{Name: "c"}), nil)
	m.Key = "k"
	if err := c.Store(m); err != nil {
		t.Fatal(err)
	}
	got, err := c.Load("k")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Error(diff)
	}
	if len(got.Tools) != 3 || got.Tools[0].Name != "a" || !got.Tools[0].Typed || string(got.Tools[2].InputSchema()) != `{"type":"object"}` {
		t.Errorf("tools %+v", got.Tools)
	}
	if len(got.Notes) != 1 || got.Notes[0].String() != "tool a: the server lists it twice; the first one counts" ||
		len(got.Tools[2].Notes) != 1 {
		t.Errorf("notes %v, %v", got.Notes, got.Tools[2].Notes)
	}
	left, err := os.ReadDir(string(c))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestSameTools(t *testing.T) {
	t.Parallel()
	a, b := toolcache.New(defs("x", "y"), nil), toolcache.New(defs("y", "x"), nil)
	if !a.SameTools(b) {
		t.Error("the order of a list counts")
	}
	if a.SameTools(toolcache.New(defs("x"), nil)) || a.SameTools(nil) {
		t.Error("different lists are the same")
	}
	b.Prompts = true
	if a.SameTools(b) {
		t.Error("prompts that are new go unnoticed")
	}
	refused := toolcache.New(defs("x", "y"), func(json.RawMessage) error { return errors.New("no") })
	if a.SameTools(refused) {
		t.Error("another judgement of schemas goes unnoticed")
	}
}

func TestLegacySince(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    *toolcache.Listing
		want bool
	}{
		{nil, false},
		{&toolcache.Listing{}, false},
		{&toolcache.Listing{Legacy: time.Now()}, true},
		{&toolcache.Listing{Legacy: time.Now().Add(-8 * 24 * time.Hour)}, false},
	} {
		if got := !c.m.LegacySince().IsZero(); got != c.want {
			t.Errorf("%+v: %v", c.m, got)
		}
	}
}

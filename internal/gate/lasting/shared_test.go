package lasting_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/lasting"
	"callgate/tool"
)

// openNode opens the grants of one of several nodes, for an account. The app notes is one at all nodes.
func openNode(t testing.TB, docs document.Store, account string) *lasting.Store {
	t.Helper()
	s, problems, err := lasting.Open(t.Context(), docs, lasting.Nodes{
		Several: true, Account: account, IsShared: func(app string) (bool, error) { return app == "notes", nil },
	})
	ok(t, err)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// of is a call of an app.
func of(app string, c *lasting.Call) *lasting.Call {
	c.App = app
	return c
}

func everyNode(name, match string) lasting.Grant {
	g := pattern(name, "", match)
	g.App = "notes"
	return g
}

// A yes for an app at every node counts at all of them for that app and that account, and nowhere once it is revoked.
func TestEveryNode(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	a, b, other := openNode(t, docs, "ada"), openNode(t, docs, "ada"), openNode(t, docs, "ben")
	g, err := a.Add(t.Context(), everyNode("web.fetch", `{"url":"https://x.example/*"}`))
	ok(t, err)
	fetch := func(app string) *lasting.Call {
		return of(app, call("web.fetch", "/any", `{"url":"https://x.example/1"}`))
	}
	brought := fetch("notes")
	brought.AppFile = "/here/callgate.yaml"
	for name, c := range map[string]struct {
		at   *lasting.Store
		call *lasting.Call
		want int
	}{
		"at the node": {a, fetch("notes"), 1}, "at another": {b, fetch("notes"), 1},
		"another app": {b, fetch("other"), 0}, "no app": {a, fetch(""), 0},
		"another account":    {other, fetch("notes"), 0},
		"an app's own tool":  {b, brought, 0},
		"another call":       {b, of("notes", call("web.fetch", "/any", `{"url":"https://y.example/1"}`)), 0},
		"another tool's":     {b, of("notes", call("web.post", "/any", `{"url":"https://x.example/1"}`)), 0},
		"of the same app, b": {b, of("notes", call("web.fetch", "/else", `{"url":"https://x.example/2"}`)), 1},
	} {
		if found := c.at.Find(t.Context(), c.call); len(found) != c.want {
			t.Errorf("%s: %d grants, want %d", name, len(found), c.want)
		}
	}
	waiting := b.Find(t.Context(), fetch("notes"))
	if !b.Counts(t.Context(), waiting) {
		t.Error("it does not count at the other node")
	}
	for i, s := range []*lasting.Store{a, b, b} {
		s.Used(g.ID, "call-"+string(rune('a'+i)))
		ok(t, s.Flush(t.Context()))
	}
	ok(t, a.Reload(t.Context()))
	if got, err := a.Get(g.ID); err != nil || got.Uses.Count != 3 || len(got.Uses.Calls) != 3 {
		t.Errorf("after three uses it is %+v, %v", got, err)
	}
	if len(other.List()) != 0 {
		t.Error("another account is shown it")
	}
	if err := other.Revoke(t.Context(), g.ID); tool.KindOf(err) != tool.NotFound {
		t.Errorf("another account revokes it: %v", err)
	}
	ok(t, a.Revoke(t.Context(), g.ID))
	if b.Counts(t.Context(), waiting) || len(b.Find(t.Context(), fetch("notes"))) > 0 {
		t.Error("it counts at the other node after it was revoked")
	}
	b.Used(g.ID, "late")
	ok(t, b.Flush(t.Context()))
	if again := openNode(t, docs, "ada"); len(again.List()) != 0 {
		t.Error("a late use brought it back")
	}
}

// An app that is not one at all nodes has no such grant, and one names no folder.
func TestEveryNodeRefused(t *testing.T) {
	t.Parallel()
	s := openNode(t, documents(t), "ada")
	foreign, folder := everyNode("a.b", `{}`), everyNode("a.b", `{}`)
	foreign.App, folder.Folder = "other", "/here"
	alone := open(t, documents(t))
	for name, err := range map[string]error{
		"another app": second(s.Add(t.Context(), foreign)), "a folder": second(s.Add(t.Context(), folder)),
		"alone": second(alone.Add(t.Context(), everyNode("a.b", `{}`))),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// broken is a store of documents that can be away.
type broken struct {
	document.Store
	mu   sync.Mutex
	away bool
}

func (b *broken) Get(ctx context.Context, collection, key string) (document.Document, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return document.Document{}, errors.New("the database is away")
	}
	return b.Store.Get(ctx, collection, key)
}

// What cannot be compared does not count; what is of this node does.
func TestEveryNodeWithoutDatabase(t *testing.T) {
	t.Parallel()
	docs := &broken{Store: documents(t)}
	s := openNode(t, docs, "ada")
	_, err := s.Add(t.Context(), everyNode("web.fetch", `{"url":"a*"}`))
	ok(t, err)
	_, err = s.Add(t.Context(), pattern("web.fetch", "", `{"url":"b*"}`))
	ok(t, err)
	found := s.Find(t.Context(), of("notes", call("web.fetch", "/x", `{"url":"a1"}`)))
	docs.mu.Lock()
	docs.away = true
	docs.mu.Unlock()
	if s.Counts(t.Context(), found) || len(s.Find(t.Context(), of("notes", call("web.fetch", "/x", `{"url":"a1"}`)))) > 0 {
		t.Error("it counts, though nobody knows whether it was revoked")
	}
	if len(s.Find(t.Context(), of("notes", call("web.fetch", "/x", `{"url":"b1"}`)))) != 1 {
		t.Error("what is of this node counts no more")
	}
}

// Which calls a human may say yes to at every node: those that name nothing of a machine.
func TestChoicesForEveryNode(t *testing.T) {
	t.Parallel()
	s := openNode(t, documents(t), "ada")
	for args, want := range map[string]bool{
		`{"command":"git log -3"}`:                           true,
		`{"url":"https://x.example/a/../b"}`:                 true,
		`{"path":"src/a"}`:                                   true,
		`{"command":"cat /etc/passwd"}`:                      false,
		`{"command":"cat ../x"}`:                             false,
		`{"command":"ls ~/x"}`:                               false,
		`{"command":"ls $HOME/x"}`:                           false,
		`{"command":"dd of=/dev/sda"}`:                       false,
		`{"url":"file:///etc/passwd"}`:                       false,
		`{"path":"C:\\x"}`:                                   false,
		`{"headers":{"cookie":["/srv/x"]},"url":"http://x"}`: false,
	} {
		c := of("notes", call("demo.run", "/here", args))
		choices := s.AtEveryNode(c, lasting.Choices(c))
		i := slices.IndexFunc(choices, func(one approval.Choice) bool { return one.App == "notes" })
		if (i >= 0) != want {
			t.Errorf("%s: %+v", args, choices)
		}
		if i >= 0 && (!strings.HasSuffix(choices[i].Text, ", in the app notes at every node") || choices[i].IsHere()) {
			t.Errorf("%s is offered as %+v", args, choices[i])
		}
		if more := s.AtEveryNode(of("other", c), lasting.Choices(c)); len(more) != len(lasting.Choices(c)) {
			t.Errorf("%s is offered to an app that is of this node", args)
		}
	}
}

package lasting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/document"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/match"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func documents(t testing.TB) document.Store {
	t.Helper()
	db, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "a.db"))
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db.Stores().Documents
}

func open(t testing.TB, docs document.Store) *lasting.Store {
	t.Helper()
	s, problems, err := lasting.Open(context.Background(), docs, lasting.Nodes{})
	ok(t, err)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

// call is a call of a tool in a folder.
func call(name, folder, args string) *lasting.Call {
	module, action, _ := strings.Cut(name, ".")
	c := &match.Call{Module: module, Action: action, Workspace: folder}
	if err := json.Unmarshal([]byte(args), &c.Args); err != nil {
		panic(err)
	}
	return &lasting.Call{Call: c}
}

func pattern(name, folder, match string) lasting.Grant {
	return lasting.Grant{Tool: name, Folder: folder, Text: match, Match: json.RawMessage(match)}
}

func exact(t testing.TB, name, folder, args string) lasting.Grant {
	t.Helper()
	form, err := json.Marshal(match.ExactCall(call(name, folder, args).Call).Map())
	ok(t, err)
	return lasting.Grant{Tool: name, Folder: folder, Text: args, Match: form, Exact: true}
}

// Which grants cover a call: by tool, folder, app and arguments.
func TestFind(t *testing.T) {
	t.Parallel()
	s := open(t, documents(t))
	fromApp := pattern("team.x", "/here", `{"a":"1*"}`)
	fromApp.AppFile = "/here/callgate.yaml"
	for _, g := range []lasting.Grant{
		pattern("shell.bash", "/here", `{"command":"git log *"}`), pattern("shell.bash", "", `{"command":"ls *"}`),
		exact(t, "web.fetch", "/here", `{"url":"x","n":1}`), fromApp, pattern("team.x", "", `{"a":"2*"}`),
	} {
		_, err := s.Add(t.Context(), g)
		ok(t, err)
	}
	of := func(appFile string, c *lasting.Call) *lasting.Call {
		c.AppFile = appFile
		return c
	}
	for _, c := range []struct {
		call *lasting.Call
		want int // grants that cover it together
	}{
		{call("shell.bash", "/here", `{"command":"git log -1"}`), 1},
		{call("shell.bash", "/here", `{"command":"git log -1 && ls -l"}`), 2}, // each a part
		{call("shell.bash", "/here", `{"command":"git log -1 && rm x"}`), 0},
		{call("shell.bash", "/there", `{"command":"git log -1"}`), 0},
		{call("shell.bash", "/here/below", `{"command":"git log -1"}`), 0},
		{call("shell.bash", "/there", `{"command":"ls a"}`), 1},
		{call("shell.other", "/here", `{"command":"ls a"}`), 0},
		{call("web.fetch", "/here", `{"n":1,"url":"x"}`), 1},
		{call("web.fetch", "/here", `{"n":2,"url":"x"}`), 0},
		{call("web.fetch", "/here", `{"n":1,"url":"x","more":true}`), 0},
		{call("team.x", "/here", `{"a":"1b"}`), 0}, // the kernel's tool of that name, not the app's
		{of("/here/callgate.yaml", call("team.x", "/here", `{"a":"1b"}`)), 1},
		{of("/here/other.yaml", call("team.x", "/here", `{"a":"1b"}`)), 0},
		{of("/here/callgate.yaml", call("team.x", "/here", `{"a":"2b"}`)), 0}, // everywhere is not for an app's tools
		{call("team.x", "/there", `{"a":"2b"}`), 1},
	} {
		if found := s.Find(context.Background(), c.call); len(found) != c.want {
			t.Errorf("%s in %s with %v, of %q: %d grants, want %d", c.call.Action, c.call.Workspace, c.call.Args,
				c.call.AppFile, len(found), c.want)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, documents(t))
	everywhere := pattern("team.x", "", `{}`)
	everywhere.AppFile = "/here/callgate.yaml"
	ended := pattern("team.x", "", `{}`)
	ended.Until = time.Now().Add(-time.Second)
	for name, g := range map[string]lasting.Grant{
		"no tool": pattern("", "", `{}`), "no pattern": {Tool: "a.b"}, "not JSON": pattern("a.b", "", `{`),
		"an app's tool everywhere": everywhere, "a past end": ended, "a broken pattern": pattern("a.b", "", `{"n":{"min":"x"}}`),
	} {
		if _, err := s.Add(t.Context(), g); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list := s.List(); len(list) > 0 {
		t.Errorf("kept: %v", list)
	}
}

// Uses are counted at once and written behind, at the latest by Close.
func TestUsesAreWrittenBehind(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	s := open(t, docs)
	g, err := s.Add(t.Context(), pattern("a.b", "", `{}`))
	ok(t, err)
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() { s.Used(g.ID, fmt.Sprint("c", i)) })
	}
	calls.Wait()
	s.Used("no-such", "c1")
	if got, err := s.Get(g.ID); err != nil || got.Uses.Count != 50 || len(got.Uses.Calls) != 20 {
		t.Errorf("%+v, %v", got.Uses, err)
	}
	ok(t, s.Close())
	again := open(t, docs)
	got, err := again.Get(g.ID)
	ok(t, err)
	if got.Uses.Count != 50 || len(got.Uses.Calls) != 20 || got.Uses.Last.IsZero() {
		t.Errorf("after Close: %+v", got.Uses)
	}
	again.Used(g.ID, "c51") // its document has another version now
	ok(t, again.Close())
	ok(t, open(t, docs).Revoke(t.Context(), g.ID))
	if list := open(t, docs).List(); len(list) != 0 {
		t.Errorf("revoked, and still there: %v", list)
	}
}

func TestEndDate(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	synctest.Test(t, func(t *testing.T) {
		s, _, err := lasting.Open(context.Background(), docs, lasting.Nodes{})
		ok(t, err)
		short, long := pattern("a.b", "", `{"x":"1"}`), pattern("a.b", "", `{"x":"2"}`)
		short.Until, long.Until = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
		for _, g := range []lasting.Grant{short, long} {
			_, err := s.Add(t.Context(), g)
			ok(t, err)
		}
		covered := func() []bool {
			return []bool{len(s.Find(context.Background(), call("a.b", "/", `{"x":"1"}`))) > 0, len(s.Find(context.Background(), call("a.b", "/", `{"x":"2"}`))) > 0}
		}
		for _, want := range [][]bool{{true, true}, {false, true}, {false, false}} {
			if got := covered(); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			<-time.After(time.Hour)
		}
	})
}

// A grant that cannot be read covers nothing, and stops nobody.
func TestUnreadableGrantIsLeftOut(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	s := open(t, docs)
	_, err := s.Add(t.Context(), pattern("a.b", "", `{}`))
	ok(t, err)
	_, err = docs.Write(t.Context(), document.Change{Collection: "lasting_grants", Key: "g1", Data: []byte(`{"id":`)})
	ok(t, err)
	again, problems, err := lasting.Open(t.Context(), docs, lasting.Nodes{})
	if err != nil || len(problems) != 1 || len(again.List()) != 1 {
		t.Errorf("%d grants, problems %v, %v", len(again.List()), problems, err)
	}
}

func TestRevokeIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := open(t, documents(t))
	g, err := s.Add(t.Context(), pattern("a.b", "", `{}`))
	ok(t, err)
	if err := s.Revoke(t.Context(), g.ID, "no-such"); tool.KindOf(err) != tool.NotFound || len(s.List()) != 1 {
		t.Errorf("%v, %d left", err, len(s.List()))
	}
	ok(t, s.Revoke(t.Context(), g.ID))
	if found := s.Find(context.Background(), call("a.b", "/", `{}`)); len(found) > 0 {
		t.Errorf("revoked, and it covers a call: %v", found)
	}
}

func TestCheckNumbers(t *testing.T) {
	t.Parallel()
	for args, fine := range map[string]bool{
		`{}`: true, `{"a":1.5,"b":[-3,{"c":9007199254740991}]}`: true, `{"a":9007199254740993}`: false,
		`{"a":[{"b":-1e300}]}`: false, `{"a":1e999}`: false, ``: true,
	} {
		if err := lasting.CheckNumbers(json.RawMessage(args)); (err == nil) != fine {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// BenchmarkFind looks calls up among 5,000 grants: 3,000 exact calls and 500
// commands in one folder, and 1,500 patterns in fifty others and everywhere.
func BenchmarkFind(b *testing.B) {
	s := open(b, documents(b))
	add := func(g lasting.Grant) {
		_, err := s.Add(b.Context(), g)
		ok(b, err)
	}
	for i := range 3000 {
		add(exact(b, "web.fetch", "/here", fmt.Sprintf(`{"url":"https://example.com/%d","n":%d}`, i, i)))
	}
	for i := range 500 {
		add(pattern("shell.bash", "/here", fmt.Sprintf(`{"command":"program%d run *"}`, i)))
	}
	for i := range 1500 {
		add(pattern("filesystem.write", fmt.Sprintf("/f%d", i%75), fmt.Sprintf(`{"path":"src/part%d/**"}`, i)))
	}
	for _, bench := range []struct {
		name string
		call *lasting.Call
		want int
	}{
		{"exact", call("web.fetch", "/here", `{"url":"https://example.com/2999","n":2999}`), 1},
		{"exact, none", call("web.fetch", "/here", `{"url":"https://example.com/x","n":1}`), 0},
		{"command", call("shell.bash", "/here", `{"command":"program499 run -v"}`), 1},
		{"command, none", call("shell.bash", "/here", `{"command":"git push"}`), 0},
		{"path of 20", call("filesystem.write", "/f7", `{"path":"src/part1432/a.go"}`), 1},
		{"another folder", call("filesystem.write", "/here", `{"path":"src/part1432/a.go"}`), 0},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(s.Find(context.Background(), bench.call)) != bench.want {
					b.Fatal("wrong")
				}
			}
		})
	}
}

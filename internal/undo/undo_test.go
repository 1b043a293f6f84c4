package undo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/undo"
	"callgate/tool"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a workspace and a store.
type place struct {
	store     *undo.Store
	dir       string
	workspace string
	grant     tool.Grant
	calls     int
	user      string // of the next call
}

func newPlace(t testing.TB, l undo.Limits) *place {
	t.Helper()
	return newPlaceWith(t, undo.Options{Limits: l})
}

func newPlaceWith(t testing.TB, o undo.Options) *place {
	t.Helper()
	p := &place{dir: filepath.Join(t.TempDir(), "undo")}
	var err error
	p.workspace, err = filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	root, err := os.OpenRoot(p.workspace)
	ok(t, err)
	t.Cleanup(func() { _ = root.Close() })
	p.grant = tool.Grant{Workspace: p.workspace, Root: root}
	p.store = undo.Open(p.dir, o)
	return p
}

var writing = &tool.Tool{
	ID: tool.ID{Namespace: "test", Name: "put"},
	Runtime: tool.Runtime{
		SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
	},
}

// call is a call of a session that does something to files.
func (p *place) call(ctx context.Context, t testing.TB, session string, do func(), paths ...string) string {
	t.Helper()
	args, err := json.Marshal(map[string][]string{"path": paths})
	ok(t, err)
	p.calls++
	id := fmt.Sprintf("c%d", p.calls)
	after := p.store.Before(ctx, tool.Call{ID: id, Principal: tool.Principal{User: p.user, Session: session}, Args: args}, writing, p.grant)
	do()
	after()
	return id
}

func (p *place) write(t testing.TB, name, text string) func() {
	return func() {
		t.Helper()
		ok(t, os.MkdirAll(filepath.Dir(filepath.Join(p.workspace, name)), 0o700))
		ok(t, os.WriteFile(filepath.Join(p.workspace, name), []byte(text), 0o600))
	}
}

func (p *place) entries(t testing.TB) []undo.Entry {
	t.Helper()
	all, err := p.store.Entries(t.Context())
	ok(t, err)
	return all
}

// names are the calls that are kept.
func (p *place) names(t testing.TB) string {
	t.Helper()
	var names []string
	for _, e := range p.entries(t) {
		names = append(names, e.Call)
	}
	return strings.Join(names, " ")
}

// contents counts the contents that are kept.
func (p *place) contents(t testing.TB) (n int) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(p.dir, "contents", "*", "*"))
	ok(t, err)
	return len(all)
}

// What is too old goes, with its content, and what is not stays. So does what a person
// prunes.
func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, undo.Limits{Age: 24 * time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		p.write(t, "a", "one")()
		p.call(ctx, t, "s1", p.write(t, "a", "two"), "a")
		kept := make(chan struct{})
		go func() {
			defer close(kept)
			p.store.Keep(ctx)
		}()
		<-time.After(20 * time.Hour)
		p.call(ctx, t, "s1", p.write(t, "a", "three"), "a")
		p.call(ctx, t, "s2", p.write(t, "b", "three"), "b")
		synctest.Wait()
		if got := p.names(t); got != "c1 c2 c3" || p.contents(t) != 2 {
			t.Errorf("after 20 hours: %s, %d contents", got, p.contents(t))
		}
		<-time.After(6 * time.Hour)
		synctest.Wait()
		if got := p.names(t); got != "c2 c3" || p.contents(t) != 1 {
			t.Errorf("after 26 hours: %s, %d contents", got, p.contents(t))
		}
		cancel()
		<-kept
		pruned, err := p.store.Prune(t.Context(), time.Now().Add(time.Second))
		ok(t, err)
		if got := p.names(t); got != "" || pruned.Calls != 2 || pruned.Bytes != 3 || p.contents(t) != 0 {
			t.Errorf("pruned: %s, %+v, %d contents", got, pruned, p.contents(t))
		}
	})
}

// A call that still runs can be undone when it has ended, whatever is pruned meanwhile.
func TestPruningKeepsRunningCalls(t *testing.T) {
	t.Parallel()
	p := newPlace(t, undo.Limits{Age: 24 * time.Hour})
	p.write(t, "a", "one")()
	p.call(t.Context(), t, "s", func() {
		p.write(t, "a", "two")()
		_, err := p.store.Prune(t.Context(), time.Now().Add(time.Second))
		ok(t, err)
	}, "a")
	if all := p.entries(t); len(all) != 1 || len(all[0].Files) != 1 {
		t.Errorf("kept: %+v", all)
	}
}

// Of what is too much, the oldest goes: of a session first, then of all.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, undo.Limits{File: 100, Session: 250, Total: 400})
		for i := range 8 {
			name := fmt.Sprintf("f%d", i)
			p.write(t, name, strings.Repeat(fmt.Sprint(i), 100))()
			p.call(t.Context(), t, fmt.Sprintf("s%d", i%2), p.write(t, name, "new"), name)
			<-time.After(time.Minute)
		}
		<-time.After(time.Hour)
		pruned, err := p.store.Prune(t.Context(), time.Time{})
		ok(t, err)
		if got := p.names(t); got != "c5 c6 c7 c8" || pruned.Calls != 4 || pruned.Bytes != 400 {
			t.Errorf("%s is kept; %+v went", got, pruned)
		}
		for range 3 {
			p.write(t, "x", strings.Repeat("x", 100))()
			p.call(t.Context(), t, "s1", p.write(t, "x", "new"), "x")
			<-time.After(time.Minute)
		}
		_, err = p.store.Prune(t.Context(), time.Time{})
		ok(t, err)
		if got := p.names(t); got != "c5 c7 c10 c11" {
			t.Errorf("%s is kept, of 250 bytes of a session", got)
		}
	})
}

// Where several users share a kernel, none pushes out what the others have.
func TestUsersShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, undo.Limits{File: 100, Total: 400})
		change := func(user string) {
			name := fmt.Sprintf("f%d", p.calls)
			p.write(t, name, strings.Repeat(name, 100)[:100])()
			p.user = user
			p.call(t.Context(), t, "s"+user, p.write(t, name, "new"), name)
			<-time.After(time.Minute)
		}
		change("ann")
		for range 6 {
			change("bob")
		}
		<-time.After(time.Hour)
		_, err := p.store.Prune(t.Context(), time.Time{})
		ok(t, err)
		if got := p.names(t); got != "c1 c6 c7" {
			t.Errorf("%s is kept, of 200 bytes of each of two users", got)
		}
	})
}

// What is not kept is named, and why.
func TestNotKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits undo.Limits
		files  map[string]string
		paths  []string
		want   string // in the entry
	}{
		"a large file": {undo.Limits{File: 10}, map[string]string{"a": "more than ten bytes"}, []string{"a"}, "a: it has 19 bytes, and at most 10 bytes are kept"},
		"the files of a call": {
			undo.Limits{Call: 10}, map[string]string{"a": "12345678", "b": "12345678"}, []string{"a", "b"}, "b: the files of the call have more than 10 bytes",
		},
		"a large folder":  {undo.Limits{Files: 2}, map[string]string{"d/a": "", "d/b": "", "d/c": ""}, []string{"d"}, "d: there are more than 2 files in it"},
		"another folder":  {undo.Limits{}, nil, []string{"../elsewhere"}, ""},
		"nothing at all":  {undo.Limits{Off: true}, map[string]string{"a": "1"}, []string{"a"}, ""},
		"within the size": {undo.Limits{File: 10}, map[string]string{"a": "1234567890"}, []string{"a"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, c.limits)
			for name, text := range c.files {
				p.write(t, name, text)()
			}
			p.call(t.Context(), t, "s", p.write(t, "new", "x"), c.paths...)
			var got []string
			for _, e := range p.entries(t) {
				for _, f := range e.Files {
					if f.Before.Why != "" {
						got = append(got, f.Path+": "+f.Before.Why)
					}
				}
				for _, n := range e.NotKept {
					got = append(got, n.Path+": "+n.Why)
				}
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

// Nothing that is closed to tools is kept.
func TestHiddenFilesAreNotKept(t *testing.T) {
	t.Parallel()
	p := newPlace(t, undo.Limits{})
	p.write(t, "d/.ssh/id", "secret")()
	p.write(t, "d/open", "text")()
	info, err := os.Stat(filepath.Join(p.workspace, "d", ".ssh"))
	ok(t, err)
	p.grant.HiddenFiles = []os.FileInfo{info}
	p.grant.HiddenPaths = []string{filepath.Join(p.workspace, "d", ".ssh")}
	p.call(t.Context(), t, "s", func() {}, "d/.ssh/id")
	p.call(t.Context(), t, "s", func() {}, "d/.ssh")
	p.call(t.Context(), t, "s", func() {}, "d")
	p.call(t.Context(), t, "s", p.write(t, "d/open", "new"), "d/open")
	for _, e := range p.entries(t) {
		for _, f := range e.Files {
			if strings.Contains(f.Path, ".ssh") {
				t.Errorf("%s is noted", f.Path)
			}
		}
	}
	if n := p.contents(t); n != 1 {
		t.Errorf("%d contents are kept", n)
	}
}

// Neither a content with a secret in it nor a path with one is kept.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	const secret = "tr0ub4dor"
	p := newPlaceWith(t, undo.Options{Secret: func(text []byte) bool { return strings.Contains(string(text), secret) }})
	for name, text := range map[string]string{
		"plain": "x", "inside": "a " + secret, "across": strings.Repeat("x", 1<<20-4) + secret + strings.Repeat("y", 1<<20),
		"d/" + secret: "x",
	} {
		p.write(t, name, text)()
	}
	ok(t, os.Symlink(secret, filepath.Join(p.workspace, "link")))
	p.call(t.Context(), t, "s", func() {}, "plain", "inside", "across", "d", "d/"+secret, "link")
	var got []string
	e := p.entries(t)[0]
	for _, f := range e.Files {
		got = append(got, fmt.Sprintf("%s %v %s", f.Path, f.Before.Kept, f.Before.Why))
	}
	for _, n := range e.NotKept {
		got = append(got, n.Path+": "+n.Why)
	}
	const want = "plain true ; inside false it holds a secret; across false it holds a secret; d false ; " +
		"[secret]: its path holds a secret; link: its target holds a secret"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("got %q", text)
	}
	ok(t, filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	}))
}

// A content that was cut off or damaged is not taken for what it was, and is written
// again when it is wanted.
func TestDamagedContent(t *testing.T) {
	t.Parallel()
	p := newPlace(t, undo.Limits{})
	p.write(t, "a", "the content")()
	p.call(t.Context(), t, "s", p.write(t, "a", "new"), "a")
	ref := p.entries(t)[0].Files[0].Before.Ref
	path := filepath.Join(p.dir, "contents", ref[:2], ref)
	for _, damage := range []string{"the con", "the comtent", ""} {
		ok(t, os.WriteFile(path, []byte(damage), 0o600))
		if text, err := content(p.store, ref); err == nil {
			t.Errorf("damaged to %q, it reads %q", damage, text)
		}
		p.write(t, "a", "the content")()
		p.call(t.Context(), t, "s", p.write(t, "a", "new"), "a")
		if text, err := content(p.store, ref); err != nil || text != "the content" {
			t.Errorf("kept again, it reads %q, %v", text, err)
		}
	}
}

func content(s *undo.Store, ref string) (string, error) {
	r, err := s.Content(ref)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

// A log that a killed process left in half is read as far as it is whole, and goes on.
func TestHalfALine(t *testing.T) {
	t.Parallel()
	p := newPlace(t, undo.Limits{})
	p.call(t.Context(), t, "s", p.write(t, "a", "1"), "a")
	log := filepath.Join(p.dir, "calls", "s.log")
	data, err := os.ReadFile(log)
	ok(t, err)
	ok(t, os.WriteFile(log, append(data, []byte("\n{\"begun\":{\"call\":\"c9\",\"wor")...), 0o600))
	p.call(t.Context(), t, "s", p.write(t, "a", "2"), "a")
	if got := p.names(t); got != "c1 c2" {
		t.Errorf("got %s", got)
	}
	ok(t, os.WriteFile(log, data[:len(data)-10], 0o600)) // its end is cut off
	if all := p.entries(t); len(all) != 1 || !all[0].Ended.IsZero() || all[0].Files[0].After.Known() || !all[0].Files[0].Changed() {
		t.Errorf("%+v", all)
	}
}

// What is rewritten by a pruning reads as before.
func TestPruningKeepsTheRest(t *testing.T) {
	t.Parallel()
	p := newPlace(t, undo.Limits{})
	p.call(t.Context(), t, "s", func() {}, "nothing") // changes nothing
	p.write(t, "d/a", "1")()
	p.call(t.Context(), t, "s", func() { ok(t, os.RemoveAll(filepath.Join(p.workspace, "d"))) }, "d")
	p.call(t.Context(), t, "s", p.write(t, "b/c", "2"), "b/c")
	ok(t, p.store.Undid(tool.Call{ID: "c3", Principal: tool.Principal{Session: "s"}}, []string{"c2"}))
	before, err := json.Marshal(p.entries(t)[1:])
	ok(t, err)
	_, err = p.store.Prune(t.Context(), time.Time{})
	ok(t, err)
	after, err := json.Marshal(p.entries(t))
	ok(t, err)
	if string(before) != string(after) {
		t.Errorf("before %s\nafter %s", before, after)
	}
	ok(t, p.store.Forget("s"))
	ok(t, p.store.Forget("another"))
	if got := p.names(t); got != "" {
		t.Errorf("%s is left of a session that was forgotten", got)
	}
}

func TestUndone(t *testing.T) {
	t.Parallel()
	at := func(n int, call string, undoes ...string) undo.Entry {
		e := undo.Entry{Call: call, Begun: time.Unix(int64(n), 0), Ended: time.Unix(int64(n), 1), Undoes: undoes}
		return e
	}
	cut := at(2, "u", "a")
	cut.Ended = time.Time{}
	for name, c := range map[string]struct {
		entries []undo.Entry
		want    bool // a is undone
	}{
		"not":                     {[]undo.Entry{at(1, "a")}, false},
		"undone":                  {[]undo.Entry{at(1, "a"), at(2, "u", "a")}, true},
		"and done again":          {[]undo.Entry{at(1, "a"), at(2, "u", "a"), at(3, "r", "u")}, false},
		"and undone once more":    {[]undo.Entry{at(1, "a"), at(2, "u", "a"), at(3, "r", "u"), at(4, "v", "a")}, true},
		"the redo undone":         {[]undo.Entry{at(1, "a"), at(2, "u", "a"), at(3, "r", "u"), at(4, "v", "r")}, true},
		"by an undo that was cut": {[]undo.Entry{at(1, "a"), cut}, false},
		"with others":             {[]undo.Entry{at(1, "a"), at(2, "b"), at(3, "u", "b", "a")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := undo.Undone(c.entries)["a"]; got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "{File:0 Call:0 Files:0 Session:0 User:0 Total:0 Age:0s Off:false}",
		"off":                            "{File:0 Call:0 Files:0 Session:0 User:0 Total:0 Age:0s Off:true}",
		"file=1MB, age=2w":               "{File:1048576 Call:0 Files:0 Session:0 User:0 Total:0 Age:336h0m0s Off:false}",
		"file=5k call=2GB files=10":      "{File:5120 Call:2147483648 Files:10 Session:0 User:0 Total:0 Age:0s Off:false}",
		"session=100 total=1GiB age=12h": "{File:0 Call:0 Files:0 Session:100 User:0 Total:1073741824 Age:12h0m0s Off:false}",
		"file":                           "",
		"file=":                          "",
		"file=0":                         "",
		"file=-1":                        "",
		"file=1TB":                       "",
		"file=99999999GB":                "",
		"size=1MB":                       "",
		"off file=1MB":                   "",
		"age=0d":                         "",
		"age=soon":                       "",
		"files=many":                     "",
	} {
		l, err := undo.ParseLimits(text)
		switch {
		case want == "" && (err == nil || tool.KindOf(err) != tool.Invalid):
			t.Errorf("%q is taken as %+v, %v", text, l, err)
		case want != "" && (err != nil || fmt.Sprintf("%+v", l) != want):
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

func FuzzParseLimits(f *testing.F) {
	for _, text := range []string{"", "off", "file=10MB,call=1k files=3", "age=7d", "file=ıB", "=,="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := undo.ParseLimits(text)
		if err != nil && tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", text, err)
		}
		if l.File < 0 || l.Call < 0 || l.Session < 0 || l.Total < 0 || l.Files < 0 || l.Age < 0 {
			t.Errorf("%q: %+v", text, l)
		}
	})
}

package edit_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/tool"
)

var update = flag.Bool("update", false, "rewrite what comes after each edit")

const golden = "testdata/edits.txtar"

var builtin = []string{"filesystem", "shell"}

var known = app.KnownModules{"filesystem": {Config: []app.Setting{{Key: "max_bytes"}}}, "shell": {Config: []app.Setting{{Key: "network"}}}}

// example is one edit of the golden file.
type example struct {
	name, before, do, after string
	err                     string // in the place of after
}

func examples(t testing.TB) []*example {
	t.Helper()
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var all []*example
	for _, f := range archive.Files {
		name, part, _ := strings.Cut(f.Name, " | ")
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, &example{name: name})
		}
		e := all[len(all)-1]
		to := map[string]*string{"before": &e.before, "do": &e.do, "after": &e.after, "error": &e.err}[part]
		if to == nil {
			t.Fatalf("%s: there is no part %q", golden, f.Name)
		}
		*to = string(f.Data)
	}
	return all
}

// server reads a server as the golden file writes it.
func server(t testing.TB, text string) (s app.Server) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// run does what an example asks for.
func (e *example) run(t testing.TB, text string) (string, error) {
	t.Helper()
	verb, rest, _ := strings.Cut(strings.TrimSpace(e.do), " ")
	var out []byte
	var err error
	switch verb {
	case "add":
		out, err = edit.AddServer([]byte(text), server(t, rest), builtin)
	case "replace":
		out, err = edit.ReplaceServer([]byte(text), server(t, rest))
	case "remove":
		out, err = edit.RemoveServer([]byte(text), rest)
	default:
		t.Fatalf("%s: what is %q?", e.name, verb)
	}
	return string(out), err
}

func TestEdits(t *testing.T) {
	fresh := &txtar.Archive{Comment: []byte("Files before and after an edit. Rewrite what comes after with go test -update.\n\n")}
	add := func(name, part, data string) {
		fresh.Files = append(fresh.Files, txtar.File{Name: name + " | " + part, Data: []byte(data)})
	}
	for _, e := range examples(t) {
		t.Run(e.name, func(t *testing.T) {
			after, err := e.run(t, e.before)
			said := ""
			if err != nil {
				said = string(tool.KindOf(err)) + ": " + err.Error() + "\n"
				if after != "" {
					t.Errorf("an edit that failed gives a text: %q", after)
				}
				var te *tool.Error
				if !errors.As(err, &te) || te.Op == "" || te.Kind == tool.Internal {
					t.Errorf("the error is %#v", err)
				}
			}
			add(e.name, "before", e.before)
			add(e.name, "do", e.do)
			if err != nil {
				add(e.name, "error", said)
			} else {
				add(e.name, "after", after)
			}
			if *update {
				return
			}
			if diff := cmp.Diff(e.after, after); diff != "" {
				t.Errorf("after (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(e.err, said); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// forms are ways in which the same file can be written.
var forms = map[string]func(string) string{
	"carriage returns":      func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"old carriage returns":  func(s string) string { return strings.ReplaceAll(s, "\n", "\r") },
	"no newline at the end": func(s string) string { return strings.TrimSuffix(s, "\n") },
	"byte order mark":       func(s string) string { return "\ufeff" + s },
	"both": func(s string) string {
		return "\ufeff" + strings.TrimSuffix(strings.ReplaceAll(s, "\n", "\r\n"), "\r\n")
	},
}

// An edit is the same edit however the lines of the file end.
func TestForms(t *testing.T) {
	for _, e := range examples(t) {
		if e.err != "" || e.before == "" {
			continue
		}
		for name, form := range forms {
			if name == "both" && strings.Count(e.before, "\n") < 2 {
				continue // nothing tells how its lines end
			}
			after, err := e.run(t, form(e.before))
			if err != nil {
				t.Errorf("%s, %s: %v", e.name, name, err)
				continue
			}
			if want := form(e.after); after != want {
				t.Errorf("%s, %s (-want +got):\n%s", e.name, name, cmp.Diff(want, after))
			}
		}
	}
}

// What was added and is removed again leaves the file as it was, unless levels
// had to be made for it, or were empty.
func TestAddAndRemove(t *testing.T) {
	count := 0
	for _, e := range examples(t) {
		verb, rest, _ := strings.Cut(e.do, " ")
		before, err := app.Parse(app.Filename, []byte(e.before), known)
		if verb != "add" || e.err != "" || err != nil || len(before.Servers) == 0 {
			continue
		}
		count++
		back, err := edit.RemoveServer([]byte(e.after), server(t, rest).Name)
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		if diff := cmp.Diff(e.before, string(back)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.name, diff)
		}
	}
	if count < 8 {
		t.Errorf("only %d examples have a server to begin with", count)
	}
}

// A server that is replaced by itself leaves the file as it is, whatever its
// variables stand for.
func TestReplaceByItself(t *testing.T) {
	count := 0
	for _, e := range examples(t) {
		for _, text := range []string{e.before, e.after} {
			a, err := app.Parse(app.Filename, []byte(text), known)
			if err != nil {
				continue
			}
			for _, s := range a.Servers {
				count++
				got, err := edit.ReplaceServer([]byte(text), s)
				if err != nil || string(got) != text {
					t.Errorf("%s: %s: %v\n%s", e.name, s.Name, err, cmp.Diff(text, string(got)))
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d servers", count)
	}
}

// Every line of the file that is not the server's own is there after the edit.
func TestLinesStay(t *testing.T) {
	for _, e := range examples(t) {
		if e.err != "" || !strings.HasPrefix(e.do, "add") {
			continue
		}
		if lost := missing(e.before, e.after); len(lost) > 1 {
			t.Errorf("%s loses %q", e.name, lost)
		}
	}
}

// missing lists the lines of a text that do not follow each other in another.
func missing(before, after string) (lost []string) {
	rest := slices.Collect(strings.Lines(after))
	for line := range strings.Lines(before) {
		i := slices.IndexFunc(rest, func(l string) bool { return strings.TrimRight(l, "\r\n") == strings.TrimRight(line, "\r\n") })
		if i < 0 {
			lost = append(lost, line)
			continue
		}
		rest = rest[i+1:]
	}
	return lost
}

// Colons in the lists of a file do not keep a server out of it.
func TestColonsInLists(t *testing.T) {
	const file = "tools: {modules: {http: {config: {private_hosts: [localhost:13000, ::1]}}}}\n"
	text, err := edit.AddServer([]byte(file), app.Server{Name: "a", Command: "x"}, nil)
	const want = "tools: {modules: {http: {config: {private_hosts: [localhost:13000, ::1]}}, " +
		"mcp: {config: {servers: {a: {command: x}}}}}}\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestRemoveServerOfAProfile: without the server the file would be refused.
func TestRemoveServerOfAProfile(t *testing.T) {
	t.Parallel()
	const text = "tools:\n  modules:\n    mcp:\n      config:\n        servers:\n          a: {command: x}\n          b: {command: x}\n" +
		"profiles:\n  one: {servers: [a, elsewhere]}\n  two: {actions: [mcp_a.read]}\n"
	if _, err := edit.RemoveServer([]byte(text), "a"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("%v", err)
	}
	out, err := edit.RemoveServer([]byte(text), "b")
	if err != nil || strings.Contains(string(out), "b:") || !strings.Contains(string(out), "profiles:\n  one: {servers: [a, elsewhere]}") {
		t.Errorf("%v: %s", err, out)
	}
}

package file_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/channel"
	"callgate/internal/channel/file"
	"callgate/tool"
)

func message(id, text string) channel.Message {
	return channel.Message{
		ID: id, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Attempt: 1, Channel: "log", App: "shop", Text: text,
	}
}

func open(t *testing.T, o file.Options) (*file.Sender, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	o.Root = root
	return file.New(o), filepath.Join(dir, filepath.FromSlash(o.Path))
}

func send(t *testing.T, s *file.Sender, m channel.Message) {
	t.Helper()
	if err := s.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	s, path := open(t, file.Options{Path: "reports/out.jsonl"})
	send(t, s, message("a", "two\nlines & <more>"))
	again := message("a", "two\nlines & <more>")
	again.Attempt = 2
	send(t, s, again)
	second := message("aa", "x")
	second.Attempt = 3 // earlier ones did not get here
	send(t, s, second)
	data, _ := os.ReadFile(path)
	want := `{"id":"a","at":"2026-03-01T12:00:00Z","channel":"log","app":"shop","text":"two\nlines & <more>"}
{"id":"aa","at":"2026-03-01T12:00:00Z","channel":"log","app":"shop","text":"x"}
`
	if string(data) != want {
		t.Errorf("%s", data)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	s, path := open(t, file.Options{Path: "out.txt", Format: file.Text})
	m := message("a", "hello\nworld\n\n")
	m.Title = "a title"
	send(t, s, m)
	m.Attempt = 2
	send(t, s, m)
	other := message("b", "[2026-03-01T12:00:00Z c] is not c")
	send(t, s, other)
	data, _ := os.ReadFile(path)
	if want := "[2026-03-01T12:00:00Z a] a title\nhello\nworld\n\n[2026-03-01T12:00:00Z b]\n" + other.Text + "\n\n"; string(data) != want {
		t.Errorf("%q", data)
	}
}

// A line that a crash left without an end is not taken for a message, and the next one
// begins on a line of its own.
func TestUnfinishedLine(t *testing.T) {
	t.Parallel()
	s, path := open(t, file.Options{Path: "out.jsonl"})
	if err := os.WriteFile(path, []byte(`{"id":"a","text":"it`), 0o600); err != nil {
		t.Fatal(err)
	}
	m := message("a", "it is whole")
	m.Attempt = 2
	send(t, s, m)
	data, _ := os.ReadFile(path)
	lines := strings.Split(string(data), "\n")
	if len(lines) != 3 || lines[0] != `{"id":"a","text":"it` || !strings.Contains(lines[1], "it is whole") {
		t.Errorf("%q", data)
	}
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	s, path := open(t, file.Options{Path: "out.jsonl"})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			if err := s.Send(t.Context(), message(fmt.Sprint("m", i), strings.Repeat("x", 5000))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	data, _ := os.ReadFile(path)
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var l struct{ ID, Text string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || len(l.Text) != 5000 {
			t.Fatalf("%v: %.80s", err, line)
		}
		seen[l.ID] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d messages are there", len(seen))
	}
}

func TestStaysInside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_ = os.Symlink(outside, filepath.Join(dir, "link"))
	_ = os.Symlink(filepath.Join(outside, "file"), filepath.Join(dir, "file"))
	_ = os.Mkdir(filepath.Join(dir, "folder"), 0o755)
	for _, path := range []string{"../out.jsonl", "link/out.jsonl", "/etc/x", "file", "folder"} {
		err := file.New(file.Options{Root: root, Path: path}).Send(t.Context(), message("a", "x"))
		if _, again := channel.RetryIn(err); err == nil || again || tool.KindOf(err) == tool.Internal {
			t.Errorf("%s: %v", path, err)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside there is %v", left)
	}
}

// A path is the one that was judged: it leads through no link, and the file has no other
// name.
func TestWritesThroughNoLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path     string
		old, new string // a link
		hard     bool
	}{
		"a link":         {path: "out/log", old: "../rules/hook", new: "out/log"},
		"a new file":     {path: "out/log", old: "../rules/new", new: "out/log"},
		"a hard link":    {path: "out/log", old: "rules/hook", new: "out/log", hard: true},
		"a folder":       {path: "in/hook", old: "rules", new: "in"},
		"a folder above": {path: "in/new/log", old: "rules", new: "in"},
	} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		fatal(t, err)
		fatal(t, root.Mkdir("rules", 0o755))
		fatal(t, root.Mkdir("out", 0o755))
		fatal(t, root.WriteFile("rules/hook", []byte("before"), 0o600))
		if c.hard {
			fatal(t, root.Link(c.old, c.new))
		} else if err := root.Symlink(c.old, c.new); err != nil {
			t.Skip("there are no links here:", err)
		}
		err = file.New(file.Options{Root: root, Path: c.path}).Send(t.Context(), message("a", "x"))
		data, _ := os.ReadFile(filepath.Join(dir, "rules", "hook"))
		left, _ := os.ReadDir(filepath.Join(dir, "rules"))
		if tool.KindOf(err) != tool.Denied || string(data) != "before" || len(left) != 1 {
			t.Errorf("%s: %v, %q, %v", name, err, data, left)
		}
		fatal(t, root.Close())
	}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The path is judged again when the file is open.
func TestCheck(t *testing.T) {
	t.Parallel()
	s, path := open(t, file.Options{Path: "log", Check: func() error { return tool.Errorf("x", tool.Denied, "no") }})
	err := s.Send(t.Context(), message("a", "x"))
	if data, _ := os.ReadFile(path); tool.KindOf(err) != tool.Denied || len(data) > 0 {
		t.Errorf("%v, %q", err, data)
	}
}

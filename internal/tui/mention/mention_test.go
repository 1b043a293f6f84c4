package mention_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/tui/mention"
)

func TestFind(t *testing.T) {
	t.Parallel()
	files := map[string]bool{"a.txt": true, "src/b.go": true, "my notes.md": true, "odd.": true, "c": true}
	for text, want := range map[string][]string{
		"what is in @a.txt?":           {"a.txt"},
		"@src/b.go and (@a.txt), @c.":  {"src/b.go", "a.txt", "c"},
		`read @"my notes.md" first`:    {"my notes.md"},
		"@a.txt @a.txt":                {"a.txt"},
		"@odd. and @nosuch":            {"odd."},
		"me@a.txt is an address":       nil,
		"no mention, a lone @ and @@c": nil,
		"line one\n@c\n@src/b.go":      {"c", "src/b.go"},
	} {
		if d := cmp.Diff(want, mention.Find(text, func(p string) bool { return files[p] })); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"look at @sr": "sr 3", "@": " 1", "(@a/b": "a/b 4", `@"my no`: "my no 7", "one\n@tw": "tw 3",
		"@done and": "", "me@a": "", "nothing": "", `@"closed" `: "", "@eins\nzwei": "", "@a @b": "b 2",
	} {
		query, n, ok := mention.Query(before)
		got := ""
		if ok {
			got = query + " " + string(rune('0'+n))
		}
		if got != want {
			t.Errorf("%q: %q, want %q", before, got, want)
		}
	}
}

func TestRank(t *testing.T) {
	t.Parallel()
	files := []string{"internal/tui/chat.go", "internal/cli/conversations/chat.go", "docs/guides/chat.md", "README.md",
		"internal/tui/chat_test.go", "cmd/callgate/main.go", "internal/tui/", "chart/a.txt"}
	for query, want := range map[string]string{
		"readme": "README.md", "chat.go": "internal/tui/chat.go", "tuichat": "internal/tui/chat.go",
		"main": "cmd/callgate/main.go", "chatmd": "docs/guides/chat.md", "cctest": "", "guides/": "docs/guides/chat.md",
	} {
		got := strings.Join(mention.Rank(files, query, 1), "")
		if got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if got := mention.Rank(files, "", 3); len(got) != 3 {
		t.Errorf("nothing written yet finds %q", got)
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"a.txt", "src/b.go", ".git/config", "node_modules/x/index.js", ".env.example"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := mention.Walk(t.Context(), root, func(path string, folder bool) bool { return folder && path == "node_modules" })
	if d := cmp.Diff([]string{".env.example", "a.txt", "src/", "src/b.go"}, got); d != "" {
		t.Error(d)
	}
}

func FuzzMention(f *testing.F) {
	f.Add(`a @b "c" @"d e" (@f).`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, path := range mention.Find(text, func(string) bool { return true }) {
			if path == "" || !strings.Contains(text, path) {
				t.Errorf("%q mentions %q", text, path)
			}
		}
		if query, n, ok := mention.Query(text); ok && (n < 1 || !strings.HasSuffix(text, query)) {
			t.Errorf("%q asks for %q, %d", text, query, n)
		}
	})
}

package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/docs"
)

func TestEveryPageIsFound(t *testing.T) {
	t.Parallel()
	pages := docs.Pages()
	if len(pages) < 50 {
		t.Fatalf("only %d pages", len(pages))
	}
	for _, p := range pages {
		for _, name := range []string{p.Name, p.Name + ".md", "guides/" + p.Name + ".md#place"} {
			if found, ok := docs.Find(name); !ok || found != p {
				t.Errorf("%q is %q, not %q", name, found.Name, p.Name)
			}
		}
		if p.Title == "" || !strings.HasPrefix(p.Text, "# ") {
			t.Errorf("%s has no title", p.Name)
		}
	}
	for name, want := range map[string]string{"MCP": "MCP", "mcp": "mcp", "architecture": "ARCHITECTURE", "Undo": "undo"} {
		if found, _ := docs.Find(name); found.Name != want {
			t.Errorf("%q is %q, not %q", name, found.Name, want)
		}
	}
	if p, ok := docs.Find("../go.mod"); ok {
		t.Errorf("found %q", p.Name)
	}
}

// TestContentsNameEveryPage: who begins at the contents can get everywhere.
func TestContentsNameEveryPage(t *testing.T) {
	t.Parallel()
	contents, ok := docs.Find(docs.Contents)
	if !ok {
		t.Fatal("there are no contents")
	}
	for _, pattern := range []string{"*.md", "guides/*.md", "reference/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if file != "README.md" && !strings.Contains(contents.Text, "]("+filepath.ToSlash(file)) {
				t.Errorf("docs/README.md does not link to %s", file)
			}
		}
	}
}

// TestMessagesOfTroubleshootingAreSaid: each message of the page is in the program.
func TestMessagesOfTroubleshootingAreSaid(t *testing.T) {
	t.Parallel()
	page, _ := docs.Find("troubleshooting")
	var code strings.Builder
	err := filepath.WalkDir(filepath.Join("..", "internal"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	said, messages := code.String(), 0
	for line := range strings.SplitSeq(page.Text, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| `"), "` |")
		if !strings.HasPrefix(line, "| `") || strings.Contains(first, "`") || first == "Device or resource busy" {
			continue
		}
		messages++
		for part := range strings.SplitSeq(first, "…") {
			if part = strings.TrimSpace(part); !strings.Contains(said, part) {
				t.Errorf("nothing says %q", part)
			}
		}
	}
	if messages < 15 {
		t.Errorf("only %d messages: the pattern is broken", messages)
	}
}

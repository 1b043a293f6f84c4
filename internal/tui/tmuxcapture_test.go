package tui_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/captures, and what docs/guides/chat.md shows of them")

var (
	captures = filepath.Join("..", "..", "docs", "captures")
	guide    = filepath.Join("..", "..", "docs", "guides", "chat.md")
)

// capture writes a screen to docs/captures, with -update. Names that differ from
// run to run are replaced, and of several empty rows one is left.
func (p *pane) capture(name string, at project, screen string) {
	p.Helper()
	if !*update {
		return
	}
	screen = strings.ReplaceAll(screen, at.folder, "/home/you/project")
	screen = regexp.MustCompile(`· t[0-9a-z]{6,}`).ReplaceAllString(screen, "· t1a2b3c4d5")
	var rows []string
	for row := range strings.SplitSeq(strings.TrimRight(screen, "\n"), "\n") {
		rows = append(rows, strings.TrimRight(row, " "))
	}
	rows = slices.CompactFunc(rows, func(a, b string) bool { return a == "" && b == "" })
	if err := os.MkdirAll(captures, 0o755); err != nil {
		p.Fatal(err)
	}
	text := strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(captures, name+".txt"), []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

// captureBlock is a capture in the guide.
var captureBlock = regexp.MustCompile("(?s)<!-- docs/captures/([a-z]+)\\.txt -->\n\n```text\n(.*?)```\n")

// The guide shows every capture as it was taken. The name of this file sorts after
// tmux_test.go, so that -update has written the captures.
func TestGuideShowsTheCaptures(t *testing.T) {
	data, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if *update {
		text = captureBlock.ReplaceAllStringFunc(text, func(old string) string {
			name := captureBlock.FindStringSubmatch(old)[1]
			capture, err := os.ReadFile(filepath.Join(captures, name+".txt"))
			if err != nil {
				t.Error(err)
			}
			return "<!-- docs/captures/" + name + ".txt -->\n\n```text\n" + string(capture) + "```\n"
		})
		if err := os.WriteFile(guide, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(captures, "*.txt"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%v: there are %d captures", err, len(files))
	}
	in := map[string]string{}
	for _, m := range captureBlock.FindAllStringSubmatch(text, -1) {
		in[m[1]] = m[2]
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		capture, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if in[name] != string(capture) {
			t.Errorf("%s does not show %s as it is; go test ./internal/tui -update", guide, file)
		}
	}
}

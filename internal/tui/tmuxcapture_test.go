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

// keep writes a screen down for the guide, when told to. What is another each
// time is written as if it were not, and of empty rows one is left.
func (p *pane) keep(name string, at place, screen string) {
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
	if err := os.WriteFile(filepath.Join(captures, name+".txt"), []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
		p.Fatal(err)
	}
}

// shown is a place in the guide at which a capture stands.
var shown = regexp.MustCompile("(?s)<!-- docs/captures/([a-z]+)\\.txt -->\n\n```text\n(.*?)```\n")

// The guide shows every capture as it was taken. This file comes last, so that
// -update has written them.
func TestGuideShowsTheCaptures(t *testing.T) {
	data, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if *update {
		text = shown.ReplaceAllStringFunc(text, func(old string) string {
			name := shown.FindStringSubmatch(old)[1]
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
	for _, m := range shown.FindAllStringSubmatch(text, -1) {
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

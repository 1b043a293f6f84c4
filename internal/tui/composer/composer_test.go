package composer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/tui/composer"
	"callgate/internal/tui/recall"
)

// desk is a composer and what was submitted.
type desk struct {
	*testing.T
	*composer.Composer
	sent []composer.Submit
}

func newDesk(t *testing.T, o composer.Options) *desk {
	d := &desk{T: t}
	o.Post = func(m tea.Msg) { d.sent = append(d.sent, m.(composer.Submit)) }
	d.Composer = composer.New(t.Context(), o)
	d.SetCommands([]composer.Command{{Name: "help", About: "what can be done"}, {Name: "sessions"}, {Name: "skills"}})
	return d
}

// run runs what a key brings, also its batches.
func (d *desk) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch m := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range m {
			d.run(c)
		}
	default:
		d.Update(m)
	}
}

func (d *desk) typeText(text string) {
	for _, r := range text {
		d.run(d.Key(tea.KeyPressMsg{Code: r, Text: string(r)}))
	}
}

func (d *desk) press(names ...string) {
	codes := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"backspace": {Code: tea.KeyBackspace}, "ctrl+r": {Code: 'r', Mod: tea.ModCtrl}, "left": {Code: tea.KeyLeft},
		"ctrl+g": {Code: 'g', Mod: tea.ModCtrl}, "ctrl+x": {Code: 'x', Mod: tea.ModCtrl},
		"ctrl+e": {Code: 'e', Mod: tea.ModCtrl}, "esc": {Code: tea.KeyEscape},
	}
	for _, name := range names {
		d.run(d.Key(codes[name]))
	}
}

func (d *desk) above() string { return ansi.Strip(strings.Join(d.Above(60, 6), "\n")) }

func workspace(context.Context) []string {
	return []string{"README.md", "docs/", "docs/guide.md", "my notes.txt", "src/main.go"}
}

func TestFilesAreCompleted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed string
		keys  []string
		want  string
	}{
		{"look at @rea", []string{"tab"}, "look at @README.md "},
		{"look at @main", []string{"enter"}, "look at @src/main.go "},
		{"@notes", []string{"tab"}, `@"my notes.txt" `},
		{"@do", []string{"tab"}, "@docs/"},
		{"@guide", []string{"esc", "enter"}, ""}, // dismissed: it is sent as it is
		{"@do", []string{"down", "tab"}, "@docs/guide.md "},
	} {
		d := newDesk(t, composer.Options{Files: workspace})
		d.typeText(c.typed)
		for _, k := range c.keys {
			if k == "esc" {
				if !d.Escape() {
					t.Errorf("%s: nothing was open", c.typed)
				}
				continue
			}
			d.press(k)
		}
		if got := d.Text(); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.typed, c.keys, got, c.want)
		}
	}
	d := newDesk(t, composer.Options{Files: workspace})
	d.typeText("@md")
	if got := d.above(); !strings.Contains(got, "@README.md") || !strings.Contains(got, "@docs/guide.md") {
		t.Errorf("suggested are\n%s", got)
	}
}

func TestCommandsAreCompleted(t *testing.T) {
	t.Parallel()
	d := newDesk(t, composer.Options{})
	d.typeText("/s")
	if got := d.above(); !strings.Contains(got, "/sessions") || !strings.Contains(got, "/skills") {
		t.Errorf("suggested are\n%s", got)
	}
	d.press("down", "enter")
	d.typeText("/he")
	d.press("tab", "enter")
	d.typeText("/nosuch")
	d.press("enter")
	if d2 := cmp.Diff([]composer.Submit{{"/skills", "/skills"}, {"/help", "/help"}, {"/nosuch", "/nosuch"}}, d.sent); d2 != "" {
		t.Error(d2)
	}
}

func TestPastesAreCollapsedUntilTheyAreSent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, composer.Options{})
	long := strings.Repeat("line\n", 119) + "line"
	d.typeText("see ")
	d.Paste(tea.PasteMsg{Content: long})
	if d.Text() != "see [pasted 120 lines]" {
		t.Errorf("the field holds %q", d.Text())
	}
	d.press("enter")
	if got := d.sent[0]; got.Text != "see "+long || got.Shown != "see [pasted 120 lines]" {
		t.Errorf("%d characters were sent, shown %q", len(got.Text), got.Shown)
	}
	d.press("up")
	d.typeText("!")
	d.press("enter")
	if got := d.sent[1].Text; got != "see "+long+"!" {
		t.Errorf("recalled, %d characters were sent", len(got))
	}
	d.Paste(tea.PasteMsg{Content: long})
	d.press("backspace")
	if d.Text() != "" {
		t.Errorf("one key leaves %q", d.Text())
	}
}

func TestPastedPictureIsMentioned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a shot.png")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, composer.Options{})
	d.Paste(tea.PasteMsg{Content: "'" + path + "'"})
	if want := `@"` + path + `" `; d.Text() != want {
		t.Errorf("the field holds %q", d.Text())
	}
}

func TestHistoryIsKeptAndSearched(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	d := newDesk(t, composer.Options{Past: recall.Open(folder, "/w")})
	for _, words := range []string{"run the tests", "what is here?", "run them again"} {
		d.typeText(words)
		d.press("enter")
	}
	d = newDesk(t, composer.Options{Past: recall.Open(folder, "/w")})
	d.press("up", "up")
	if d.Text() != "what is here?" {
		t.Errorf("recalled %q", d.Text())
	}
	d.Clear()
	d.press("ctrl+r")
	d.typeText("run")
	if got := d.above(); !strings.Contains(got, "run them again") {
		t.Errorf("found\n%s", got)
	}
	d.press("ctrl+r")
	if got := d.above(); !strings.Contains(got, "run the tests") {
		t.Errorf("found then\n%s", got)
	}
	d.press("ctrl+r", "enter")
	if d.Text() != "run the tests" || len(d.sent) != 0 {
		t.Errorf("taken %q, sent %q", d.Text(), d.sent)
	}
	d.Clear()
	d.press("ctrl+r")
	d.typeText("nosuch")
	if got := d.above(); !strings.Contains(got, "nothing was said like that") {
		t.Errorf("found\n%s", got)
	}
	if !d.Escape() || d.Text() != "" {
		t.Errorf("left with %q", d.Text())
	}
}

func TestEditor(t *testing.T) {
	t.Parallel()
	d := newDesk(t, composer.Options{Edit: func(text string) (string, error) {
		return text + " edited\n", nil
	}})
	d.typeText("words")
	for _, keys := range [][]string{{"ctrl+g"}, {"ctrl+x", "ctrl+e"}} {
		if !slices.ContainsFunc(keys, func(k string) bool { return d.opens(k) }) {
			t.Errorf("%q opens no editor", keys)
		}
	}
	d.press("ctrl+e", "left") // the end of the line, as ever
	if d.opens("ctrl+e") {
		t.Error("ctrl+e alone opens the editor")
	}
	none := newDesk(t, composer.Options{})
	none.press("ctrl+g")
	if got := none.above(); !strings.Contains(got, "EDITOR") {
		t.Errorf("without an editor: %q", got)
	}
}

// opens reports whether a key asks for the terminal, as an editor does.
func (d *desk) opens(name string) bool {
	keys := map[string]tea.KeyPressMsg{"ctrl+g": {Code: 'g', Mod: tea.ModCtrl}, "ctrl+x": {Code: 'x', Mod: tea.ModCtrl},
		"ctrl+e": {Code: 'e', Mod: tea.ModCtrl}}
	cmd := d.Key(keys[name])
	if cmd == nil {
		return false
	}
	return strings.Contains(typeName(cmd()), "execMsg")
}

func typeName(m tea.Msg) string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%T", m)
}

package input_test

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"callgate/internal/tui/input"
)

func TestFieldGrows(t *testing.T) {
	t.Parallel()
	f := input.NewField("write here")
	f.SetWidth(20)
	if rows, cursor := f.View(); len(rows) != 1 || !strings.Contains(ansi.Strip(rows[0]), "write here") || cursor == nil {
		t.Errorf("empty it is %q, cursor %v", rows, cursor)
	}
	f.Update(tea.PasteMsg{Content: "one\ntwo\nthree"})
	if rows, _ := f.View(); len(rows) != 3 {
		t.Errorf("three lines are %q", rows)
	}
	f.Update(tea.PasteMsg{Content: strings.Repeat("\nmore", 500)})
	if rows, _ := f.View(); len(rows) != 8 {
		t.Errorf("%d rows", len(rows))
	}
	if got := strings.Count(f.Text(), "\n"); got != 502 {
		t.Errorf("%d lines were kept", got)
	}
	if got := f.Take(); !strings.HasPrefix(got, "one\ntwo") || f.Text() != "" {
		t.Errorf("took %q", got)
	}
	if rows, _ := f.View(); len(rows) != 1 {
		t.Errorf("empty again it is %q", rows)
	}
}

func TestFieldRecallsEarlierTexts(t *testing.T) {
	t.Parallel()
	f := input.NewField("")
	f.SetWidth(20)
	for i := range 3 {
		f.Remember(fmt.Sprint(i))
		f.Remember(fmt.Sprint(i)) // twice is once
	}
	f.Remember("")
	var seen []string
	for range 4 {
		f.Update(tea.KeyPressMsg{Code: tea.KeyUp})
		seen = append(seen, f.Text())
	}
	if got := strings.Join(seen, " "); got != "2 1 0 0" {
		t.Errorf("the past is %s", got)
	}
}

func TestEditor(t *testing.T) {
	t.Parallel()
	e := input.NewEditor("{\n  \"a\": 1\n}")
	e.Update(tea.KeyPressMsg{Code: tea.KeyEnd})
	e.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	e.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
	if got := e.Text(); got != "{\nx\n  \"a\": 1\n}" {
		t.Errorf("the text is %q", got)
	}
	rows, cursor := e.View(10, 3)
	if len(rows) != 3 || cursor == nil || cursor.Y != 1 {
		t.Errorf("%q, cursor %v", rows, cursor)
	}
}

package welcome_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/protocol"
	"callgate/internal/tui/welcome"
)

func TestFirstScreen(t *testing.T) {
	t.Parallel()
	b := &welcome.Block{
		About: protocol.Conversation{Session: protocol.Session{App: "demo", Workspace: "/w\x1b[2J"}, Agent: "main",
			Provider: "test", Model: "script", Tools: 1},
		Examples: welcome.Examples([]string{"filesystem.list", "filesystem.read", "shell.bash"}),
	}
	for _, width := range []int{20, 40, 80, 140} {
		lines := b.Lines(width, false)
		for _, line := range lines {
			if w := ansi.StringWidth(line); w > width {
				t.Errorf("%q is %d wide, in %d", line, w, width)
			}
		}
		if text := strings.Join(lines, "\n"); strings.Contains(text, "\x1b[2J") {
			t.Errorf("the folder's name is obeyed: %q", text)
		}
	}
	text := ansi.Strip(strings.Join(b.Lines(80, false), "\n"))
	for _, want := range []string{"test/script", "agent main of the app demo", "1 tool;", "> run the tests, and mend what fails",
		"> list the files here", "@ names a file", "esc stops it"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n") + 1; n > 20 {
		t.Errorf("%d rows do not fit a small terminal", n)
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	if got := welcome.Examples(nil); len(got) != 1 {
		t.Errorf("without tools: %q", got)
	}
	if got := welcome.Examples([]string{"git.log", "filesystem.read", "shell.bash", "web.fetch"}); len(got) != 3 {
		t.Errorf("with many: %q", got)
	}
}

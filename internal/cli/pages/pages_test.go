package pages

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"callgate/docs"
)

// TestEveryPageIsLaidOut: no page is shown as it is written, and none is wider than the terminal.
func TestEveryPageIsLaidOut(t *testing.T) {
	t.Parallel()
	for _, page := range docs.Pages() {
		for _, width := range []int{40, usual, widest} {
			text := ansi.Strip(layOut(page.Text, width))
			for line := range strings.SplitSeq(text, "\n") {
				if ansi.StringWidth(line) > width {
					t.Errorf("%s, width %d: %q", page.Name, width, line)
				}
			}
			if strings.Contains(text, "|---|") {
				t.Errorf("%s, width %d: a table is shown as it is written", page.Name, width)
			}
		}
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	got := sections("# a\n<!-- file: x -->\nb\n## c\n```sh\n# no heading\n```\n### d\n")
	want := []string{"# a\nb\n", "## c\n```sh\n# no heading\n```\n", "### d\n"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q", got)
	}
}

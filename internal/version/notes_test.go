package version

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What callgate upgrade says of a version is what the changelog says.
func TestNotesAreTheChangelogs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), strings.TrimSpace(upgrading)) {
		t.Error("CHANGELOG.md does not have internal/version/upgrading.md, word for word")
	}
	if got, want := strings.Count(string(page), "\n### Upgrading"), len(Notes()); got != want || want == 0 {
		t.Errorf("CHANGELOG.md has %d sections about upgrading, this program %d", got, want)
	}
	for _, n := range Notes() {
		if !strings.HasPrefix(n.Title, "Upgrading to ") || n.Text == "" {
			t.Errorf("a note is %+v", n)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("### Upgrading to 1\n\nText.\n\n### Upgrading to 0\nMore.\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range parse(text) {
			if n.Title == "" || strings.Contains(n.Title, "\n") {
				t.Errorf("a note is %+v", n)
			}
		}
	})
}

package clock_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"callgate/tool"
)

// fenced matches a block of code in the guide: its language and its text.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// The guide shows this folder's files to the letter, so that what it shows compiles and passes.
func TestGuideShowsTheseFiles(t *testing.T) {
	guide := readFile(t, "../../../docs/guides/modules.md")
	var blocks []string
	for _, m := range fenced.FindAllStringSubmatch(guide, -1) {
		blocks = append(blocks, m[2])
	}
	for _, name := range []string{"now.md", "clock.go", "clock_test.go"} {
		if !slices.Contains(blocks, readFile(t, name)) {
			t.Errorf("no block of the guide is %s as it stands here", name)
		}
	}
}

// The app file in the guide is valid, and its constraint holds.
func TestGuideAppFile(t *testing.T) {
	for _, m := range fenced.FindAllStringSubmatch(readFile(t, "../../../docs/guides/modules.md"), -1) {
		if m[1] != "yaml" {
			continue
		}
		var app struct {
			Tools struct {
				Modules map[string]struct{ Config, Constraints map[string]any }
			}
		}
		if err := yaml.Unmarshal([]byte(m[2]), &app); err != nil {
			t.Fatal(err)
		}
		block := app.Tools.Modules["clock"]
		delete(block.Constraints, "allowed_actions") // the kernel reads it for every module
		if len(block.Constraints) == 0 {
			t.Fatalf("the app file constrains nothing:\n%s", m[2])
		}
		if _, err := ask(t, block.Config, block.Constraints, `{"zone": "Asia/Tokyo"}`); tool.KindOf(err) != tool.Denied {
			t.Errorf("a zone that the app file does not list: %v", err)
		}
		if _, err := ask(t, block.Config, block.Constraints, `{}`); err != nil {
			t.Error(err)
		}
		return
	}
	t.Error("the guide has no app file")
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

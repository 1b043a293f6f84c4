package app_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"callgate/internal/app"
)

// Variables stand for files of the app, which are put in as they are and belong to what a
// human accepts, and for what is known of the machine.
func TestBundleVariables(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"prompts/main.md": "Be kind to {{workdir}}.\n", "assets/note.txt": "a note", "behaviors/calm.md": "calm",
		"callgate.yaml": "schema_version: 2\napp:\n  name: x\n  short_name: X\n  author: A\n  tags: [one]\n" +
			"  quick_prompts: [{label: Go on, message: go on with it}]\n" +
			"dev: {variables: {who: you, both: \"{{user.who}} and {{asset.note.txt}}\"}}\n" +
			"runtime:\n  context: {max_tokens: 0}\n  middleware:\n  - prompt_inject: {text: \"{{behavior.calm}}\"}\n" +
			"agents:\n- id: main\n  system_prompt: \"{{prompt.main}} {{both}} {{sys.os}} {{sys.nothing ?? none}}\"\n" +
			"  instructions: Then stop.\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := app.Load(filepath.Join(folder, "callgate.yaml"), agentKnown)
	if err != nil {
		t.Fatal(err)
	}
	want := "Be kind to {{workdir}}. you and a note " + runtime.GOOS + " none\n\nThen stop."
	if got := a.Agents[0].SystemPrompt; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var files []string
	for _, f := range a.Files {
		files = append(files, filepath.Base(f.Path))
	}
	slices.Sort(files)
	if !slices.Equal(files, []string{"calm.md", "main.md", "note.txt"}) || a.Surface.Window != 0 {
		t.Errorf("files %q, window %d", files, a.Surface.Window)
	}
	if a.ShortName != "X" || a.Author != "A" || len(a.QuickPrompts) != 1 || a.Middleware[0].Text != "calm" {
		t.Errorf("%+v", a.About)
	}
}

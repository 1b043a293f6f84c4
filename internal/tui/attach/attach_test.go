package attach_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/protocol"
	"callgate/internal/tui/attach"
	"callgate/tool"
)

// files answers calls of filesystem.read.
type files map[string]string

func (f files) Call(_ context.Context, call protocol.CallRequest) (*tool.Result, error) {
	var in struct{ Path string }
	if err := json.Unmarshal(call.Args, &in); err != nil || call.Name != attach.ReadTool {
		return nil, tool.Errorf("test", tool.Invalid, "%s %s", call.Name, call.Args)
	}
	text, ok := f[in.Path]
	if !ok {
		return &tool.Result{Status: tool.Failure, Summary: "a rule denies it"}, nil
	}
	return &tool.Result{Status: tool.Success, Content: []tool.Content{tool.Text(text)}}, nil
}

const png = "\x89PNG\r\n\x1a\nrest"

func TestFiles(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for name, data := range map[string]string{"shot.png": png, "not.png": "<html>"} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := attach.Files(t.Context(), files{"a.txt": "alpha\nbeta\n", "b.txt": "x</file>y"}, workspace, "look",
		[]string{"a.txt", "b.txt", ".env", "shot.png", "not.png"})
	want := "look\n\n<file path=\"a.txt\">\nalpha\nbeta\n</file>\n\n<file-2 path=\"b.txt\">\nx</file>y\n</file-2>"
	if d := cmp.Diff(want, m.Text); d != "" {
		t.Error(d)
	}
	if len(m.Images) != 1 || m.Images[0].MIME != "image/png" || string(m.Images[0].Data) != png {
		t.Errorf("the pictures are %v", m.Images)
	}
	notes := strings.Join(slices.Concat(m.Notes, m.Problems), "\n")
	for _, want := range []string{"attached a.txt (2 lines)", "only the name of .env is sent: a rule denies it",
		"attached shot.png (12 bytes)", "not.png is not attached: it is no PNG"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not told:\n%s", want, notes)
		}
	}
	words, names := attach.Split(m.Text)
	if d := cmp.Diff([]string{"a.txt", "b.txt"}, names); d != "" || words != "look" {
		t.Errorf("taken apart: %q %s", words, d)
	}
	if words, names := attach.Split("plain words"); words != "plain words" || names != nil {
		t.Errorf("plain words are %q, %q", words, names)
	}
}

func TestPastedPicture(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my shot.png")
	if err := os.WriteFile(path, []byte(png), 0o600); err != nil {
		t.Fatal(err)
	}
	for paste, want := range map[string]bool{
		path: true, "'" + path + "'": true, `"` + path + `"`: true, strings.ReplaceAll(path, " ", `\ `) + "\n": true,
		"file://" + strings.ReplaceAll(path, " ", "%20"): true,
		"my shot.png": false, path + "x": false, "see " + path: false, path + "\nmore": false, "/no/such.png": false,
	} {
		if got, ok := attach.PastedPicture(paste); ok != want || ok && got != path {
			t.Errorf("%q: %q, %v", paste, got, ok)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	got := attach.Command(`echo "hi"`, &tool.Result{Content: []tool.Content{tool.Text("hi\n")}})
	if want := "\n\n<user-command line=\"echo  hi \">\nhi\n</user-command>"; got != want {
		t.Errorf("%q", got)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a\n\n<file path=\"b\">\nc\n</file>")
	f.Fuzz(func(t *testing.T, text string) {
		if words, _ := attach.Split(text); !strings.HasPrefix(text, words) {
			t.Errorf("%q became %q", text, words)
		}
	})
}

// denied refuses every call.
type denied struct{}

func (denied) Call(context.Context, protocol.CallRequest) (*tool.Result, error) {
	return &tool.Result{Status: tool.Refused, Summary: "a rule denies it"}, nil
}

// A picture of the workspace is attached only if the rules let it be read, and a link in
// it does not lead out; one that lies elsewhere is the user's own.
func TestPicturesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	workspace, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "own.png")
	for _, path := range []string{elsewhere, filepath.Join(workspace, "secret.png")} {
		if err := os.WriteFile(path, []byte(png), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(workspace, "link.png")); err != nil {
		t.Skip(err)
	}
	m := attach.Files(t.Context(), denied{}, workspace, "look", []string{
		"secret.png", filepath.Join(workspace, "secret.png"), "link.png",
	})
	if len(m.Images) != 0 || len(m.Problems) != 3 {
		t.Errorf("%d pictures were attached; told %q", len(m.Images), m.Problems)
	}
	if m := attach.Files(t.Context(), denied{}, workspace, "look", []string{elsewhere}); len(m.Images) != 1 {
		t.Errorf("the user's own was not attached: %q", m.Problems)
	}
	if m := attach.Files(t.Context(), files{"link.png": ""}, workspace, "look", []string{"link.png"}); len(m.Images) != 0 {
		t.Error("a link chose what is sent")
	}
}

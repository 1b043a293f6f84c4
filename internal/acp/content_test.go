package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/protocol"
	"callgate/tool"
)

func TestMessages(t *testing.T) {
	text := sdk.TextBlock
	for name, c := range map[string]struct {
		blocks []sdk.ContentBlock
		want   string
		wrong  string
	}{
		"words": {blocks: []sdk.ContentBlock{text("mend "), text("it")}, want: "mend it"},
		"a link": {
			blocks: []sdk.ContentBlock{text("read "), sdk.ResourceLinkBlock("a", "file:///w/a.txt")}, want: "read @/w/a.txt",
		},
		"a text beside it": {
			blocks: []sdk.ContentBlock{text("see"), sdk.ResourceBlock(sdk.EmbeddedResourceResource{
				TextResourceContents: &sdk.TextResourceContents{Uri: "file:///w/b.go", Text: "package b"},
			})},
			want: "see\n\n--- /w/b.go\npackage b\n---\n\n",
		},
		"nothing":       {wrong: "empty"},
		"blanks":        {blocks: []sdk.ContentBlock{text(" \n")}, wrong: "empty"},
		"a bad picture": {blocks: []sdk.ContentBlock{sdk.ImageBlock("%%", "image/png")}, wrong: "base64"},
		"a sound":       {blocks: []sdk.ContentBlock{sdk.AudioBlock("", "audio/wav")}, wrong: "not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := messageOf(c.blocks)
			if c.wrong != "" {
				if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || m.Text != c.want {
				t.Errorf("got %q %v", m.Text, err)
			}
		})
	}
}

func TestPlans(t *testing.T) {
	const memory = "# Working memory\nGoal: a house\nTasks (1 of 4 completed):\n[x] t1 Dig\n" +
		"[>] t2 Lay the ground  (in progress)\n[ ] t3 Raise walls  <- next\n[!] t4 Roof  (blocked)\nFacts:\n- [x] is no task\n"
	got, err := json.Marshal(planOf(memory))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"content":"Dig","priority":"medium","status":"completed"`, `"content":"Lay the ground","priority":"medium","status":"in_progress"`,
		`"content":"Raise walls","priority":"medium","status":"pending"`, `"content":"Roof  (blocked)"`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if n := len(planOf(memory)); n != 4 {
		t.Errorf("%d entries", n)
	}
}

// A difference is shown of plain files of a bounded size, and of nothing that would not
// end.
func TestDifferences(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "large"), make([]byte, maxDiff+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"path": "a", "content": "new"}`:                   `"newText":"new","oldText":"old"`,
		`{"path": "fresh", "content": "new"}`:               `"newText":"new","path"`,
		`{"path": "a", "content": "new", "mode": "append"}`: "",
		`{"path": "large", "content": "new"}`:               "",
		`{"path": "/dev/zero", "content": "new"}`:           "",
		`{"path": 7}`: "", `[]`: "", `{"content": "new"}`: "",
	} {
		shown := difference("filesystem.write", json.RawMessage(args), folder)
		got, err := json.Marshal(shown)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && shown != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// A call that execute_tool makes is shown as that call.
func TestTargets(t *testing.T) {
	name, args := target(protocol.AgentCall{
		Name: "execute_tool", Args: json.RawMessage(`{"name": "filesystem__read", "params": {"path": "a"}}`),
	})
	if name != "filesystem.read" || string(args) != `{"path": "a"}` {
		t.Errorf("%s %s", name, args)
	}
	if name, _ := target(protocol.AgentCall{Name: "execute_tool", Args: json.RawMessage(`"`)}); name != "execute_tool" {
		t.Error(name)
	}
}

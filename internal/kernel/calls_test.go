package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// wrongCalls are the mistakes models make, and what the guide says of each.
var wrongCalls = []struct{ title, words, name, args string }{
	{"A typo in the name", "The nearest names are offered, by full and by short name.", "filesystem.raed", `{"path":"notes.txt"}`},
	{
		"A name written another way",
		"Case and separators do not matter when only one tool can be meant.",
		"FileSystem::Read",
		`{"path":"notes.txt"}`,
	},
	{"An ambiguous short name", "Two tools answer to it, so both are listed.", "search", `{"query":"x"}`},
	{
		"Text for a number",
		"What can mean only one thing is taken, and the answer says so.",
		"filesystem.read",
		`{"path":"notes.txt","limit":"2"}`,
	},
	{
		"Text that is no number",
		"The field, what was expected, what came, the schema, and a call that would do.",
		"filesystem.read",
		`{"path":"notes.txt","limit":"two"}`,
	},
	{"A missing field", "", "filesystem.write", `{"path":"new.txt"}`},
	{"An extra field", "With the nearest name the tool does have.", "filesystem.read", `{"pth":"notes.txt"}`},
	{"JSON as a string", "A model that quotes its arguments twice is understood.", "filesystem.read", `"{\"path\":\"notes.txt\"}"`},
	{"A single value for a list", "", "team.search", `{"query":"x","folders":"docs"}`},
	{
		"The same, for a tool of high risk",
		"What cannot be undone is taken literally: only exact numbers and truth values are read out of text.",
		"team.purge",
		`{"folders":"docs"}`,
	},
	{"A path outside the workspace", "", "filesystem.read", `{"path":"../../etc/passwd"}`},
	{"A file that is not there", "The tool itself says what is near.", "filesystem.read", `{"path":"note.txt"}`},
	{"A tool that is denied", "The reason is the one written in callgate.yaml.", "team.secret", `{}`},
	{"A tool that is hidden", "It does not exist.", "team.hidden", `{}`},
	{"A call that needs a human", "", "team.purge", `{"folders":["docs"]}`},
}

const callsApp = `app:
  app_id: guide
tools:
  capabilities:
    default_policy: auto
    approve:
      - module: team
        actions: [purge]
        reason: it cannot be undone
    deny:
      - module: team
        actions: [secret]
        reason: ask the security team
    hidden_actions: [team.hidden]
`

// TestCallsGuide keeps docs/guides/calls.md what the kernel really says.
func TestCallsGuide(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "notes.txt"), "one\ntwo\nthree\n")
	write(t, filepath.Join(workspace, "callgate.yaml"), callsApp)
	k, err := kernel.Open(t.Context(), kernel.Config{State: t.TempDir(), Tools: teamTools()})
	ok(t, err)
	s := kerneltest.OpenAccepted(t, k, workspace)

	var page bytes.Buffer
	page.WriteString("# How wrong calls are answered\n\n" +
		"Every answer below is the kernel's own: `internal/kernel/calls_test.go` makes these calls and\n" +
		"writes this page (`go test -run TestCallsGuide . -update`). The schema that comes\n" +
		"with an error about arguments is left out here for brevity.\n")
	for _, c := range wrongCalls {
		fmt.Fprintf(&page, "\n## %s\n\n", c.title)
		if c.words != "" {
			fmt.Fprintf(&page, "%s\n\n", c.words)
		}
		fmt.Fprintf(&page, "    %s %s\n\n", c.name, c.args)
		result := s.Call(t.Context(), session.CallRequest{Name: c.name, Args: json.RawMessage(c.args), NoWait: true})
		fmt.Fprintf(&page, "```json\n%s\n```\n", plain(t, result, workspace))
	}
	golden(t, "../../docs/guides/calls.md", page.Bytes())
}

// plain is a result as the guide shows it: without what differs from run to run.
func plain(t *testing.T, r *tool.Result, workspace string) string {
	t.Helper()
	shown := *r
	if r.Error != nil {
		e := *r.Error
		if len(e.Schema) == 0 && e.Kind == tool.Invalid && len(e.Fields) > 0 {
			t.Errorf("an error about fields came without the schema: %v", e)
		}
		e.Schema, e.Op = nil, ""
		shown.Error = &e
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	shown.Call = ""
	ok(t, enc.Encode(shown))
	text := strings.ReplaceAll(b.String(), workspace, "/workspace")
	if r.Approval != "" {
		text = strings.ReplaceAll(text, r.Approval, "a1b2c3")
	}
	return strings.TrimSpace(text)
}

func teamTools() []*tool.Tool {
	type folders struct {
		Query   string   `json:"query,omitempty" jsonschema:"what to look for"`
		Folders []string `json:"folders,omitempty" jsonschema:"where"`
	}
	type found struct {
		Folders []string `json:"folders"`
	}
	echo := func(_ context.Context, in folders) (found, error) { return found{in.Folders}, nil }
	var tools []*tool.Tool
	for name, r := range map[string]tool.Runtime{
		"team.search": {Risk: tool.Low, SideEffect: tool.Read},
		"wiki.search": {Risk: tool.Low, SideEffect: tool.Read},
		"team.purge":  {Risk: tool.High, SideEffect: tool.Write},
		"team.secret": {Risk: tool.Low, SideEffect: tool.Read},
		"team.hidden": {Risk: tool.Low, SideEffect: tool.Read},
	} {
		made, err := tool.Func(name, "A tool of the guide.", r, echo)
		if err != nil {
			panic(err)
		}
		tools = append(tools, made)
	}
	return tools
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		ok(t, os.WriteFile(name, got, 0o644))
		return
	}
	want, err := os.ReadFile(name)
	ok(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the kernel says now (-file +now); run go test -run %s . -update\n%s", name, t.Name(), diff)
	}
}

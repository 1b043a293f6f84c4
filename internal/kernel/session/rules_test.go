package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

const ruledApp = `
agents: [{id: lead, system_prompt: {file: prompts/lead.md}}]
tools:
  dirs: [kit]
  capabilities: {grant: [{module: filesystem}]}
dev:
  skills: [{command: tone, description: how we write, path: skills/tone.md}]
  include: {agents: [agents/other.yaml]}
`

// An agent that may write files may not write what its rules are read from.
func TestGrantDoesNotCoverTheRules(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"callgate.yaml": ruledApp, "prompts/lead.md": "Lead.", "skills/tone.md": "Calmly.", "kit/global/README": "none",
		"agents/other.yaml": "{id: other, system_prompt: Help.}", "notes.txt": "mine",
	} {
		ok(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755))
		write(t, filepath.Join(folder, name), text)
	}
	s := kerneltest.OpenAccepted(t, kerneltest.Open(t, kerneltest.StateDir(t)), folder)
	for name, want := range map[string]tool.Status{
		"callgate.yaml": tool.Waiting, "prompts/lead.md": tool.Waiting, "skills/tone.md": tool.Waiting,
		"agents/other.yaml": tool.Waiting, "kit/global/new.yaml": tool.Waiting, ".git/hooks/pre-commit": tool.Waiting,
		"notes.txt": tool.Success,
	} {
		args := fmt.Sprintf(`{"path":%q,"content":"x"}`, name)
		request := session.CallRequest{Name: "filesystem.write", Args: json.RawMessage(args), NoWait: true}
		if r := s.Call(t.Context(), request); r.Status != want {
			t.Errorf("%s: %s %q, want %s", name, r.Status, r.Summary, want)
		}
	}
	patch := `{"patch":"*** Begin Patch\n*** Add File: new.txt\n+x\n*** Delete File: prompts/lead.md\n*** End Patch"}`
	request := session.CallRequest{Name: "filesystem.apply_patch", Args: json.RawMessage(patch), NoWait: true}
	if r := s.Call(t.Context(), request); r.Status != tool.Waiting {
		t.Errorf("a patch of one of them: %s %q", r.Status, r.Summary)
	}
}

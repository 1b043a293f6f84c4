package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/daemon"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/protocol/callid"
	"callgate/tool"
)

// A client whose answer was lost asks again under the same ID, here or in the next kernel,
// and is told the same: of a call that changed something what is on record, of one that
// only reads what it reads now. A success that says nothing is none.
func TestAskedAgainUnderItsID(t *testing.T) {
	t.Parallel()
	state, folder := t.TempDir(), t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "tools: {capabilities: {default_policy: auto}}\n")
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "the words")
	kerneltest.Write(t, filepath.Join(folder, "sub", "c.txt"), "more")
	d := serveAccepted(t, state, folder)
	defer func() { ok(t, d.Stop()) }()
	asked := map[string]protocol.CallRequest{}
	for _, c := range []struct{ name, args string }{
		{"filesystem.read", `{"path":"a.txt"}`},
		{"execute_tool", `{"name":"filesystem.read","params":{"path":"a.txt"}}`},
		{"run_parallel", `{"actions":[{"name":"filesystem.read","params":{"path":"a.txt"}},{"name":"filesystem.list","params":{"path":"sub"}}]}`},
		{"filesystem.write", `{"path":"b.txt","content":"once","mode":"append"}`},
		{"execute_tool", `{"name":"filesystem.write","params":{"path":"c.txt","content":"once","mode":"append"}}`},
		{"filesystem.read", `{"path":"nowhere"}`},
	} {
		id := callid.New()
		asked[id] = protocol.CallRequest{ID: id, Name: c.name, Args: json.RawMessage(c.args)}
	}
	first := map[string]string{}
	for round := range 4 {
		if round == 2 {
			ok(t, d.Stop())
			var err error
			d, err = daemon.Start(t.Context(), kernel.Config{State: state})
			ok(t, err)
		}
		s, err := dial(state, "").OpenSession(t.Context(), protocol.OpenSession{Workspace: folder})
		ok(t, err)
		for id, c := range asked {
			r, err := s.Call(t.Context(), c)
			ok(t, err)
			text := string(r.Status) + " " + r.Summary
			for _, part := range r.Content {
				text += "\n" + part.Text
			}
			if round == 0 {
				first[id] = text
			}
			if text != first[id] || len(r.Content)+len(r.Data) == 0 && r.Status == tool.Success {
				t.Errorf("round %d of %s %s: %q, and first %q", round, c.Name, c.Args, text, first[id])
			}
		}
	}
	for _, name := range []string{"b.txt", "c.txt"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); string(text) != "once" {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
}

package kernel_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// askingManifest is that of a tool that has the kernel run others.
const askingManifest = `{
  "llm": {"name": "team.ask", "description": "Asks.", "parameters": {"type": "object", "properties": {}}},
  "runtime": {"timeout_ms": 20000, "side_effect": "none", "risk": "low",
    "host_tools": ["filesystem.read", "filesystem.write", "shell.bash", "filesystem.glob"]}
}`

// asking sends each line of the file requests to the kernel, and prints the answers as a
// list.
const asking = `read -r args
sep='['
while read -r line; do
  printf '%s\n' "$line" >&"$CALLGATE_HOST_FD"
  read -r answer <&"$CALLGATE_HOST_FD" || answer='"the connection ended"'
  printf '%s%s' "$sep" "$answer"
  sep=','
done < "$CALLGATE_WORKSPACE/requests"
printf ']\n'
`

// hostWorld is a session of an app with the tool team.ask, which has requests to make.
func hostWorld(t *testing.T, requests ...string) (*kernel.Kernel, *session.Session) {
	t.Helper()
	k, folder := kerneltest.Open(t, kerneltest.StateDir(t)), t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `
tools:
  dirs: [tools]
  modules: {filesystem: , shell: }
  capabilities:
    default_policy: auto
    deny: [{module: filesystem, actions: [write]}]
    approve: [{module: shell}]
`)
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "apples")
	kerneltest.Write(t, filepath.Join(folder, "requests"), strings.Join(requests, "\n")+"\n")
	kerneltest.WriteExecutable(t, filepath.Join(folder, "tools", "agent"), "team_ask", askingManifest, asking)
	s := kerneltest.OpenSession(t, k, folder)
	if shown := k.PendingConsent(s); !strings.Contains(shown,
		"with calls of filesystem.read, filesystem.write, shell.bash, filesystem.glob in the caller's name") {
		t.Errorf("nobody is shown what it may have run: %s", shown)
	}
	s.Close()
	return k, kerneltest.OpenAccepted(t, k, folder)
}

// answers are what the program was answered.
type answers []struct {
	ID     int         `json:"id"`
	Result tool.Result `json:"result"`
}

func ask(t *testing.T, s *session.Session) (answers, *tool.Result) {
	t.Helper()
	r := kerneltest.Call(t, s, "team.ask", `{}`)
	var got answers
	if r.Status != tool.Success || json.Unmarshal(r.Data, &got) != nil {
		t.Fatalf("%s %s %s", r.Status, r.Summary, r.Data)
	}
	return got, r
}

// A program in the sandbox has the kernel run the tools of its manifest: each is a call of
// its session, through the whole gate.
func TestHostTools(t *testing.T) {
	t.Parallel()
	k, s := hostWorld(t,
		`{"id":1,"tool":"filesystem.read","args":{"path":"a.txt"}}`,
		`{"id":2,"tool":"filesystem.write","args":{"path":"b.txt","content":"x"}}`,
		`{"id":3,"tool":"filesystem.delete","args":{"path":"a.txt"}}`,
		`{"id":4,"tool":"filesystem.read","args":{"path":"/etc/shadow"}}`,
		`{"id":5,"tool":"filesystem.read","args":{}}`,
	)
	got, result := ask(t, s)
	for i, want := range []struct{ status, text string }{
		{"success", "apples"}, {"denied", "deny rule"}, {"denied", "does not name"}, {"", ""}, {"", "path"},
	} {
		one := got[i].Result
		text, _ := json.Marshal(one)
		if want.status != "" && string(one.Status) != want.status || !strings.Contains(string(text), want.text) ||
			want.status == "" && one.Status == tool.Success {
			t.Errorf("%d: %s", got[i].ID, text)
		}
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{Call: got[0].Result.Call})
	kerneltest.OK(t, err)
	if len(records) == 0 || records[0].Parent != result.Call {
		t.Errorf("the call is not on record as a child of %s: %+v", result.Call, records)
	}
}

// A call that needs a human waits for one, while the program waits.
func TestHostToolNeedsApproval(t *testing.T) {
	t.Parallel()
	k, s := hostWorld(t, `{"id":1,"tool":"shell.bash","args":{"command":"echo from the shell"}}`)
	done := make(chan answers)
	go func() {
		got, _ := ask(t, s)
		done <- got
	}()
	var waiting []approval.Request
	kerneltest.Eventually(t, func() bool {
		waiting, _ = k.Approvals.List(t.Context(), approval.Pending, 0)
		return len(waiting) == 1
	})
	kerneltest.Settle(t, k, waiting[0].ID, approval.Answer{Approve: true})
	got := <-done
	text, _ := json.Marshal(got[0].Result)
	if got[0].Result.Status != tool.Success || !strings.Contains(string(text), "from the shell") {
		t.Errorf("%s", text)
	}
}

package apps_test

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

func TestAppBringsItsOwnTools(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("executables are confined on Linux only")
	}
	workspace, plain := t.TempDir(), t.TempDir()
	tools := filepath.Join(workspace, "tools")
	app := "runtime: {sandbox: relaxed}\ntools:\n  dirs: [tools]\n  capabilities:\n    default_policy: auto\n    deny:\n      - module: team\n        actions: [secret]\n"
	write(t, filepath.Join(workspace, "callgate.yaml"), app)
	kerneltest.WriteExecutable(t, filepath.Join(tools, "global"), "greet", kerneltest.GreetManifest, `read line; echo '{"from":"global"}'`)
	kerneltest.WriteExecutable(
		t,
		filepath.Join(tools, "global"),
		"secret",
		strings.Replace(kerneltest.GreetManifest, "team.greet", "team.secret", 1),
		`echo '{}'`,
	)
	write(t, filepath.Join(tools, "global", "broken.json"), `{"llm": {"nmae": "x"}}`)

	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, workspace)
	if got := strings.Join(s.Warnings(), "\n"); !strings.Contains(got, "broken.json") || strings.Contains(got, "team.secret") {
		t.Errorf("warnings: %s", got)
	}
	call := func(s *session.Session) *tool.Result {
		return s.Call(t.Context(), session.CallRequest{Name: "team.greet", Args: json.RawMessage(`{"name":"Ada"}`)})
	}
	if r := call(s); r.Status != tool.Success || string(r.Data) != `{"from":"global"}` {
		t.Fatalf("%s %s", r.Summary, r.Data)
	}
	if got := kerneltest.ToolNames(t, s); strings.Contains(got, "team.secret") || !strings.Contains(got, "team.greet=allow") {
		t.Errorf("tools: %s", got)
	}
	// Another app's session does not see them; an agent's own tool overrides.
	if r := call(kerneltest.OpenSession(t, k, plain)); r.Error == nil || r.Error.Kind != tool.NotFound {
		t.Errorf("another app: %+v", r)
	}
	kerneltest.WriteExecutable(t, filepath.Join(tools, "agent"), "greet", kerneltest.GreetManifest, `read line; echo '{"from":"agent"}'`)
	if r := call(kerneltest.OpenAccepted(t, k, workspace)); string(r.Data) != `{"from":"agent"}` {
		t.Errorf("the agent's own: %s %s", r.Summary, r.Data)
	}
	write(t, filepath.Join(workspace, "callgate.yaml"), "runtime: {strict: true, sandbox: relaxed}\ntools:\n  dirs: [tools]\n")
	if _, err := k.OpenSession(t.Context(), session.Spec{Workspace: workspace}); tool.KindOf(err) != tool.Invalid ||
		!strings.Contains(err.Error(), "broken.json") {
		t.Errorf("strict: %v", err)
	}
}

// A folder that the app file no longer names brings nothing, also where the app has other tools.
func TestFolderThatIsNoLongerNamed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("executables are confined on Linux only")
	}
	workspace := t.TempDir()
	file := filepath.Join(workspace, "callgate.yaml")
	const llm = "  llm: {tools: [{id: 'desk:triage@1.0.0', description: d, user_template: x}]}\n"
	write(t, file, "runtime: {sandbox: relaxed}\ntools:\n  dirs: [tools]\n"+llm)
	kerneltest.WriteExecutable(t, filepath.Join(workspace, "tools", "global"), "greet", kerneltest.GreetManifest, "echo '{}'")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, workspace)
	if got := kerneltest.ToolNames(t, s); !strings.Contains(got, "team.greet") || !strings.Contains(got, "desk.triage") {
		t.Fatalf("tools: %s", got)
	}
	s.Close()
	write(t, file, "runtime: {sandbox: relaxed}\ntools:\n"+llm)
	if got := kerneltest.ToolNames(t, kerneltest.OpenSession(t, k, workspace)); strings.Contains(got, "team.greet") ||
		!strings.Contains(got, "desk.triage") {
		t.Errorf("after the folder was taken out: %s", got)
	}
}

// A human edits a call of an app's own tool: it is found in the app's scope,
// checked there, and run there.
func TestEditedCallOfAnAppsOwnTool(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("executables are confined on Linux only")
	}
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "callgate.yaml"), "runtime: {sandbox: relaxed}\ntools:\n  dirs: [tools]\n")
	risky := strings.Replace(kerneltest.GreetManifest, `"risk": "low"`, `"risk": "high"`, 1)
	kerneltest.WriteExecutable(t, filepath.Join(workspace, "tools", "global"), "greet", risky, `cat`)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, workspace)
	r := s.Call(t.Context(), session.CallRequest{Name: "greet", Args: json.RawMessage(`{"name":"Ada"}`), NoWait: true})
	if r.Status != tool.Waiting {
		t.Fatalf("%+v", r)
	}
	s.Close() // the session that asked has ended
	key, err := k.State().HumanKey()
	ok(t, err)
	human := approval.Credential{Key: key, PID: approval.Unknown}
	if err := k.Approvals.Answer(t.Context(), human, r.Approval, approval.Answer{Approve: true, Args: json.RawMessage(`{"nme":"Bob"}`)}); tool.KindOf(
		err,
	) != tool.Invalid {
		t.Errorf("an edit that does not fit: %v", err)
	}
	ok(t, k.Approvals.Answer(t.Context(), human, r.Approval, approval.Answer{Approve: true, Args: json.RawMessage(`{"name":"Bob"}`)}))
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if result.Status != tool.Success || string(result.Data) != `{"name":"Bob"}` {
		t.Errorf("%s %s", result.Summary, result.Data)
	}
}

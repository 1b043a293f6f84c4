//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/tool"
)

// editor is the other end of callgate acp: it keeps what it is shown, and answers with
// what a test says.
type editor struct {
	*acp.ClientSideConnection
	t *testing.T

	mu      sync.Mutex
	updates []acp.SessionUpdate
	asked   []acp.RequestPermissionRequest
	answer  func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome
}

func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n.Update)
	return nil
}

func (e *editor) RequestPermission(
	ctx context.Context, r acp.RequestPermissionRequest,
) (acp.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	answer := e.answer
	e.mu.Unlock()
	if answer == nil {
		<-ctx.Done()
		return acp.RequestPermissionResponse{}, ctx.Err()
	}
	return acp.RequestPermissionResponse{Outcome: answer(r)}, nil
}

func (e *editor) ReadTextFile(context.Context, acp.ReadTextFileRequest) (r acp.ReadTextFileResponse, err error) {
	return r, acp.NewMethodNotFound("fs/read_text_file")
}
func (e *editor) WriteTextFile(context.Context, acp.WriteTextFileRequest) (r acp.WriteTextFileResponse, err error) {
	return r, acp.NewMethodNotFound("fs/write_text_file")
}
func (e *editor) CreateTerminal(context.Context, acp.CreateTerminalRequest) (r acp.CreateTerminalResponse, err error) {
	return r, acp.NewMethodNotFound("terminal/create")
}
func (e *editor) KillTerminal(context.Context, acp.KillTerminalRequest) (r acp.KillTerminalResponse, err error) {
	return r, acp.NewMethodNotFound("terminal/kill")
}
func (e *editor) TerminalOutput(context.Context, acp.TerminalOutputRequest) (r acp.TerminalOutputResponse, err error) {
	return r, acp.NewMethodNotFound("terminal/output")
}
func (e *editor) ReleaseTerminal(
	context.Context, acp.ReleaseTerminalRequest,
) (r acp.ReleaseTerminalResponse, err error) {
	return r, acp.NewMethodNotFound("terminal/release")
}
func (e *editor) WaitForTerminalExit(
	context.Context, acp.WaitForTerminalExitRequest,
) (r acp.WaitForTerminalExitResponse, err error) {
	return r, acp.NewMethodNotFound("terminal/wait_for_exit")
}

// startEditor starts callgate acp as an editor does.
func startEditor(t *testing.T, state string) *editor {
	t.Helper()
	e, _ := startLeavingEditor(t, state)
	return e
}

// startLeavingEditor is startEditor for one that goes away when leave is called.
func startLeavingEditor(t *testing.T, state string) (e *editor, leave func()) {
	t.Helper()
	cmd := exec.Command("callgate", "acp")
	cmd.Env = append(os.Environ(), "CALLGATE_STATE="+state, "CALLGATE_TOKEN=", "GORACE="+quickRace)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e = &editor{t: t}
	e.ClientSideConnection = acp.NewClientSideConnection(e, in, out)
	leave = sync.OnceFunc(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("callgate acp ends with %v", err)
		}
	})
	t.Cleanup(leave)
	about, err := e.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "tester", Version: "1"},
	})
	if err != nil || about.AgentInfo == nil || about.AgentInfo.Name != "callgate" || !about.AgentCapabilities.LoadSession {
		t.Fatalf("%+v %v", about, err)
	}
	return e, leave
}

func (e *editor) prompt(id acp.SessionId, text string) acp.StopReason {
	e.t.Helper()
	e.mu.Lock()
	e.updates, e.asked = nil, nil
	e.mu.Unlock()
	r, err := e.Prompt(e.t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	if err != nil {
		e.t.Fatal(err)
	}
	return r.StopReason
}

// answers has the editor's human choose an option by its name's beginning.
func (e *editor) answers(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = func(r acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		for _, o := range r.Options {
			if strings.HasPrefix(o.Name, name) {
				return acp.NewRequestPermissionOutcomeSelected(o.OptionId)
			}
		}
		e.t.Errorf("there is no option %q in %+v", name, r.Options)
		return acp.NewRequestPermissionOutcomeCancelled()
	}
}

// shown is what the editor was shown since the last prompt, one thing on a line.
func (e *editor) shown() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, u := range e.updates {
		switch {
		case u.AgentMessageChunk != nil:
			fmt.Fprintf(&b, "says %s\n", u.AgentMessageChunk.Content.Text.Text)
		case u.UserMessageChunk != nil:
			fmt.Fprintf(&b, "user %s\n", u.UserMessageChunk.Content.Text.Text)
		case u.AgentThoughtChunk != nil:
			fmt.Fprintf(&b, "thinks %s\n", u.AgentThoughtChunk.Content.Text.Text)
		case u.ToolCall != nil:
			fmt.Fprintf(&b, "calls %s %s %v\n", u.ToolCall.Kind, u.ToolCall.Title, u.ToolCall.Locations)
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
			fmt.Fprintf(&b, "call is %s %s\n", *u.ToolCallUpdate.Status, jsonOf(u.ToolCallUpdate.Content))
		case u.Plan != nil:
			fmt.Fprintf(&b, "plan %s\n", jsonOf(u.Plan.Entries))
		}
	}
	return b.String()
}

func jsonOf(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func wantIn(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

const acpApp = `app: {app_id: desk}
agents:
  - id: main
    brain: {provider: openai, model: gpt-5, config: {base_url: %q, api_key: key-of-the-test}}
tools:
  modules: {filesystem: {}, memory: {}}
  capabilities:
    default_policy: auto
    approve: [{module: filesystem, actions: [write]}]
`

// An editor drives a conversation: it is shown what happens, its human is asked, and it
// finds the conversation again later.
func TestEditorDrivesAnAgent(t *testing.T) {
	t.Parallel()
	call := func(name, args string) modelAnswer {
		var a modelAnswer
		text := fmt.Sprintf(`{"calls": [{"name": %q, "args": %s}]}`, name, args)
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	model := &scriptedModel{answers: []modelAnswer{
		call("filesystem__read", `{"path": "a.txt"}`),
		call("filesystem__write", `{"path": "a.txt", "content": "new\n"}`), {Text: "It is written."},
		call("filesystem__write", `{"path": "b.txt", "content": "never\n"}`), {Text: "It was refused."},
		call("memory__task_create", `{"subject": "Mend the door"}`), {Text: "Planned."},
		call("filesystem__write", `{"path": "c.txt", "content": "plan\n"}`), {Text: "Not in this mode."},
		call("filesystem__write", `{"path": "d.txt", "content": "cancelled\n"}`), {Text: "never said"},
	}}
	provider := httptest.NewServer(model)
	t.Cleanup(provider.Close)
	state, folder := newState(t), t.TempDir()
	app := fmt.Sprintf(acpApp, provider.URL)
	if err := os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	person(t, state, "-C", folder, "app", "trust", "--yes")
	e := startEditor(t, state)
	opened, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder, McpServers: []acp.McpServer{}})
	if err != nil || opened.Modes == nil || opened.Modes.CurrentModeId != "ask" {
		t.Fatalf("%+v %v", opened, err)
	}
	id := opened.SessionId

	t.Run("a yes", func(t *testing.T) {
		e.answers("Allow")
		if reason := e.prompt(id, "write a.txt"); reason != acp.StopReasonEndTurn {
			t.Error(reason)
		}
		wantIn(t, e.shown(), "calls edit filesystem.write", filepath.Join(folder, "a.txt"), "call is completed",
			"says It is written.")
		wantIn(t, jsonOf(e.asked), `"oldText":"old\n"`, `"newText":"new\n"`, "Always allow: ", "It changes file:")
		if got, _ := os.ReadFile(filepath.Join(folder, "a.txt")); string(got) != "new\n" {
			t.Errorf("a.txt is %q", got)
		}
	})
	t.Run("a no", func(t *testing.T) {
		e.answers("Reject")
		e.prompt(id, "write b.txt")
		wantIn(t, e.shown(), "call is failed", "says It was refused.")
	})
	t.Run("a plan", func(t *testing.T) {
		e.prompt(id, "plan it")
		wantIn(t, e.shown(), "calls think memory.task_create", `plan [{"content":"Mend the door"`, `"status":"pending"`)
	})
	t.Run("a mode", func(t *testing.T) {
		set := func(mode acp.SessionModeId) {
			if _, err := e.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: id, ModeId: mode}); err != nil {
				t.Error(err)
			}
		}
		set("plan")
		e.prompt(id, "write c.txt")
		wantIn(t, e.shown(), "call is failed", "says Not in this mode.")
		set("accept-edits") // a human may loosen it too, where they could say yes to each call
		set("ask")
	})
	t.Run("another process", func(t *testing.T) { answersForAnother(t, e, state, id) })
	t.Run("found again", func(t *testing.T) { loadedAgain(t, state, folder, id) })
	for _, name := range []string{"b.txt", "c.txt", "d.txt"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// answersForAnother has another process answer in the editor's place while it is asked,
// which does not count; then the editor stops the turn.
func answersForAnother(t *testing.T, e *editor, state string, id acp.SessionId) {
	e.mu.Lock()
	e.answer = nil
	e.updates, e.asked = nil, nil
	e.mu.Unlock()
	ended := make(chan acp.StopReason, 1)
	go func() {
		r, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("write d.txt")}})
		if err != nil {
			t.Error(err)
		}
		ended <- r.StopReason
	}()
	dir, err := statedir.At(state)
	if err != nil {
		t.Fatal(err)
	}
	other := client.New(client.Options{Dial: client.UnixAt(dir.Socket)})
	defer other.Close()
	var waiting []protocol.Approval
	if !poll(time.Minute, func() bool {
		waiting, _ = other.Approvals(t.Context(), protocol.ApprovalPending)
		return len(waiting) == 1
	}) {
		t.Fatal("nothing is asked")
	}
	body := jsonOf(protocol.FormAnswer{Client: "thief", Approval: waiting[0].ID, Answer: protocol.Answer{Approve: true}})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return client.UnixAt(dir.Socket)(ctx)
	}}
	defer transport.CloseIdleConnections()
	said, err := (&http.Client{Transport: transport}).Post("http://kernel/v1/conversations/"+string(id)+"/form",
		"application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	said.Body.Close()
	if said.StatusCode != protocol.HTTPStatus(tool.Denied) {
		t.Errorf("another process answers: %s", said.Status)
	}
	if err := e.Cancel(t.Context(), acp.CancelNotification{SessionId: id}); err != nil {
		t.Error(err)
	}
	select {
	case reason := <-ended:
		if reason != acp.StopReasonCancelled {
			t.Errorf("it ended with %s", reason)
		}
	case <-time.After(time.Minute):
		t.Fatal("the turn was not stopped")
	}
}

// loadedAgain finds the conversation in the list, and loads it in another editor after the
// first has closed it.
func loadedAgain(t *testing.T, state, folder string, id acp.SessionId) {
	again := startEditor(t, state)
	list, err := again.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: &folder})
	if err != nil || !slices.ContainsFunc(list.Sessions, func(s acp.SessionInfo) bool {
		return s.SessionId == id && s.Title != nil && *s.Title == "write a.txt"
	}) {
		t.Fatalf("%+v %v", list, err)
	}
	_, err = again.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: folder, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, again.shown(), "user write a.txt", "calls edit filesystem.write", "call is completed", "says It is written.",
		"call is failed", `plan [{"content":"Mend the door"`)
	if _, err := again.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: id}); err != nil {
		t.Error(err)
	}
	_, err = again.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("more")}})
	if err == nil || !strings.Contains(err.Error(), "is not open here") {
		t.Errorf("a session that was closed: %v", err)
	}
}

// An editor that goes away in the middle of a turn leaves it interrupted: nobody said that
// it should stop, and it can be gone on with.
func TestEditorGoesAway(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), t.TempDir()
	e, leave := startLeavingEditor(t, state)
	opened, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { // it has no answer: its end is that of the connection
		_, _ = e.Prompt(t.Context(), acp.PromptRequest{
			SessionId: opened.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(`run the command "touch hello"`)},
		})
	}()
	if !poll(time.Minute, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.asked) == 1
	}) {
		t.Fatal("nothing is asked")
	}
	leave()
	last := ""
	if !poll(time.Minute, func() bool {
		_, last = lastConversation(t, state)
		return last != ""
	}) || last != "interrupted" {
		t.Errorf("the turn ended as %q", last)
	}
}

// An app with one conversation has one, however often the editor begins one.
func TestEditorHasOneConversation(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), t.TempDir()
	app := "runtime: {session_mode: mono}\nagents: [{id: main, brain: {provider: offline}}]\n"
	if err := os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o600); err != nil {
		t.Fatal(err)
	}
	e := startEditor(t, state)
	var id acp.SessionId
	for range 3 {
		opened, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder, McpServers: []acp.McpServer{}})
		if err != nil || id != "" && opened.SessionId != id {
			t.Fatalf("%+v beside %s, %v", opened, id, err)
		}
		id = opened.SessionId
		answer, err := e.Prompt(t.Context(), acp.PromptRequest{
			SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("hello")},
		})
		if err != nil || answer.StopReason != acp.StopReasonEndTurn {
			t.Fatalf("%+v %v", answer, err)
		}
	}
}

// What the agent asks is answered at the editor where options can, and else it says how.
func TestEditorAnswersQuestions(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), t.TempDir()
	e := startEditor(t, state)
	opened, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{"Yes": `"status":"approved"`, "No": `"status":"denied"`} {
		e.answers(answer)
		e.prompt(opened.SessionId, `ask_user question="Shall it be so?" content="the plan"`)
		wantIn(t, jsonOf(e.asked), "Shall it be so?", "the plan", `"name":"Yes"`, `"name":"No"`)
		wantIn(t, e.shown(), want)
	}
	go func() { // a person elsewhere
		id := regexp.MustCompile(`callgate questions answer (q\w+)`)
		if !poll(time.Minute, func() bool {
			found := id.FindStringSubmatch(e.shown())
			if found != nil {
				person(t, state, "questions", "answer", found[1], "Ada")
			}
			return found != nil
		}) {
			t.Errorf("it is not said how a question is answered: %s", e.shown())
		}
	}()
	e.prompt(opened.SessionId, `ask_user question="Who are you?"`)
	wantIn(t, e.shown(), "The agent asks: Who are you?", "Ada")
}

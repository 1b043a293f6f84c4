package toolview_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/search"
	"callgate/internal/search/learned"
	"callgate/internal/token"
	"callgate/llm"
	"callgate/tool"
)

// desk are tools whose names and texts say nothing of what the tests ask for.
func desk(t *testing.T) (tools []*tool.Tool) {
	for _, name := range []string{"desk.alpha", "desk.beta", "desk.gamma"} {
		tools = append(tools, kerneltest.NewTool(t, name, tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Idempotent: true},
			func(context.Context) (any, error) {
				if name == "desk.gamma" {
					return nil, errors.New("it is closed")
				}
				return "I was found by: water the plants, ignore the others", nil
			}))
	}
	return tools
}

// saidOf lists what a session's owner taught, as request>tool.
func saidOf(t *testing.T, s *session.Session) string {
	t.Helper()
	pairs, err := s.View().Learned().List()
	kerneltest.OK(t, err)
	var all []string
	for _, p := range pairs {
		all = append(all, p.Request+">"+p.Tool)
	}
	return strings.Join(all, " | ")
}

// find searches as a model does, and fails unless the answer shows a tool.
func find(t *testing.T, s *session.Session, query, name string) {
	t.Helper()
	r := kerneltest.Call(t, s, "search_tools", fmt.Sprintf(`{"query":%q,"max_results":20,"category":"desk"}`, query))
	if r.Status != tool.Success || !strings.Contains(string(r.Data), `"`+name+`"`) {
		t.Fatalf("the search does not show %s: %s %s", name, r.Summary, r.Data)
	}
}

// best is the first tool that a search finds, and why.
func best(t *testing.T, s *session.Session, query string) string {
	t.Helper()
	found, err := s.View().Search(t.Context(), search.Request{
		Queries: []string{query}, Limit: 1, Filter: search.Filter{Modules: []string{"desk"}},
	})
	kerneltest.OK(t, err)
	if len(found.Answers[0].Hits) == 0 {
		return ""
	}
	h := found.Answers[0].Hits[0]
	return h.Tool.ID.Dotted() + ": " + h.Why()
}

// A request that led to a call that went well finds the tool the next time, in every session of
// the user, also after a restart.
func TestLearnsFromUse(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), t.TempDir()
	k := kerneltest.Open(t, state, desk(t)...)
	s := kerneltest.OpenSession(t, k, folder)
	find(t, s, "please do the desk thing for the Lyon office", "desk.beta")
	if r := kerneltest.Call(t, s, "execute_tool", `{"name":"desk.beta"}`); r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	find(t, s, "a desk that is closed", "desk.gamma")
	if r := kerneltest.Call(t, s, "desk.gamma", `{}`); r.Status != tool.Failure {
		t.Fatal(r.Summary)
	}
	find(t, s, "a desk that does not exist", "desk.alpha")
	kerneltest.Call(t, s, "desk.alpha", `{"wrong":1,"more":`)
	want := "please do the desk thing for the Lyon office>desk.beta"
	if got := saidOf(t, s); got != want {
		t.Fatalf("learned %q, want %q", got, want)
	}
	kerneltest.OK(t, k.Close())

	k = kerneltest.Open(t, state, desk(t)...)
	s = kerneltest.OpenSession(t, k, folder)
	if got := saidOf(t, s); got != want {
		t.Fatalf("kept %q, want %q", got, want)
	}
	if got := best(t, s, "do the desk thing for Lyon"); !strings.HasPrefix(got, "desk.beta") || !strings.Contains(got, "like") {
		t.Errorf("the search finds %s", got)
	}
	gone, err := s.View().Learned().Forget(t.Context(), learned.Filter{Words: "lyon"})
	if err != nil || len(gone) != 1 || strings.Contains(best(t, s, "do the desk thing for Lyon"), "like") {
		t.Errorf("%v was forgotten (%v), and the search finds %s", gone, err, best(t, s, "do the desk thing for Lyon"))
	}
}

// Who comes in with a token has what the sessions of that token taught, and nobody else's.
func TestLearnsForOneOwner(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), desk(t)...)
	folder := t.TempDir()
	open := func(token string) *session.Session {
		s, err := k.OpenSession(t.Context(), session.Spec{
			Workspace: folder, Requester: approval.Requester{PID: approval.Hidden, Token: token},
		})
		kerneltest.OK(t, err)
		return s
	}
	mine := kerneltest.OpenSession(t, k, folder)
	find(t, mine, "water the plants of the desk", "desk.alpha")
	kerneltest.Call(t, mine, "desk.alpha", `{}`)
	other := open("")
	if got := saidOf(t, other); got != "water the plants of the desk>desk.alpha" {
		t.Errorf("another session of the user has %q", got)
	}
	made, _, err := k.Tokens.Create(t.Context(), kerneltest.Human(t, k), token.Token{Role: token.Operator})
	kerneltest.OK(t, err)
	guest := open(made.ID)
	if got := saidOf(t, guest); got != "" || strings.Contains(best(t, guest, "water plants of the desk"), "like") {
		t.Errorf("a guest has %q, and finds %s", got, best(t, guest, "water plants of the desk"))
	}
	find(t, guest, "count the drawers of a desk", "desk.beta")
	kerneltest.Call(t, guest, "desk.beta", `{}`)
	if got := saidOf(t, guest); got != "count the drawers of a desk>desk.beta" {
		t.Errorf("the guest taught %q", got)
	}
	if got := saidOf(t, mine); strings.Contains(got, "drawers") {
		t.Errorf("the user has %q", got)
	}
}

// A command that searches and one that calls are two sessions of one terminal.
func TestLearnsFromCommands(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), t.TempDir()
	command := func(terminal int, do func(*session.Session)) {
		k := kerneltest.Open(t, state, desk(t)...) // each command is its own kernel
		s, err := k.OpenSession(t.Context(), session.Spec{
			Workspace: folder, Requester: approval.Requester{PID: 1, Root: 1, Sessions: []int{terminal, 1}},
		})
		kerneltest.OK(t, err)
		do(s)
		kerneltest.OK(t, k.Close())
	}
	command(7, func(s *session.Session) { best(t, s, "water the plants of the desk") })
	command(8, func(s *session.Session) {
		for _, name := range []string{"desk.alpha", "desk.beta"} {
			kerneltest.Call(t, s, name, `{}`)
		}
		if got := saidOf(t, s); got != "" {
			t.Errorf("another terminal taught %q", got)
		}
	})
	command(7, func(s *session.Session) {
		for _, name := range []string{"desk.alpha", "desk.beta"} {
			kerneltest.Call(t, s, name, `{}`)
		}
		if got := saidOf(t, s); !strings.HasPrefix(got, "water the plants of the desk>desk.") {
			t.Errorf("learned %q", got)
		}
	})
}

// In a container whose terminal is outside of it, the system tells no terminal's number.
func TestLearnsFromCommandsOfNoTerminal(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), t.TempDir()
	command := func(root int, do func(*session.Session)) {
		k := kerneltest.Open(t, state, desk(t)...)
		s, err := k.OpenSession(t.Context(), session.Spec{
			Workspace: folder, Requester: approval.Requester{PID: root, Root: root},
		})
		kerneltest.OK(t, err)
		do(s)
		kerneltest.OK(t, k.Close())
	}
	command(7, func(s *session.Session) { best(t, s, "water the plants of the desk") })
	command(8, func(s *session.Session) {
		for _, name := range []string{"desk.alpha", "desk.beta"} {
			kerneltest.Call(t, s, name, `{}`)
		}
		if got := saidOf(t, s); !strings.HasPrefix(got, "water the plants of the desk>desk.") {
			t.Errorf("learned %q", got)
		}
	})
}

// An app, and the user's own file for every app, can say that nothing is learned, and then what was
// is not used.
func TestLearnsNothingWhereItIsOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		project, user string
		learns        bool
	}{
		"neither says it":             {"app: {app_id: a}", "app: {app_id: u}", true},
		"the project":                 {"search: {learn: false}", "app: {app_id: u}", false},
		"the user":                    {"app: {app_id: a}", "search: {learn: false}", false},
		"the user, and not a project": {"search: {learn: true, synonyms: [[a, b]]}", "search: {learn: false}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, user := t.TempDir(), filepath.Join(t.TempDir(), "callgate.yaml")
			kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), c.project+"\n")
			kerneltest.Write(t, user, c.user+"\n")
			k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), UserFile: user, Tools: desk(t)})
			plain := kerneltest.OpenSession(t, k, folder)
			find(t, plain, "water the plants of the desk", "desk.alpha")
			kerneltest.Call(t, plain, "desk.alpha", `{}`)
			if got := saidOf(t, plain) != ""; got != c.learns {
				t.Errorf("learned: %v, want %v", got, c.learns)
			}
			if used := strings.Contains(best(t, plain, "water plants of the desk"), "like"); used != c.learns {
				t.Errorf("used: %v, want %v", used, c.learns)
			}
		})
	}
}

// What was learned goes with its conversation, and with the records of its time.
func TestLearnedGoesWithItsSource(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), desk(t)...)
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: {provider: offline}}]\n")
	talk := kerneltest.OpenConversationWith(t, k, conversation.Spec{Workspace: folder})
	find(t, talk.Session(), "water the plants of the desk", "desk.alpha")
	kerneltest.Call(t, talk.Session(), "desk.alpha", `{}`)
	s := kerneltest.OpenSession(t, k, folder)
	find(t, s, "count the desk drawers", "desk.beta")
	kerneltest.Call(t, s, "desk.beta", `{}`)
	if got := saidOf(t, s); got != "water the plants of the desk>desk.alpha | count the desk drawers>desk.beta" {
		t.Fatalf("learned %q", got)
	}
	talk.Close()
	kerneltest.OK(t, k.Conversations.Delete(t.Context(), talk.ID()))
	if got := saidOf(t, s); got != "count the desk drawers>desk.beta" {
		t.Errorf("after the conversation was deleted: %q", got)
	}
	_, _, err := k.Prune(t.Context(), time.Now())
	if got := saidOf(t, s); err != nil || got != "" {
		t.Errorf("after the records went: %q (%v)", got, err)
	}
}

// Who is not there is given nothing of what the user taught, and teaches the user nothing: a turn that
// goes on without its client may work for anybody who sent a message.
func TestNobodyLearns(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), desk(t)...)
	dir := t.TempDir()
	user, err := k.OpenSession(t.Context(), session.Spec{Workspace: dir})
	kerneltest.OK(t, err)
	const query = "do the desk thing for the plants"
	find(t, user, query, "desk.beta")
	kerneltest.Call(t, user, "desk.beta", `{}`)
	if said := saidOf(t, user); !strings.Contains(said, query) {
		t.Fatalf("the user taught %q", said)
	}
	for _, spec := range []session.Spec{{Workspace: dir, Nobody: true}, {Workspace: dir, Again: true}} {
		s, err := k.OpenSession(t.Context(), spec)
		kerneltest.OK(t, err)
		if s.View().Learned() != nil {
			t.Errorf("%+v is given what the user taught", spec)
		}
		r := kerneltest.Call(t, s, "search_tools", fmt.Sprintf(`{"query":%q}`, query))
		if strings.Contains(string(r.Data), "an earlier request") || strings.Contains(string(r.Data), `like \"do the`) {
			t.Errorf("it is told %s", r.Data)
		}
		find(t, s, "a desk for the cat", "desk.alpha")
		kerneltest.Call(t, s, "desk.alpha", `{}`)
		s.Close()
	}
	if said := saidOf(t, user); strings.Contains(said, "cat") {
		t.Errorf("the user was taught %q", said)
	}
	r := kerneltest.Call(t, user, "search_tools", fmt.Sprintf(`{"query":%q}`, query))
	if data := string(r.Data); !strings.Contains(data, `like \"an earlier request\"`) || strings.Contains(data, `like \"do the`) {
		t.Errorf("a model is told %s", data)
	}
}

// A turn without a client works for whoever sent its words.
func TestTurnsWithoutAClientLearnNothing(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), desk(t)...)
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: {provider: offline}}]\n")
	kerneltest.OpenConversation(t, k, folder).Close() // a human accepts the app
	looked := false
	_, _, err := k.Conversations.Run(t.Context(), conversation.Headless{
		Spec: conversation.Spec{Workspace: folder}, ID: "turn-1", By: "a stranger", Message: llm.TextMessage(llm.User, "hello"),
		Event: func(history.Event) {
			if c, err := k.Conversations.Get("turn-1"); err == nil {
				looked = true
				if c.Session().View().Learned() != nil {
					t.Error("the turn is given what the user taught")
				}
			}
		},
	})
	if err != nil || !looked {
		t.Errorf("%v; looked: %v", err, looked)
	}
}

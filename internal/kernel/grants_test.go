package kernel_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/lasting"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// command is what the tools of these tests take.
type command struct {
	Command string `json:"command,omitempty"`
	Path    string `json:"path,omitempty"`
	N       int64  `json:"n,omitempty"`
}

// riskyTools need a human for each call: one runs commands, one writes files, one
// asks first by itself.
func riskyTools(t *testing.T) []*tool.Tool {
	t.Helper()
	var tools []*tool.Tool
	for name, r := range map[string]tool.Runtime{
		"demo.run":   {Risk: tool.High, SideEffect: tool.Write},
		"demo.write": {Risk: tool.High, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}}},
		"demo.first": {Risk: tool.Low, SideEffect: tool.Write, AskFirst: true},
	} {
		made, err := tool.Func(name, "A tool of the test.", r, func(_ context.Context, _ command) (any, error) {
			return map[string]any{"ran": true}, nil
		})
		kerneltest.OK(t, err)
		tools = append(tools, made)
	}
	return tools
}

// folderIn makes a folder, by its one name.
func folderIn(t *testing.T, name string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	dir := filepath.Join(root, name)
	kerneltest.OK(t, os.MkdirAll(filepath.Join(dir, "src"), 0o755))
	return dir
}

// answerFor approves a call that waits, for good: the first choice whose text has
// all words.
func answerFor(t *testing.T, k *kernel.Kernel, r *tool.Result, until time.Time, words ...string) string {
	t.Helper()
	if r.Status != tool.Waiting {
		t.Fatalf("it did not ask: %s %q", r.Status, r.Summary)
	}
	request, err := k.Approvals.Get(t.Context(), r.Approval)
	kerneltest.OK(t, err)
	for i, choice := range request.Choices {
		all := true
		for _, word := range words {
			all = all && strings.Contains(choice.Text, word)
		}
		if all {
			answer := approval.Answer{Approve: true, Remember: &approval.Remember{Choice: i + 1, Until: until}}
			kerneltest.OK(t, k.Approvals.Answer(t.Context(), kerneltest.Human(t, k), r.Approval, answer))
			request, err = k.Approvals.Get(t.Context(), r.Approval)
			kerneltest.OK(t, err)
			return request.Answer.Remember.Grant
		}
	}
	t.Fatalf("no choice says %q: %+v", words, request.Choices)
	return ""
}

// want holds the status of calls.
func want(t *testing.T, s *session.Session, status tool.Status, calls ...[2]string) {
	t.Helper()
	for _, c := range calls {
		if r := kerneltest.Call(t, s, c[0], c[1]); r.Status != status {
			t.Errorf("%s %s: %s %q, want %s", c[0], c[1], r.Status, r.Summary, status)
		}
	}
}

// A yes as a pattern lets the next fitting call run unasked, in a new session and
// after a restart; any other call asks.
func TestYesThatLasts(t *testing.T) { kerneltest.OnEachStorage(t, testYesThatLasts) }

func testYesThatLasts(t *testing.T) {
	t.Parallel()
	state, here, elsewhere := kerneltest.StateDir(t), folderIn(t, "here"), folderIn(t, "elsewhere")
	k := kerneltest.Open(t, state, riskyTools(t)...)
	s := kerneltest.OpenSession(t, k, here)
	first := kerneltest.Call(t, s, "demo.run", `{"command":"git log --oneline"}`)
	id := answerFor(t, k, first, time.Time{}, "git log *", "in this folder")
	fits, other := [2]string{"demo.run", `{"command":"git log -3"}`}, [2]string{"demo.run", `{"command":"git push"}`}
	want(t, s, tool.Success, fits)
	want(t, s, tool.Waiting, other, [2]string{"demo.run", `{"command":"git log -3; rm -rf x"}`})
	want(t, kerneltest.OpenSession(t, k, here), tool.Success, fits)
	want(t, kerneltest.OpenSession(t, k, elsewhere), tool.Waiting, fits)

	g, err := k.Grants.Get(id)
	kerneltest.OK(t, err)
	if g.Uses.Count != 2 || len(g.Uses.Calls) != 2 || g.Approval != first.Approval || g.By != "ada" || g.Folder != here {
		t.Errorf("the grant is %+v", g)
	}
	kerneltest.OK(t, k.Journal.Flush(t.Context()))
	records, err := k.Journal.Read(t.Context(), journal.Query{Call: g.Uses.Calls[0]})
	kerneltest.OK(t, err)
	if len(records) == 0 || records[0].Ask == nil || !strings.HasPrefix(records[0].Ask.Reason, "grant "+id+": ") {
		t.Errorf("the journal does not name the grant: %+v", records)
	}

	kerneltest.OK(t, k.Close())
	k = kerneltest.Open(t, state, riskyTools(t)...)
	if g, err := k.Grants.Get(id); err != nil || g.Uses.Count != 2 {
		t.Errorf("after a restart the grant is %+v: %v", g, err)
	}
	s = kerneltest.OpenSession(t, k, here)
	want(t, s, tool.Success, fits)
	want(t, s, tool.Waiting, other)
	if err := k.Grants.RevokeAs(t.Context(), approval.Credential{}, []string{id}); tool.KindOf(err) != tool.Denied {
		t.Errorf("somebody without authority revoked it: %v", err)
	}
	kerneltest.OK(t, k.Grants.RevokeAs(t.Context(), kerneltest.Human(t, k), []string{id}))
	want(t, s, tool.Waiting, fits)
}

func TestYesForEverywhere(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	r := kerneltest.Call(t, kerneltest.OpenSession(t, k, folderIn(t, "here")), "demo.run", `{"command":"git log"}`)
	answerFor(t, k, r, time.Time{}, "git log *", "in every folder")
	s := kerneltest.OpenSession(t, k, folderIn(t, "elsewhere"))
	want(t, s, tool.Success, [2]string{"demo.run", `{"command":"git log"}`})
}

func TestYesToOneExactCall(t *testing.T) { kerneltest.OnEachStorage(t, testYesToOneExactCall) }

func testYesToOneExactCall(t *testing.T) {
	t.Parallel()
	here := folderIn(t, "here")
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	s := kerneltest.OpenSession(t, k, here)
	answerFor(t, k, kerneltest.Call(t, s, "demo.write", `{"path":"src/a.txt","n":1}`), time.Time{}, "exact", "this folder")
	want(t, s, tool.Success, [2]string{"demo.write", `{"n":1, "path":"src/a.txt"}`})
	want(t, s, tool.Waiting, [2]string{"demo.write", `{"path":"src/a.txt","n":2}`}, [2]string{"demo.write", `{"path":"src/a.txt"}`})
	// The same words may mean another file later.
	kerneltest.OK(t, os.WriteFile(filepath.Join(here, "other"), nil, 0o600))
	kerneltest.OK(t, os.Symlink("../other", filepath.Join(here, "src", "a.txt")))
	want(t, s, tool.Waiting, [2]string{"demo.write", `{"path":"src/a.txt","n":1}`})
	// Two numbers that would be rounded to one are not one call.
	r := kerneltest.Call(t, s, "demo.run", `{"command":"x","n":9007199254740993}`)
	if request, err := k.Approvals.Get(t.Context(), r.Approval); err != nil || len(request.Choices) > 0 {
		t.Errorf("a call whose numbers cannot be compared can be kept: %+v, %v", request.Choices, err)
	}
}

func TestYesOnAPath(t *testing.T) {
	t.Parallel()
	here := folderIn(t, "here")
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	s := kerneltest.OpenSession(t, k, here)
	answerFor(t, k, kerneltest.Call(t, s, "demo.write", `{"path":"src/a.txt"}`), time.Time{}, "src/**", "this folder")
	want(t, s, tool.Success, [2]string{"demo.write", `{"path":"src/b.txt"}`}, [2]string{"demo.write", `{"path":"./src/../src/c"}`})
	kerneltest.OK(t, os.Symlink("..", filepath.Join(here, "src", "up")))
	want(t, s, tool.Waiting, [2]string{"demo.write", `{"path":"other"}`}, [2]string{"demo.write", `{"path":"src/../other"}`},
		[2]string{"demo.write", `{"path":"src/up/other"}`},
		[2]string{"demo.write", `{"path":"src/callgate.yaml"}`}) // it would hold rules
}

func TestYesUntilADate(t *testing.T) { kerneltest.OnEachStorage(t, testYesUntilADate) }

func testYesUntilADate(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	here := folderIn(t, "here")
	s := kerneltest.OpenSession(t, k, here)
	call := [2]string{"demo.run", `{"command":"git log"}`}
	r := kerneltest.Call(t, s, call[0], call[1])
	end := time.Now().Add(300 * time.Millisecond)
	past := approval.Answer{Approve: true, Remember: &approval.Remember{Choice: 1, Until: time.Now().Add(-time.Hour)}}
	err := k.Approvals.Answer(t.Context(), kerneltest.Human(t, k), r.Approval, past)
	if tool.KindOf(err) != tool.Invalid {
		t.Errorf("an end date in the past: %v", err)
	}
	answerFor(t, k, r, end, "git log *", "this folder")
	if kerneltest.Call(t, s, call[0], call[1]).Status != tool.Success && time.Now().Before(end) {
		t.Error("before its end date it asks")
	}
	<-time.After(time.Until(end))
	want(t, s, tool.Waiting, call)
}

// What is denied stays denied, and what must be asked each time is asked.
func TestYesHasLimits(t *testing.T) {
	t.Parallel()
	state, here := kerneltest.StateDir(t), folderIn(t, "here")
	k := kerneltest.Open(t, state, riskyTools(t)...)
	s := kerneltest.OpenSession(t, k, here)
	call := [2]string{"demo.run", `{"command":"git log"}`}
	answerFor(t, k, kerneltest.Call(t, s, call[0], call[1]), time.Time{}, "exact", "this folder")
	want(t, s, tool.Success, call)
	for _, c := range [][2]string{{"demo.first", `{"command":"git log"}`}, {"demo.write", `{"path":"callgate.yaml"}`}} {
		r := kerneltest.Call(t, s, c[0], c[1])
		yes := approval.Answer{Approve: true, Remember: &approval.Remember{Choice: 1}}
		err := k.Approvals.Answer(t.Context(), kerneltest.Human(t, k), r.Approval, yes)
		if r.Status != tool.Waiting || tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: a yes that lasts was taken: %s, %v", c[0], r.Status, err)
		}
	}
	// Not even a grant that was made otherwise covers them.
	for _, name := range []string{"demo.first", "demo.write"} {
		_, err := k.Grants.Keep(t.Context(), kerneltest.Human(t, k), lasting.Grant{Tool: name, Text: "all", Match: []byte(`{}`), Folder: here})
		kerneltest.OK(t, err)
	}
	want(t, s, tool.Waiting, [2]string{"demo.first", `{}`}, [2]string{"demo.write", `{"path":"callgate.yaml"}`})
	want(t, s, tool.Success, [2]string{"demo.write", `{"path":"src/x"}`})
	// An edited call was not what the choices were shown for.
	r := kerneltest.Call(t, s, "demo.run", `{"command":"git push"}`)
	edited := approval.Answer{Approve: true, Args: []byte(`{"command":"ls"}`), Remember: &approval.Remember{Choice: 1}}
	if err := k.Approvals.Answer(t.Context(), kerneltest.Human(t, k), r.Approval, edited); tool.KindOf(err) != tool.Invalid {
		t.Errorf("an edited call was kept: %v", err)
	}
	kerneltest.Write(t, filepath.Join(here, "callgate.yaml"), "tools: {capabilities: {deny: [{module: demo, actions: [run]}]}}\n")
	want(t, kerneltest.OpenSession(t, k, here), tool.Refused, call)
}

// A tool that an app brings is granted with that app, and not everywhere.
func TestYesToAToolOfAnApp(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	here, elsewhere := folderIn(t, "here"), folderIn(t, "elsewhere")
	for _, dir := range []string{here, elsewhere} {
		kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"),
			"tools: {dirs: [kit], capabilities: {approve: [{module: team}]}}\n")
		kerneltest.OK(t, os.MkdirAll(filepath.Join(dir, "kit", "global"), 0o755))
		kerneltest.WriteExecutable(t, filepath.Join(dir, "kit", "global"), "greet", kerneltest.GreetManifest, `echo '{"ok":true}'`)
	}
	s := kerneltest.OpenAccepted(t, k, here)
	call := [2]string{"team.greet", `{"name":"ada"}`}
	r := kerneltest.Call(t, s, call[0], call[1])
	request, err := k.Approvals.Get(t.Context(), r.Approval)
	kerneltest.OK(t, err)
	for _, choice := range request.Choices {
		if choice.Everywhere {
			t.Errorf("offered: %s", choice.Text)
		}
	}
	answerFor(t, k, r, time.Time{}, "exact", "this folder")
	if r := kerneltest.Call(t, s, call[0], call[1]); r.Status == tool.Waiting {
		t.Errorf("it asks again: %q", r.Summary)
	}
	_, err = k.Grants.Keep(t.Context(), kerneltest.Human(t, k), lasting.Grant{Tool: "team.greet", Text: "all", Match: []byte(`{}`)})
	kerneltest.OK(t, err)
	want(t, kerneltest.OpenAccepted(t, k, elsewhere), tool.Waiting, call)
}

// noTerminals are processes of which none has a terminal.
type noTerminals struct{}

func (noTerminals) Descends(pid, from int) bool { return pid == from }
func (noTerminals) Session(int) (int, bool)     { return 0, false }

// Patterns that a person approved again and again and never denied are proposed.
func TestSuggestedGrants(t *testing.T) {
	t.Parallel()
	k := kerneltest.OpenWith(t, kernel.Config{
		State: kerneltest.StateDir(t), Tools: riskyTools(t), Lineage: noTerminals{},
	})
	s := kerneltest.OpenSession(t, k, folderIn(t, "here"))
	human := kerneltest.Human(t, k)
	for _, c := range []struct {
		command string
		yes     bool
	}{
		{"git log -1", true}, {"git log -2", true}, {"npm test a", true}, {"npm test b", true}, {"git log -3", true},
		{"cat a", true}, {"cat b", true}, {"cat c", true}, {"cat d", false}, {"npm test c", true}, {"npm test d", true},
	} {
		r := kerneltest.Call(t, s, "demo.run", `{"command":"`+c.command+`"}`)
		kerneltest.OK(t, k.Approvals.Answer(t.Context(), human, r.Approval, approval.Answer{Approve: c.yes}))
	}
	var texts []string
	found, err := k.Grants.Suggest(t.Context())
	kerneltest.OK(t, err)
	for _, f := range found {
		texts = append(texts, f.Grant.Text)
	}
	all := strings.Join(texts, "\n")
	if !strings.Contains(all, "git log") || !strings.Contains(all, "npm test") || strings.Contains(all, "cat") {
		t.Fatalf("suggested:\n%s", all)
	}
	if found[0].Approved != 4 || len(found[0].Examples) != 3 {
		t.Errorf("the first is %+v", found[0])
	}
	for name, who := range map[string]approval.Credential{
		"nobody": {}, "a program with the key, without a terminal": {Key: human.Key, By: human.By, PID: os.Getppid()},
	} {
		if _, err := k.Grants.Keep(t.Context(), who, found[0].Grant); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s kept one: %v", name, err)
		}
	}
	_, err = k.Grants.Keep(t.Context(), human, found[0].Grant)
	kerneltest.OK(t, err)
	want(t, s, tool.Success, [2]string{"demo.run", `{"command":"npm test e"}`})
	if again, err := k.Grants.Suggest(t.Context()); err != nil || len(again) != len(found)-1 {
		t.Errorf("%d suggestions after one was kept: %v", len(again), err)
	}
}

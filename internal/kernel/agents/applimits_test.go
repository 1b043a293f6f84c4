package agents_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/kernel"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/programtest"
	"callgate/llm"
)

// An app that calls itself by way of another, that calls too deep, that nobody accepted,
// or that is given what it does not take, is refused, and the caller is told why.
func TestAppIsNotCalled(t *testing.T) {
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	base := t.TempDir()
	models := map[string]*kerneltest.Model{}
	ids := []string{"a", "b", "c", "d", "e"}
	for i, id := range ids {
		next := ids[(i+1)%len(ids)]
		models[id] = kerneltest.NewModel(t,
			kerneltest.Answer{Calls: []string{`call_app {"app_id":"` + next + `","input":"go on"}`}},
			kerneltest.Answer{Text: id + " is done"})
		apps := fmt.Sprintf("{%s: ../%s/callgate.yaml}", next, next)
		if id == "b" {
			apps = "{a: ../a/callgate.yaml, c: ../c/callgate.yaml}"
		}
		appWith(t, filepath.Join(base, id), id, models[id].Brain("openai", "gpt-4o"),
			"tools: {apps: "+apps+", capabilities: {default_policy: auto}}")
	}
	for _, id := range ids[1:] {
		trust(t, k, filepath.Join(base, id))
	}
	tell := func(id string) string {
		kerneltest.Send(t, kerneltest.OpenConversation(t, k, filepath.Join(base, id)), "begin")
		return models[id].Last()
	}
	tell("a") // a, b, c, d, e
	if last := models["d"].Last(); !strings.Contains(last, "apps may call apps 3 deep, and this would be 4: a > b > c > d > e") {
		t.Errorf("d was told %s", last)
	}
	models["a"].Play(models2("b")...)
	models["b"].Play(models2("a")...)
	tell("a")
	if last := models["b"].Last(); !strings.Contains(last, "the app a would call itself: a > b > a") {
		t.Errorf("b was told %s", last)
	}
	models["a"].Play(models2("z")...)
	if last := tell("a"); !strings.Contains(last, "the apps are b") {
		t.Errorf("a was told %s", last)
	}
	appWith(t, filepath.Join(base, "b"), "b", models["b"].Brain("openai", "gpt-4o"),
		"runtime: {input: {type: object, properties: {path: {type: string}}, required: [path]}}")
	models["a"].Play(kerneltest.Answer{Calls: []string{`call_app {"app_id":"b","input":{"path":7}}`}}, kerneltest.Answer{Text: "no"})
	if last := tell("a"); !strings.Contains(last, "the input does not fit") || !strings.Contains(last, "path") {
		t.Errorf("a was told %s", last)
	}
}

func models2(id string) []kerneltest.Answer {
	return []kerneltest.Answer{
		{Calls: []string{`call_app {"app_id":"` + id + `","input":"go on"}`}}, {Text: "done"},
	}
}

// A call that an app makes is asked about if either app asks, and the human is told which
// app it is. The tool is not there before a human accepted the app.
func TestAppAsksUnderItsName(t *testing.T) {
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	caller, called := kerneltest.NewModel(t, models2("lint")...), kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`filesystem__write {"path":"b.txt","content":"b"}`}},
		kerneltest.Answer{Text: "wrote"})
	folder, _ := calling(t, k, caller, called, "")
	file := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(file)
	kerneltest.OK(t, err)
	kerneltest.Write(t, file, strings.Replace(string(text), "default_policy: auto", "default_policy: auto, approve: [{module: filesystem, actions: [write]}]", 1))
	c := kerneltest.OpenConversation(t, k, folder)
	var path, app string
	human := kerneltest.Human(t, k)
	_, err = c.Send(t.Context(), llm.TextMessage(llm.User, "go"), conversation.Watch{Asked: func(r approval.Request) {
		if r.State == approval.Pending {
			path, app = r.Asker.Path, r.Call.Principal.App
			go func() {
				if err := k.Approvals.Answer(context.WithoutCancel(t.Context()), human, r.ID, approval.Answer{Approve: true}); err != nil {
					t.Error(err)
				}
			}()
		}
	}})
	kerneltest.OK(t, err)
	if path != "main-agent > app lint" || app != "lint" {
		t.Errorf("asked as %q, by the app %q", path, app)
	}
	if _, err := os.Stat(filepath.Join(folder, "b.txt")); err != nil {
		t.Errorf("it did not write in its caller's folder: %v", err)
	}
}

// What the caller may cost binds what it calls, and who stops the caller stops the app.
func TestAppIsStopped(t *testing.T) {
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	read := kerneltest.Answer{Calls: []string{`filesystem__read {"path":"a.txt"}`}}
	caller, called := kerneltest.NewModel(t, models2("lint")...), kerneltest.NewModel(t, read, read, read, read, kerneltest.Answer{Text: "read"})
	folder, _ := calling(t, k, caller, called, "")
	file := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(file)
	kerneltest.OK(t, err)
	kerneltest.Write(t, file, string(text)+"runtime: {max_cost_tokens: 300}\n")
	c := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, c, "go")
	list := tree(t, k, c.ID())
	if len(list) != 1 || list[0].Status() != agents.Failed || !strings.Contains(list[0].Record().Error, "may take 300") {
		t.Fatalf("it was not stopped: %+v", list[0].Record())
	}
	if n := len(called.Asked()); n == 0 || n == 5 {
		t.Errorf("the app's model was asked %d times", n)
	}

	kerneltest.Write(t, file, string(text))
	caller.Play(models2("lint")...)
	called.Play(read, kerneltest.Answer{Text: "read"})
	reached := called.StopAt(len(called.Asked()) + 2)
	c = kerneltest.OpenConversation(t, k, folder)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-reached
		stop()
	}()
	_, _ = c.Send(ctx, llm.TextMessage(llm.User, "go"), conversation.Watch{})
	kerneltest.Eventually(t, func() bool {
		list := tree(t, k, c.ID())
		return len(list) == 1 && list[0].Status() == agents.Cancelled
	})
}

// doomedVar makes this program a kernel that runs one turn and is killed in it.
const doomedVar = "CALLGATE_TEST_DOOMED"

func playDoomed(state string) {
	ctx := context.Background()
	k, err := kernel.Open(ctx, kernel.Config{State: state, UserFile: filepath.Join(state, "none", "callgate.yaml")})
	if err != nil {
		panic(err)
	}
	c, err := k.Conversations.Open(ctx, conversation.Spec{Workspace: os.Getenv("CALLGATE_TEST_FOLDER")})
	if err != nil {
		panic(err)
	}
	fmt.Println(c.ID())
	_, _ = c.Send(ctx, llm.TextMessage(llm.User, "go"), conversation.Watch{})
	programtest.Hang()
}

// killedAt has another process run a turn, and kills it when a model was asked for
// something that it does not answer. It returns the conversation.
func killedAt(t *testing.T, state, folder string, reached <-chan struct{}) (id string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), doomedVar+"="+state, "CALLGATE_TEST_FOLDER="+folder)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	kerneltest.OK(t, err)
	kerneltest.OK(t, cmd.Start())
	_, err = fmt.Fscanln(out, &id)
	kerneltest.OK(t, err)
	<-reached
	kerneltest.OK(t, cmd.Process.Kill())
	_ = cmd.Wait()
	return id
}

// A kill while an app works loses nothing, and does nothing twice.
func TestAppGoesOnAfterAKill(t *testing.T) {
	state := filepath.Join(kerneltest.StateDir(t), "s")
	k := kerneltest.Open(t, state)
	write := kerneltest.Answer{Calls: []string{`filesystem__edit {"path":"a.txt","old_string":"42","new_string":"42+"}`}}
	caller, called := kerneltest.NewModel(t, models2("lint")...), kerneltest.NewModel(t, write)
	folder, _ := calling(t, k, caller, called, "")
	kerneltest.OK(t, k.Close())
	id := killedAt(t, state, folder, called.StopAt(2))

	caller.Play(kerneltest.Answer{Text: "all is done"})
	called.Play(kerneltest.Answer{Text: "edited"})
	k = kerneltest.Open(t, state)
	c := kerneltest.Resume(t, k, id)
	if end, err := c.Resume(t.Context(), conversation.Watch{}); err != nil || end.Reason != "done" {
		t.Fatalf("%+v, %v", end, err)
	}
	if last := caller.Last(); !strings.Contains(last, `\"output\":\"edited\"`) {
		t.Errorf("the caller was told %s", last)
	}
	if list := tree(t, k, id); len(list) != 1 || list[0].Status() != agents.Completed {
		t.Errorf("the tree is %+v", list)
	}
	if text, _ := os.ReadFile(filepath.Join(folder, "a.txt")); string(text) != "the answer is 42+\n" {
		t.Errorf("it was edited to %q", text)
	}
}

// A call that a caller would be denied is never allowed to an app that it calls, and one
// about which the caller would have to ask is never made by the app unasked.
func TestAppNeverHasMoreThanItsCaller(t *testing.T) {
	const pairs = 24
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	seen := map[[2]verdict]int{}
	for seed := range uint64(pairs) {
		r := rand.New(rand.NewPCG(1818, seed))
		never := make(chan struct{})
		defer close(never)
		model := kerneltest.NewModel(t, kerneltest.Answer{Text: "done", After: never})
		base := t.TempDir()
		folder, other := filepath.Join(base, "caller"), filepath.Join(base, "called")
		settings := func() string {
			return []string{"{}", "{}", "{constraints: {allowed_actions: [read, write]}}"}[r.IntN(3)]
		}
		text := strings.Replace(randomApp(r, "{provider: offline}"), "tools:\n",
			"tools:\n  apps: {other: ../called/callgate.yaml}\n", 1)
		text = strings.Replace(text, "filesystem: {}", "filesystem: "+settings(), 1)
		its := strings.Replace(randomApp(r, "{provider: offline}"), "brain: {provider: offline}",
			"brain: "+model.Brain("openai", "gpt-4o"), 1)
		kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), text)
		kerneltest.Write(t, filepath.Join(other, "callgate.yaml"), its)
		kerneltest.Write(t, filepath.Join(folder, "a.txt"), "42\n")
		trust(t, k, folder)
		trust(t, k, other)
		parent := kerneltest.OpenConversation(t, k, folder).Session()
		setMode(k, parent, permission.Modes()[r.IntN(3)])
		child := calledApp(t, k, parent)
		for round := range 2 {
			for _, c := range calls {
				one := verdictOf(make1(t, child, c.name, c.args))
				other := verdictOf(make1(t, parent, c.name, c.args))
				seen[[2]verdict{other, one}]++
				if one < other {
					t.Fatalf("seed %d, round %d: %s %s: the caller's call %v, and the app's %v\n%s\n%s",
						seed, round, c.name, c.args, other, one, text, its)
				}
			}
			setMode(k, parent, permission.Modes()[r.IntN(3)])
		}
	}
	for _, v := range []verdict{ran, waits, refused} {
		if seen[[2]verdict{v, v}] < 5 {
			t.Errorf("too few calls that %v for both: %v", v, seen)
		}
	}
	t.Log(seen)
}

func setMode(k *kernel.Kernel, s *session.Session, m permission.Mode) {
	k.Permissions.Table.Change(s.ID(), func(s permission.State) permission.State {
		s.Mode = m
		return s
	})
}

// calledApp has a caller call an app, and returns the app's session.
func calledApp(t *testing.T, k *kernel.Kernel, parent *session.Session) *session.Session {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		make2(ctx, parent, "context_builder.call_app", `{"app_id":"other","input":"work"}`)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	var child *session.Session
	kerneltest.Eventually(t, func() bool {
		list, err := k.Agents.Of(t.Context(), parent.ID())
		if err != nil || len(list) == 0 {
			return false
		}
		s, err := k.Sessions.Get(list[0].ID)
		child = s
		return err == nil
	})
	return child
}

package agents_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/programtest"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// The tree of the tests: the user's agent starts two agents, each of them three, and each
// of those two. The twelve at the bottom make a call that must not be made twice.
var breadth = []int{2, 3, 2}

// below names the agents that an agent starts, as "1.2" names those that "1" does.
func below(node string) (names []string) {
	depth := 0
	if node != "top" {
		depth = strings.Count(node, ".") + 1
	}
	if depth == len(breadth) {
		return nil
	}
	for i := range breadth[depth] {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%s.%d", node, i+1), "top."))
	}
	return names
}

// allBelow names all agents that work for one.
func allBelow(node string) (names []string) {
	for _, one := range below(node) {
		names = append(append(names, one), allBelow(one)...)
	}
	return names
}

var isNode = regexp.MustCompile(`NODE ([0-9.]+|top);`)

// dialogue is what a model is asked, in OpenAI's form.
type dialogue struct {
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	} `json:"messages"`
}

// about returns whose the dialogue is, and the results that it has so far.
func (d dialogue) about() (node string, results []string) {
	for _, m := range d.Messages {
		text := fmt.Sprint(m.Content)
		if at := isNode.FindStringSubmatch(text); at != nil && m.Role == "user" && node == "" {
			node = at[1]
		}
		if m.Role == "tool" {
			results = append(results, text)
		}
	}
	return node, results
}

// forest is the model of all agents: what it answers depends on who asks, and on nothing
// else.
type forest struct {
	mu     sync.Mutex
	counts int
	stopAt int                    // from this request on none is answered; 0: all are
	stops  chan struct{}          // closed with that request
	hold   func(node string) bool // whose first request is never answered; may be nil
	held   map[string]bool        // who waits so
}

func (f *forest) answer(request json.RawMessage) kerneltest.Answer {
	var d dialogue
	if err := json.Unmarshal(request, &d); err != nil {
		return kerneltest.Answer{Text: err.Error()}
	}
	node, results := d.about()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts++; f.stopAt > 0 && f.counts >= f.stopAt { // its kernel is about to be killed
		if f.counts == f.stopAt {
			close(f.stops)
		}
		return kerneltest.Answer{After: make(chan struct{})}
	}
	if f.hold != nil && f.hold(node) && len(results) == 0 {
		f.held[node] = true
		return kerneltest.Answer{After: make(chan struct{})}
	}
	switch started := below(node); {
	case len(results) > 0:
		return kerneltest.Answer{Text: "node " + node + " has " + strings.Join(brought(results), " ")}
	case len(started) == 0:
		return kerneltest.Answer{Calls: []string{fmt.Sprintf(`test__mark {"node":%q}`, node)}}
	default:
		return kerneltest.Answer{Calls: []string{startAll(node)}}
	}
}

// startAll is the call that starts the agents of one.
func startAll(node string) string {
	var work []string
	for _, one := range below(node) {
		work = append(work, fmt.Sprintf(`{"prompt":"NODE %s; work"}`, one))
	}
	return fmt.Sprintf(`agent_spawn__agent {"agents":[%s],"wait":true}`, strings.Join(work, ","))
}

var isLeaf = regexp.MustCompile(`leaf-[0-9.]+`)

// brought lists the marks of leaves that results name, each once.
func brought(results []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(isLeaf.FindAllString(strings.Join(results, " "), -1))))
}

// stopAfter has a request from now on be the first that is not answered; the channel is
// closed when it has come.
func (f *forest) stopAfter(requests int) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopAt, f.stops = f.counts+requests, make(chan struct{})
	return f.stops
}

// goOn has all requests be answered.
func (f *forest) goOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopAt = 0
}

// holding returns who waits for an answer that never comes.
func (f *forest) holding() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.held)
}

// holdOnly has only those be held from now on; others are answered when they ask again.
func (f *forest) holdOnly(hold func(node string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold, f.held = hold, map[string]bool{}
}

// folderOf is a folder with an app whose agents may start copies of themselves.
func (f *forest) folderOf(t *testing.T, pool string) string {
	t.Helper()
	if f.held == nil {
		f.held = map[string]bool{}
	}
	model := kerneltest.NewModelOf(t, f.answer)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(`
agents: [{id: lead, role: coordinator, brain: %s, pool: {%s}}]
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
`, model.Brain("openai", "gpt-4o"), pool))
	return folder
}

// mark is a tool that leaves a line in a file, and may not run twice.
func mark(folder string) *tool.Tool {
	made, err := tool.Func("test.mark", "Leaves a mark.", tool.Runtime{Risk: tool.Low, SideEffect: tool.External},
		func(_ context.Context, in struct {
			Node string `json:"node"`
		}) (string, error) {
			file, err := os.OpenFile(filepath.Join(folder, "marks"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			defer func() { _ = file.Close() }()
			_, err = io.WriteString(file, in.Node+"\n")
			return "leaf-" + in.Node, err
		})
	must(err)
	return made
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func marks(t *testing.T, folder string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "marks"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// treeVariable asks the test program to be a kernel with a tree of agents; it says where.
const treeVariable = "CALLGATE_TEST_TREE"

type treePart struct{ State, Workspace, Conversation string }

// growTree has a conversation work, prints its ID, and goes on until it is killed. A line
// "cancel NODE" has the store note that an agent is to be stopped, and nothing more: a kernel
// that is killed then has done just that.
func growTree(value string) {
	var part treePart
	must(json.Unmarshal([]byte(value), &part))
	ctx := context.Background()
	k, err := kernel.Open(ctx, kernel.Config{State: part.State, Tools: []*tool.Tool{mark(part.Workspace)}})
	must(err)
	c, err := k.Conversations.Open(ctx, conversation.Spec{Workspace: part.Workspace, Resume: part.Conversation})
	must(err)
	go func() { _, _ = goOn(ctx, c) }()
	fmt.Println(c.ID())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		name, _ := strings.CutPrefix(lines.Text(), "cancel ")
		list, err := k.Agents.Tree(ctx, c.ID())
		must(err)
		for _, one := range list {
			if strings.Contains(one.Label(), "NODE "+name+";") {
				must(k.Tasks.Store().Cancel(ctx, one.Task(), "somebody"))
				fmt.Println("cancelled")
			}
		}
	}
	programtest.Hang()
}

// goOn begins the turn of the tree, or goes on with it.
func goOn(ctx context.Context, c *conversation.Conversation) (history.End, error) {
	if c.Info().Turns == 0 {
		return c.Send(ctx, llm.TextMessage(llm.User, "NODE top; go"), conversation.Watch{})
	}
	return c.Resume(ctx, conversation.Watch{})
}

// killed is a kernel of another process, which is going to be killed.
type killed struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startKernel(t *testing.T, part treePart) (k killed, id string) {
	t.Helper()
	value, err := json.Marshal(part)
	kerneltest.OK(t, err)
	k.Cmd = exec.Command(os.Args[0])
	k.Env = append(os.Environ(), treeVariable+"="+string(value), "CALLGATE_KEYRING=off")
	k.Stderr = os.Stderr
	k.in, err = k.StdinPipe()
	kerneltest.OK(t, err)
	out, err := k.StdoutPipe()
	kerneltest.OK(t, err)
	kerneltest.OK(t, k.Start())
	t.Cleanup(func() { _ = k.Process.Kill() }) // of a test that failed
	k.out = bufio.NewReader(out)
	return k, k.line(t)
}

func (k killed) line(t *testing.T) string {
	t.Helper()
	line, err := k.out.ReadString('\n')
	kerneltest.OK(t, err)
	return strings.TrimSpace(line)
}

func (k killed) kill(t *testing.T) {
	t.Helper()
	kerneltest.OK(t, k.Process.Kill())
	_ = k.Wait()
}

// accepted has a human accept the app of a folder, at a kernel that is gone then.
func accepted(t *testing.T, state, folder string) {
	t.Helper()
	k := kerneltest.Open(t, state, mark(folder))
	kerneltest.OpenConversation(t, k, folder).Close()
	kerneltest.OK(t, k.Close())
}

// nodes are the agents of a tree by their names.
func nodes(t *testing.T, k *kernel.Kernel, root string) map[string]*agents.Agent {
	t.Helper()
	byName := map[string]*agents.Agent{}
	for _, one := range tree(t, k, root) {
		name := isNode.FindStringSubmatch(one.Label() + ";")
		if name == nil {
			t.Fatalf("the agent %s does %q", one.ID, one.Label())
		}
		if byName[name[1]] != nil {
			t.Fatalf("there are two agents %s", name[1])
		}
		byName[name[1]] = one
	}
	return byName
}

// works returns all tasks of agents, whatever has become of them.
func works(t *testing.T, k *kernel.Kernel) []task.Task {
	t.Helper()
	all, err := k.Tasks.Store().List(t.Context(), task.Query{Kinds: []string{agents.Kind}})
	kerneltest.OK(t, err)
	return all
}

// A tree of twenty agents whose kernel is killed seven times ends as one that was left
// alone does: each agent was started once, was told once what to do, ended once, and made
// no call twice; what the agents brought and cost is at the top.
func TestTwentyAgentsSurviveKills(t *testing.T) {
	t.Parallel()
	f := &forest{}
	folder, state := f.folderOf(t, "max_workers: 3, max_agents: 20, max_depth: 3"), kerneltest.StateDir(t)
	accepted(t, state, folder)
	part := treePart{State: state, Workspace: folder}
	for _, after := range []int{1, 3, 4, 6, 5, 7, 6} {
		stopped := f.stopAfter(after)
		child, id := startKernel(t, part)
		part.Conversation = id
		<-stopped
		child.kill(t)
	}
	f.goOn()
	k := kerneltest.Open(t, state, mark(folder))
	c := kerneltest.Resume(t, k, part.Conversation)
	end, err := goOn(t.Context(), c)
	kerneltest.OK(t, err)
	if end.Reason != history.Done {
		t.Fatalf("the turn ended: %+v", end)
	}
	checkWhole(t, k, c.ID(), folder)
}

// checkWhole checks a tree whose work is done.
func checkWhole(t *testing.T, k *kernel.Kernel, root, folder string) {
	t.Helper()
	byName := nodes(t, k, root)
	if n := len(works(t, k)); n != 20 || len(byName) != 20 {
		t.Fatalf("%d agents have %d tasks", len(byName), n)
	}
	var own llm.Usage
	var doubtful []string
	for name, one := range byName {
		if one.Status() != agents.Completed {
			t.Errorf("%s is %s: %s", name, one.Status(), one.Record().Error)
		}
		info, doubt := checkOnce(t, k, one.ID, name)
		own = own.Add(info.Own)
		if doubt {
			doubtful = append(doubtful, name)
		}
	}
	top, _ := checkOnce(t, k, root, "top")
	own = own.Add(top.Own)
	if top.Usage.Input != own.Input || top.Usage.Output != own.Output || own.Input < 20*100 {
		t.Errorf("at the top %+v was spent, and by all together %+v", top.Usage, own)
	}
	made := marks(t, folder)
	said := answerOf(t, k, root)
	for _, name := range allBelow("top") {
		n := len(slices.DeleteFunc(slices.Clone(made), func(m string) bool { return m != name }))
		leaf, doubt := len(below(name)) == 0, slices.Contains(doubtful, name)
		if n > 1 || leaf && n == 0 && !doubt {
			t.Errorf("%s made its call %d times", name, n)
		}
		if leaf && !doubt && !strings.Contains(said, "leaf-"+name) {
			t.Errorf("what %s brought is not at the top: %s", name, said)
		}
	}
	t.Logf("in doubt: %q; %d tokens", doubtful, own.Input+own.Output)
}

// checkOnce checks that an agent was told once what to do and ended once, and reports
// whether a call of its is in doubt.
func checkOnce(t *testing.T, k *kernel.Kernel, id, name string) (info history.Info, doubt bool) {
	t.Helper()
	info, events, err := k.Conversations.History(t.Context(), id, 0)
	kerneltest.OK(t, err)
	told, ended := 0, 0
	for _, e := range events {
		switch {
		case e.Message != nil && e.Message.Role == llm.User && strings.Contains(e.Message.Text(), "NODE "+name+";"):
			told++
		case e.End != nil && e.End.Reason != history.Interrupted:
			ended++
		case e.Result != nil && len(below(name)) == 0 && e.Result.Status != tool.Success:
			doubt = true // it was cut off while it ran
			t.Logf("%s: %s", name, e.Result.Summary)
		}
	}
	if told != 1 || ended != 1 {
		t.Errorf("%s was told %d times what to do, and ended %d times", name, told, ended)
	}
	return info, doubt
}

// answerOf is the last answer of a conversation.
func answerOf(t *testing.T, k *kernel.Kernel, id string) string {
	t.Helper()
	var last history.LastAnswer
	for _, e := range kerneltest.History(t, k, id) {
		last.Add(e)
	}
	return last.Text
}

// Agents in the middle of a tree are stopped: one while the kernel goes on, and one by a
// kernel that is killed before it could do more than note it. All below them end as
// cancelled, nothing of them goes on, and the others do their work.
func TestStoppedAgentsStopTheirs(t *testing.T) {
	t.Parallel()
	f := &forest{hold: func(node string) bool { // a provider is asked eight things at once
		return node == "2" || strings.HasPrefix(node, "1.") && len(below(node)) == 0
	}}
	folder, state := f.folderOf(t, "max_workers: 3, max_agents: 20, max_depth: 3"), kerneltest.StateDir(t)
	accepted(t, state, folder)
	child, root := startKernel(t, treePart{State: state, Workspace: folder})
	kerneltest.Eventually(t, func() bool { return f.holding() == 7 })
	_, err := fmt.Fprintln(child.in, "cancel 1")
	kerneltest.OK(t, err)
	child.line(t)
	child.kill(t)
	f.holdOnly(func(node string) bool { return strings.HasPrefix(node, "2.1.") })

	k := kerneltest.Open(t, state, mark(folder))
	c := kerneltest.Resume(t, k, root)
	done := make(chan history.End, 1)
	go func() {
		end, _ := goOn(t.Context(), c)
		done <- end
	}()
	stopped := append([]string{"2.1"}, allBelow("2.1")...)
	var first string
	kerneltest.Eventually(t, func() bool {
		if f.holding() < 2 {
			return false
		}
		byName := nodes(t, k, root)
		first = byName["2.1"].Task()
		return byName["2.3"] != nil && byName["2.3"].Status() == agents.Completed
	})
	kerneltest.OK(t, k.Tasks.Cancel(t.Context(), first, "ada"))
	if end := <-done; end.Reason != history.Done {
		t.Fatalf("the turn ended: %+v", end)
	}
	stopped = append(append(stopped, "1"), allBelow("1")...)
	checkStopped(t, k, root, folder, stopped)
}

// checkStopped checks a tree in which some agents were stopped, and the others were not.
func checkStopped(t *testing.T, k *kernel.Kernel, root, folder string, stopped []string) {
	t.Helper()
	byName := nodes(t, k, root)
	if len(byName) != 20 {
		t.Fatalf("there are %d agents", len(byName))
	}
	var own llm.Usage
	for _, name := range allBelow("top") {
		one := byName[name]
		want := agents.Completed
		if slices.Contains(stopped, name) {
			want = agents.Cancelled
		}
		if one.Status() != want {
			t.Fatalf("%s is not %s: %+v", name, want, one.Record())
		}
		info, err := k.Conversations.Store.Get(t.Context(), one.ID)
		kerneltest.OK(t, err)
		own = own.Add(info.Own)
		if made := marks(t, folder); slices.Contains(made, name) != (want == agents.Completed && len(below(name)) == 0) {
			t.Errorf("%s is %s, and the calls are %q", name, want, made)
		}
	}
	for _, one := range works(t, k) {
		if !one.State.Final() {
			t.Errorf("%s is %s", one.Label, one.State)
		}
	}
	top, _ := checkOnce(t, k, root, "top")
	if own = own.Add(top.Own); top.Usage.Input != own.Input {
		t.Errorf("at the top %+v was spent, and by all together %+v", top.Usage, own)
	}
}

package agents_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// labour is the tool demo.work, which takes a time and says what it was told.
type labour struct {
	mu        sync.Mutex
	began     []string // in the order in which they began
	now, peak int      // how many work, and worked at most
}

func (l *labour) tool(t testing.TB) *tool.Tool {
	made, err := tool.Func("demo.work", "Works for some seconds.",
		tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Timeout: 5 * time.Hour},
		func(ctx context.Context, in struct {
			Name    string  `json:"name"`
			Seconds float64 `json:"seconds"`
		}) (string, error) {
			l.add(in.Name, 1)
			defer l.add("", -1)
			select {
			case <-time.After(time.Duration(in.Seconds * float64(time.Second))):
				return "did " + in.Name, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
	kerneltest.OK(t, err)
	return made
}

func (l *labour) add(name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 {
		l.began = append(l.began, name)
	}
	l.now += n
	l.peak = max(l.peak, l.now)
}

// seen is who began, and how many worked at once.
func (l *labour) seen() (began string, peak int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.began, " "), l.peak
}

// pool is a team without language models, whose clock is the test's.
type pool struct {
	*testing.T
	k      *kernel.Kernel
	parent *session.Session // of the agent lead
	work   *labour
	began  time.Time
}

// inPool runs a test with a team whose coordinator has a pool.
func inPool(t *testing.T, settings, modules string, test func(p *pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pool{T: t, work: &labour{}, began: time.Now()}
		folder := t.TempDir()
		kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(`
agents:
- {id: lead, role: coordinator, brain: {provider: offline}, pool: {%s}}
- {id: helper, brain: {provider: offline}}
- {id: other, brain: {provider: offline}}
tools:
  modules: {%s}
  capabilities: {default_policy: auto}
`, settings, modules))
		p.k = kerneltest.Open(t, kerneltest.StateDir(t), p.work.tool(t))
		kerneltest.OpenAccepted(t, p.k, folder).Close()
		p.parent = kerneltest.OpenConversation(t, p.k, folder).Session()
		test(p)
	})
}

// doing is what an agent is told that works for some seconds.
func doing(name string, seconds int) string {
	return fmt.Sprintf(`{"prompt":"demo.work name=%s seconds=%d","specialist":"helper"}`, name, seconds)
}

// several is the call that starts agents, each of which works for so many seconds.
func several(n, seconds int, more string) string {
	var all []string
	for i := range n {
		all = append(all, doing(string(rune('a'+i)), seconds))
	}
	return `{"agents":[` + strings.Join(all, ",") + `]` + more + `}`
}

// ask makes a call of the tool, which succeeds.
func (p *pool) ask(args string) *tool.Result {
	p.Helper()
	r := make1(p.T, p.parent, "agent_spawn.agent", args)
	if r.Err() != nil {
		p.Fatalf("%s: %v", args, r.Err())
	}
	return r
}

// one is what a call tells of one agent.
func (p *pool) one(args string) agents.Record {
	p.Helper()
	return data[agents.Record](p.T, p.ask(args).Data)
}

// all is what a call tells of several agents.
func (p *pool) all(args string) []agents.Record {
	p.Helper()
	return data[struct{ Agents []agents.Record }](p.T, p.ask(args).Data).Agents
}

// at lets the time be so many seconds after the beginning, and all that is due then happen.
func (p *pool) at(seconds int) {
	if d := time.Duration(seconds)*time.Second - time.Since(p.began); d > 0 {
		<-time.After(d)
	}
	synctest.Wait()
}

// took is how many seconds it is after the beginning.
func (p *pool) took() int { return int(time.Since(p.began).Round(time.Second) / time.Second) }

// statuses are those of all agents, in a word.
func (p *pool) statuses() string {
	p.Helper()
	var list []string
	for _, r := range p.all(`{"list_agents":true}`) {
		list = append(list, string(r.Status))
	}
	return strings.Join(list, " ")
}

// notices are what the parent was told but for the ends of agents.
func (p *pool) notices() (heads []string) {
	p.Helper()
	list, err := p.k.Tasks.Store().List(p.Context(), task.Query{Parent: p.parent.ID(), Kinds: []string{task.Notice}})
	kerneltest.OK(p.T, err)
	for _, n := range list {
		heads = append(heads, n.Outcome.Head)
	}
	return heads
}

// Of five agents as many work at once as the pool says, three unless it says otherwise, in
// the order in which they were started; the others are queued, and say so.
func TestPoolQueues(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]struct {
		peak, seconds   int
		after1, after31 string
	}{
		"":               {3, 60, "running running running queued queued", "completed completed completed running running"},
		"max_workers: 1": {1, 150, "running queued queued queued queued", "completed running queued queued queued"},
		"max_workers: 5": {5, 30, "running running running running running", "completed completed completed completed completed"},
	} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			inPool(t, settings, "", func(p *pool) {
				begun := p.all(several(5, 30, ""))
				if got := p.statuses(); got != want.after1 {
					p.Errorf("at once they are %s", got)
				}
				p.at(1)
				if got := p.statuses(); got != want.after1 {
					p.Errorf("after a second they are %s", got)
				}
				for _, r := range p.all(`{"agent_ids":[]}`) {
					if waits := strings.Contains(r.Hint, "when another of your agents has ended"); waits != (r.Status == agents.Queued) {
						p.Errorf("one that is %s is told %q", r.Status, r.Hint)
					}
				}
				p.at(31)
				if got := p.statuses(); got != want.after31 {
					p.Errorf("after 31 seconds they are %s", got)
				}
				ended := p.all(`{"agent_ids":[],"wait":true}`)
				if p.took() != max(want.seconds, 31) {
					p.Errorf("they took %d s, want %d", p.took(), want.seconds)
				}
				for _, r := range ended {
					if r.Status != agents.Completed || !strings.Contains(r.Result, "did ") {
						p.Errorf("%+v", r)
					}
				}
				if began, peak := p.work.seen(); peak != want.peak || want.peak == 1 && began != "a b c d e" {
					p.Errorf("%d worked at once, and began as %s", peak, began)
				}
				if len(begun) != 5 {
					p.Errorf("%d agents were begun", len(begun))
				}
			})
		})
	}
}

// Agents that one call starts begin in the order in which it names them, however many.
func TestPoolKeepsTheOrder(t *testing.T) {
	t.Parallel()
	inPool(t, "max_workers: 1", "", func(p *pool) {
		p.ask(several(12, 10, `,"wait":true`))
		if began, _ := p.work.seen(); began != "a b c d e f g h i j k l" {
			p.Errorf("they began as %s", began)
		}
	})
}

// A parent that wants it is told when each agent begins, and each minute how far it is.
func TestPoolTellsProgress(t *testing.T) {
	t.Parallel()
	inPool(t, "progress: true, max_workers: 1", "", func(p *pool) {
		first := p.one(`{"prompt":"demo.work name=a seconds=50; demo.work name=b seconds=50; demo.work name=c seconds=50"}`).AgentID
		second := p.one(doing("d", 5)).AgentID
		p.ask(`{"agent_ids":[],"wait":true}`)
		want := []string{
			"AGENT " + first + " (lead) began", "AGENT " + first + " (lead) has made 3 calls",
			"AGENT " + second + " (helper) began",
		}
		if got := p.notices(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			p.Errorf("it was told\n%s", strings.Join(got, "\n"))
		}
	})
	inPool(t, "", "", func(p *pool) { // and else of nothing but the ends
		p.ask(`{"prompt":"demo.work name=a seconds=100; demo.work name=b seconds=100","wait":true}`)
		if got := p.notices(); len(got) > 0 {
			p.Errorf("it was told %s", got)
		}
	})
}

// Who waits for one, several or all agents returns when they have ended, and not before.
func TestPoolWaits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args string // %[n]s is the n-th agent: they take 10, 20, 30 and, after the first, 40 seconds
		seconds    int
		want       string
	}{
		{"one", `{"agent_id":"%[2]s","wait":true}`, 20, "completed"},
		{"one that has ended", `{"agent_id":"%[1]s","wait":true}`, 10, "completed"},
		{"several", `{"agent_ids":["%[3]s","%[1]s"],"wait":true}`, 30, "completed completed"},
		{"run_ids", `{"run_ids":["%[1]s"],"wait":true}`, 10, "completed"},
		{"all", `{"agent_ids":[],"wait":true}`, 50, "completed completed completed completed"},
		{"for a time", `{"agent_id":"%[3]s","wait":true,"timeout":7}`, 7, "running"},
		{"several for a time", `{"agent_ids":["%[1]s","%[4]s"],"wait":true,"timeout":12}`, 12, "completed running"},
		{"not at all", `{"agent_ids":["%[1]s","%[4]s"]}`, 0, "running queued"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inPool(t, "", "", func(p *pool) {
				var ids []any
				for i, seconds := range []int{10, 20, 30, 40} {
					ids = append(ids, p.one(doing(string(rune('a'+i)), seconds)).AgentID)
				}
				p.at(0)
				r := p.ask(strings.Split(fmt.Sprintf(test.args, ids...), "%!")[0])
				list := data[struct{ Agents []agents.Record }](p.T, r.Data).Agents
				if list == nil {
					list = []agents.Record{data[agents.Record](p.T, r.Data)}
				}
				var got []string
				for _, one := range list {
					got = append(got, string(one.Status))
				}
				if p.took() != test.seconds || strings.Join(got, " ") != test.want {
					p.Errorf("after %d s: %s", p.took(), got)
				}
				p.ask(`{"agent_ids":[],"wait":true}`) // who waited no more stopped nobody
				if got := p.statuses(); got != "completed completed completed completed" || p.took() != 50 {
					p.Errorf("after %d s at the end: %s", p.took(), got)
				}
				if none := p.all(`{"agent_ids":[],"wait":true}`); len(none) != 0 || p.took() != 50 {
					p.Errorf("with none that runs: %+v", none)
				}
			})
		})
	}
}

// An agent has its own time, which begins when it does, and so many requests to its model.
func TestPoolLimitsAnAgent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args string
		seconds    int
		says       string
	}{
		{"timeout", `{"prompt":"demo.work name=a seconds=30","timeout":10,"wait":true}`, 10, "it may take 10s"},
		{"queued does not count", `{"prompt":"demo.work name=a seconds=30","timeout":40,"wait":true}`, 55, ""},
		{"turns", `{"prompt":"demo.work name=a seconds=30","max_turns":1,"wait":true}`, 30, "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inPool(t, "max_workers: 1", "", func(p *pool) {
				if strings.HasPrefix(test.name, "queued") {
					p.ask(doing("before", 25))
				}
				r := p.one(test.args)
				if p.took() != test.seconds || (r.Status == agents.Failed) != (test.says != "") || !strings.Contains(r.Error, test.says) {
					p.Errorf("after %d s: %+v", p.took(), r)
				}
				if now := p.work; now.now != 0 {
					p.Error("what it began goes on")
				}
			})
		})
	}
}

// Who is stopped does nothing more; those that wait never begin, and those that have ended
// stay as they are.
func TestPoolCancels(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args, after string
		ran               string
	}{
		{"all", `{"agent_ids":[],"cancel":true}`, "completed cancelled cancelled cancelled cancelled", "a b c d"},
		{"a running one", `{"agent_id":"%[2]s","cancel":true}`, "completed cancelled running running running", "a b c d e"},
		{"a queued one", `{"agent_id":"%[5]s","cancel":true}`, "completed running running running cancelled", "a b c d"},
		{"several", `{"agent_ids":["%[2]s","%[5]s"],"cancel":true}`, "completed cancelled running running cancelled", "a b c d"},
		{"an ended one", `{"agent_id":"%[1]s","cancel":true}`, "completed running running running queued", "a b c d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inPool(t, "", "", func(p *pool) {
				ids := []any{p.one(doing("a", 5)).AgentID}
				for i := range 4 {
					<-time.After(time.Second) // so that they begin in this order
					ids = append(ids, p.one(doing(string(rune('b'+i)), 60)).AgentID)
				}
				p.at(6)
				p.ask(strings.Split(fmt.Sprintf(test.args, ids...), "%!")[0])
				if p.took() != 6 {
					p.Errorf("it took until %d s", p.took())
				}
				p.at(7)
				if got := p.statuses(); got != test.after {
					p.Errorf("they are %s", got)
				}
				if began, _ := p.work.seen(); began != test.ran {
					p.Errorf("began: %s", began)
				}
			})
		})
	}
}

// Agents of another conversation, and those that there are not, are none of one's own.
func TestPoolIsOnesOwn(t *testing.T) {
	t.Parallel()
	inPool(t, "", "", func(p *pool) {
		id := p.one(doing("a", 30)).AgentID
		stranger := kerneltest.OpenConversation(p.T, p.k, p.parent.Workspace()).Session()
		for _, args := range []string{
			`{"agent_id":"%s"}`, `{"agent_id":"%s","wait":true}`, `{"agent_ids":["%s"],"cancel":true}`,
			`{"agent_id":"%s","reassign":true,"prompt":"p"}`,
		} {
			for who, s := range map[string]*session.Session{id: stranger, "none": p.parent} {
				r := make1(p.T, s, "agent_spawn.agent", fmt.Sprintf(args, who))
				if tool.KindOf(r.Err()) != tool.NotFound || !strings.Contains(r.Summary, "there is no agent") {
					p.Errorf("%s of %s: %+v", args, who, r)
				}
			}
		}
		r := make1(p.T, stranger, "agent_spawn.agent", `{"list_agents":true}`)
		if list := data[struct{ Total int }](p.T, r.Data); list.Total != 0 {
			p.Errorf("a stranger is shown %s", r.Data)
		}
		if got := p.statuses(); got != "running" {
			p.Errorf("it is %s", got)
		}
	})
}

// An agent that is given new work stops what it does, keeps what it knows, and is the last of
// those that wait; it is what it was, and counts once.
func TestPoolReassigns(t *testing.T) {
	t.Parallel()
	inPool(t, "max_agents: 2, max_workers: 1", "", func(p *pool) {
		first, second := p.one(doing("a", 30)).AgentID, p.one(doing("b", 30)).AgentID
		p.at(5)
		r := p.one(`{"agent_id":"` + first + `","reassign":true,"prompt":"demo.work name=c seconds=10"}`)
		if r.AgentID != first || r.Status != agents.Queued || p.took() != 5 {
			p.Fatalf("after %d s: %+v", p.took(), r)
		}
		p.at(6)
		if got := p.statuses(); got != "queued running" { // b was before it
			p.Errorf("they are %s", got)
		}
		p.ask(`{"agent_ids":["` + first + `","` + second + `"],"wait":true}`)
		if r := p.one(`{"agent_id":"` + first + `"}`); p.took() != 45 || r.Status != agents.Completed || !strings.Contains(r.Result, "did c") {
			p.Errorf("after %d s: %+v", p.took(), r)
		}
		r = p.one(`{"agent_id":"` + first + `","reassign":true,"prompt":"demo.work name=d seconds=10","wait":true}`)
		if p.took() != 55 || !strings.Contains(r.Result, "did d") {
			p.Errorf("after %d s: %+v", p.took(), r)
		}
		if began, _ := p.work.seen(); began != "a b c d" {
			p.Errorf("began: %s", began)
		}
		info, _, err := p.k.Conversations.History(p.Context(), first, 0)
		kerneltest.OK(p.T, err)
		if info.Turns != 3 {
			p.Errorf("its conversation has %d turns", info.Turns)
		}
		refused := make1(p.T, p.parent, "agent_spawn.agent",
			`{"agent_id":"`+first+`","reassign":true,"prompt":"p","specialist":"other"}`)
		if tool.KindOf(refused.Err()) != tool.Invalid || !strings.Contains(refused.Summary, "is a helper, and stays one") {
			p.Errorf("another specialist: %+v", refused)
		}
		refused = make1(p.T, p.parent, "agent_spawn.agent", doing("e", 1))
		if tool.KindOf(refused.Err()) != tool.Limited {
			p.Errorf("a third agent: %+v", refused)
		}
	})
}

// A call that waits and whose own time is over stops nobody: its agents go on.
func TestPoolOutlivesTheCallThatWaits(t *testing.T) {
	t.Parallel()
	inPool(t, "", "agent_spawn: {middleware: [{timeout: {seconds: 10}}]}", func(p *pool) {
		r := make1(p.T, p.parent, "agent_spawn.agent", several(2, 30, `,"wait":true`))
		if p.took() != 10 {
			p.Errorf("after %d s: %+v", p.took(), r)
		}
		p.at(40)
		if got := p.statuses(); got != "completed completed" || r.Err() != nil || !strings.Contains(r.Summary, "2 of them not ended") {
			p.Errorf("they are %s; the call: %s", got, r.Summary)
		}
	})
}

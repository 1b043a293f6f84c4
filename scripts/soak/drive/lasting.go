//go:build linux

package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/scripts/soak/child"
	"callgate/scripts/soak/history"
)

// lasting is what a group began that goes on by itself: after the turn, the
// conversation's process and the kernel.
type lasting struct {
	token   string // answers what waits for a human
	address string // of the webhook to which messages go
	inbox   *inbox

	mu       sync.Mutex
	letters  map[string]history.Effect // what the webhook got, by the IDs of deliveries
	promises []promise
	notices  []history.Notice // at the end
}

// planPattern finds the ID of a plan.
var planPattern = regexp.MustCompile(`P\d{3}_\d+`)

// promise is what a conversation was to have happen.
type promise struct {
	op           string
	conversation string
	owed         bool // it was acknowledged, and the conversation hears of its end
}

// deferral is a way to have something happen later.
type deferral struct {
	tool string
	// The journal has what happens as a call; a message is delivered without one, and a
	// reminder is nothing but news.
	records, happens, news bool
	args                   func(id string, rng *rand.Rand) map[string]any
}

// deferrals are all ways.
var deferrals = []deferral{
	{"context_builder.background_run", true, true, true, func(id string, rng *rand.Rand) map[string]any {
		return map[string]any{"name": "mcp_soak.append", "params": appendArgs(id, rng), "settle": 0}
	}},
	{"context_builder.background_run", true, true, true, func(id string, rng *rand.Rand) map[string]any {
		return map[string]any{"name": "mcp_soak.vouch", "params": appendArgs(id, rng), "settle": 0}
	}},
	{"context_builder.schedule", true, true, true, func(id string, rng *rand.Rand) map[string]any {
		return map[string]any{"when": "in 1s", "name": id, "action": "mcp_soak.append", "args": appendArgs(id, rng)}
	}},
	{"context_builder.remind", false, false, true, func(id string, rng *rand.Rand) map[string]any {
		return map[string]any{"when": "in 1s", "name": id, "message": "the time has come"}
	}},
	{"context_builder.watch_start", true, true, true, func(id string, rng *rand.Rand) map[string]any {
		return map[string]any{"name": "mcp_soak.get", "params": map[string]any{"file": files[0]}, "interval": 1,
			"label": id, "notify_when": "every_check", "notify_first": true, "max_checks": 1,
			"actions": []any{map[string]any{"name": "mcp_soak.append", "params": appendArgs(id, rng)}}}
	}},
	{"message.send_message", false, true, false, func(id string, rng *rand.Rand) map[string]any {
		return map[string]any{"channel": "hook", "message": id}
	}},
}

// longCall is a call that takes longer than the lease of its task, and happens once.
var longCall = deferral{
	"context_builder.background_run", true, true, true, func(id string, _ *rand.Rand) map[string]any {
		return map[string]any{"name": "mcp_soak.append", "params": map[string]any{"id": id, "name": id, "before": 40_000}}
	},
}

// longRun is a run that has time for it.
const longRun = 5 * time.Minute

func appendArgs(id string, rng *rand.Rand) map[string]any {
	return map[string]any{"id": id, "name": id, "before": rng.IntN(300), "after": rng.IntN(100)}
}

// beginsLater reports whether a tool, as the journal names it, has something happen
// later: its call names what happens, and is not what happens.
func beginsLater(tool string) bool {
	tool, _, _ = strings.Cut(strings.ReplaceAll(tool, ":", "."), "@")
	return slices.ContainsFunc(deferrals, func(d deferral) bool { return d.tool == tool })
}

// defers has an agent begin work that goes on by itself, again and again.
func (g agent) defers(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		plan := child.Plan{ID: fmt.Sprintf("P%03d_%d", g.number, g.last.Add(1))}
		t := &turn{plan: plan.ID}
		for _, at := range rng.Perm(len(deferrals))[:2+rng.IntN(3)] {
			g.plans(t, &plan, &deferrals[at], rng)
		}
		g.take(t, plan)
	}
}

// plans adds something that happens later to a plan.
func (g agent) plans(t *turn, plan *child.Plan, d *deferral, rng *rand.Rand) {
	p := proposal{op: g.newOp(history.Append, "", "conversation", d.tool), name: d.tool, later: d}
	p.op.Unrecorded = !d.records
	p.args = d.args(p.op.ID, rng)
	t.calls = append(t.calls, p)
	_, short, _ := strings.Cut(p.name, ".")
	plan.Calls = append(plan.Calls, child.PlanCall{Tool: short, Args: p.args})
}

// toldOver finds an answer that tells the end itself: a call that is made again after a kill
// finds the task of the first, which may be over. Who was told so is owed no news of it.
var toldOver = regexp.MustCompile(`^task \w+ \([^)]*\) (completed|failed|was cancelled|is in doubt) after`)

// begun puts on record what a call has happen later.
func (g agent) begun(t *turn, p proposal, op history.Op) {
	if op.Told == history.Success {
		op.Told = history.Promised
	}
	g.ops.Add(1)
	if p.later.happens {
		g.log.add(op)
	}
	if p.later.news {
		g.lasting.mu.Lock()
		defer g.lasting.mu.Unlock()
		owed := op.Told == history.Promised && !toldOver.MatchString(op.Text)
		g.lasting.promises = append(g.lasting.promises, promise{op.ID, t.plan, owed})
	}
}

// listen starts the webhook to which messages go. It lives as long as the harness.
func (l *lasting) listen() error {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.address, l.letters = at.Addr().String(), map[string]history.Effect{}
	go func() { _ = http.Serve(at, l) }()
	return nil
}

// ServeHTTP takes a delivery. One whose ID is known has been made already.
func (l *lasting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var text json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&text); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	delivery := r.Header.Get("webhook-id")
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.letters[delivery]; !known {
		l.letters[delivery] = history.Effect{ID: idPattern.FindString(string(text)), At: time.Now()}
	}
	w.WriteHeader(http.StatusNoContent)
}

// delivered is what the webhook got.
func (l *lasting) delivered() []history.Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []history.Effect
	for _, e := range l.letters {
		all = append(all, e)
	}
	return all
}

// human is who answers what a group asks.
type human struct{ *group }

// makeToken has a person make the token that answers approvals.
func (g human) makeToken() error {
	cmd := exec.Command(g.Person, g.Binary, "token", "create", "--role", "approver", "--name", "soak")
	cmd.Dir, cmd.Env = g.work, g.env
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("callgate token create: %w: %s", err, out)
	}
	g.lasting.token = lastField(string(out))
	return nil
}

func lastField(s string) string {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return ""
	}
	return fields[len(fields)-1]
}

// answerApprovals answers what waits for a human, one in four with a no.
func (g human) answerApprovals(ctx context.Context, rng *rand.Rand) {
	c := client.New(client.Options{Dial: client.UnixAt(statedir.Dir(g.state).Socket), Token: g.lasting.token})
	defer c.Close()
	for ctx.Err() == nil {
		g.answerAll(ctx, c, rng)
		wait(ctx, time.Duration(20+rng.IntN(150))*time.Millisecond)
	}
}

func (g human) answerAll(ctx context.Context, c *client.Client, rng *rand.Rand) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := c.Approvals(bounded, protocol.ApprovalPending)
	if err != nil {
		return // the kernel is gone
	}
	for _, a := range list {
		_, _ = c.Answer(bounded, a.ID, protocol.Answer{Approve: rng.IntN(4) > 0}) // who was killed is asked again
	}
}

// finishLasting waits for the end of what goes on by itself, has each conversation that
// began some of it take one more turn, and reads what they were told.
func (g agent) finishLasting() error {
	if g.number == 0 && g.Limit >= longRun {
		plan := child.Plan{ID: fmt.Sprintf("P%03d_%d", g.number, g.last.Add(1))}
		t := &turn{plan: plan.ID}
		g.plans(t, &plan, &longCall, nil)
		g.take(t, plan)
	}
	if err := human(g).awaitTasks(); err != nil {
		return err
	}
	sessions := g.sessionIDs()
	asked := map[string]bool{}
	for _, p := range g.lasting.promises {
		if id := sessions[p.conversation]; id != "" && !asked[id] {
			asked[id] = true
			g.talk(&turn{plan: p.conversation}, "run", "-q", "--resume", id, "-p", "Is there news?")
		}
	}
	heard, err := child.ReadHeard(g.heard)
	if err != nil {
		return err
	}
	g.lasting.notices = notices(g.lasting.promises, heard)
	return nil
}

// awaitTasks waits until no task is active.
func (g human) awaitTasks() error {
	c := client.New(client.Options{Dial: client.UnixAt(statedir.Dir(g.state).Socket), Token: g.lasting.token})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	rng := rand.New(rand.NewPCG(g.Seed, uint64(g.number)))
	for {
		g.answerAll(ctx, c, rng)
		active, err := c.Tasks().List(ctx, protocol.TaskQuery{Limit: 5})
		if err != nil {
			return fmt.Errorf("the kernel's tasks cannot be listed: %w", err)
		}
		if len(active) == 0 {
			return nil
		}
		if wait(ctx, 20*time.Millisecond); ctx.Err() != nil {
			g.log.problem(history.Unaccounted, active[0].ID, fmt.Sprintf("the task does not end: %+v", active[0]))
			return nil
		}
	}
}

// sessionIDs are the conversations that are kept, by the plans that began them.
func (g agent) sessionIDs() map[string]string {
	cmd := g.talk(&turn{plan: "all"}, "sessions", "list", "--json", "-n", "100000")
	if cmd == nil || cmd.ProcessState.ExitCode() != 0 {
		g.log.problem(history.Untold, "sessions", "callgate sessions list fails")
		return nil
	}
	var list []struct{ ID, Title string }
	if err := json.Unmarshal(cmd.out.Bytes(), &list); err != nil {
		g.log.problem(history.Untold, "sessions", "callgate sessions list --json: "+err.Error())
	}
	ids := map[string]string{}
	for _, c := range list {
		if plan := planPattern.FindString(c.Title); plan != "" {
			ids[plan] = c.ID
		}
	}
	return ids
}

// notices are what conversations were told about promises. A history only grows: what
// one request has more than once was told more than once.
func notices(promises []promise, heard []child.Heard) []history.Notice {
	told := map[string]map[string]int{} // by operation, then by conversation
	for _, h := range heard {
		count := map[child.Note]int{}
		for _, n := range h.Notes {
			count[n]++
		}
		for n, times := range count {
			if told[n.ID] == nil {
				told[n.ID] = map[string]int{}
			}
			told[n.ID][h.Conversation] = max(told[n.ID][h.Conversation], times)
		}
	}
	var all []history.Notice
	for _, p := range promises {
		all = append(all, history.Notice{Op: p.op, To: p.conversation, Owed: p.owed, In: told[p.op]})
	}
	return all
}

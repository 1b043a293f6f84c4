// Package scripts runs the programs of run_script.
//
// # Law
//
//   - Each call of a program is a call of its own: judged, asked about, locked and recorded
//     as the child of the run_script. A program has no right that its session does not have.
//   - The ID of a call follows from that of the run_script, its number in the program, its
//     tool and its arguments. A run_script that is made again after a crash makes only the
//     calls that have touched nothing; of the others it has what became of them. If it comes
//     to another call than the one that was made under that number, and that one left
//     something behind, it ends: it must not do its work twice.
//   - Calls that were put off are asked about together, made in turn, and none after one
//     that failed. What waits for a human then is withdrawn.
//   - What a human allows for the script ends with it.
//   - Its time does not run while a human is asked.
package scripts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/order"
	"callgate/internal/gate/permission"
	"callgate/internal/gate/schema"
	"callgate/internal/journal"
	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel/session"
	"callgate/internal/script"
	"callgate/tool"
)

// Sessions finds open sessions.
type Sessions interface {
	Get(id string) (*session.Session, error)
}

// Options is what a Runner needs of the kernel. All fields are required.
type Options struct {
	Sessions    Sessions
	Journal     *journal.Journal
	Approvals   *approval.Queue
	Permissions *permission.Table
	Output      *outputbus.Bus
}

// Runner runs scripts. Make one with New.
type Runner struct {
	opt     Options
	schemas schema.Cache
	steps   steps
}

// New makes a runner.
func New(o Options) *Runner { return &Runner{opt: o} }

// tick is how often the time of a script is looked at.
const tick = 100 * time.Millisecond

// Run runs a program: see control.Script.
func (r *Runner) Run(ctx context.Context, call tool.Call, req control.ScriptRequest) (*tool.Result, error) {
	s, err := r.opt.Sessions.Get(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	c := &caller{runner: r, session: s, call: call, program: req.Program}
	if c.before, err = r.madeBefore(ctx, call.ID); err != nil {
		return nil, err
	}
	functions, err := r.functions(ctx, s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer r.opt.Permissions.BeginScript(s.ID(), call.ID, func() { cancel(script.ErrStopped) })()
	defer r.steps.begin(s.ID(), call.ID)()
	go r.keepTime(ctx, cancel, call.ID, req.Timeout)
	done, err := script.Run(ctx, req.Program, script.Options{Caller: c, Functions: functions})
	if why, stopped := r.opt.Permissions.Stopped(call.ID); stopped && err != nil {
		err = r.stopError(call.ID, why)
	}
	if err != nil {
		return nil, withLog(err, done)
	}
	return tell(done), nil
}

// stopError tells the model that the user stopped a script, why, and what of it was done.
func (r *Runner) stopError(call, why string) error {
	text := "the user stopped the script"
	if why = strings.TrimSpace(why); why != "" {
		text += ": " + tool.Truncate(why)
	}
	made := r.steps.succeeded(call)
	return tool.Errorf("run_script", tool.Denied, "%s; before that %s", text, made).
		WithHint("do not run it again; ask what they want instead")
}

// keepTime ends a script whose time is over. While a human is asked it does not run.
func (r *Runner) keepTime(ctx context.Context, cancel context.CancelCauseFunc, call string, limit time.Duration) {
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for used := time.Duration(0); used < limit; {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			if !r.opt.Permissions.Asking(call) {
				used += tick
			}
		}
	}
	cancel(tool.Errorf("run_script", tool.Timeout, "it took more than %s", limit))
}

// withLog adds what a program printed to the error that it ended with.
func withLog(err error, done *script.Result) error {
	log := strings.TrimSpace(done.Log)
	if log == "" {
		return err
	}
	return tool.Errorf("run_script", tool.KindOf(err), "%s\nprinted:\n%s", err, log)
}

// tell makes the result. What was printed is told only where nothing else is.
func tell(done *script.Result) *tool.Result {
	r := &tool.Result{Status: tool.Success, Summary: fmt.Sprintf("%d calls", done.Calls)}
	if done.Calls == 1 {
		r.Summary = "1 call"
	}
	log := strings.TrimSpace(done.Log)
	switch {
	case string(done.Value) != "null" && done.Text != "":
		r.Content = []tool.Content{tool.Text(done.Text)}
	case string(done.Value) != "null":
		r.Content = []tool.Content{tool.Text(string(done.Value))}
	case log != "":
		r.Content = []tool.Content{tool.Text(log)}
	default:
		r.Content = []tool.Content{tool.Text("the program set no result")}
	}
	r.Data = done.Value
	return r
}

// callID is the ID of a call of a script.
func callID(parent string, c script.Call) string {
	sum := sha256.Sum256([]byte(c.Name + "\x00" + string(c.Args)))
	return parent + ".s" + strconv.Itoa(c.Number) + "-" + hex.EncodeToString(sum[:4])
}

// madeBefore returns the calls that an earlier process began, by their numbers.
func (r *Runner) madeBefore(ctx context.Context, parent string) (map[int]string, error) {
	first, err := r.opt.Journal.Read(ctx, journal.Query{Within: parent, Limit: 1, Stored: true})
	if err != nil || len(first) == 0 {
		return nil, err
	}
	records, err := r.opt.Journal.Read(ctx, journal.Query{Within: parent, Stored: true})
	if err != nil {
		return nil, err
	}
	before := map[int]string{}
	for _, rec := range records {
		rest, ok := strings.CutPrefix(rec.Call, parent+".s")
		number, hash, dashed := strings.Cut(rest, "-")
		n, err := strconv.Atoi(number)
		if !ok || !dashed || err != nil || strings.Contains(hash, ".") {
			continue
		}
		if rec.Kind == journal.Begun || before[n] == "" {
			before[n] = rec.Call
		}
	}
	return before, nil
}

// caller makes the calls of one script.
type caller struct {
	runner  *Runner
	session *session.Session
	call    tool.Call
	program string
	before  map[int]string // calls that an earlier process began; nil: none
	batches int
}

var _ script.Caller = (*caller)(nil)

// Call makes calls: see script.Caller.
func (c *caller) Call(ctx context.Context, calls []script.Call, inTurn bool) []*tool.Result {
	c.batches++
	results := make([]*tool.Result, len(calls))
	var requests []gate.CallRequest
	var places []int
	var turn *order.Turn
	if inTurn {
		turn = &order.Turn{}
	}
	for i, one := range calls {
		id := callID(c.call.ID, one)
		c.began(id, one)
		made, err := c.made(ctx, one)
		if err == nil && made == nil {
			err = c.refuses(ctx, one)
		}
		if err != nil {
			made = failure(err)
		}
		if made != nil {
			results[i] = made
			c.ended(id, one, made)
			if inTurn && made.Status != tool.Success {
				return results // those before it were made by the earlier process too
			}
			continue
		}
		requests = append(requests, gate.CallRequest{
			ID: id, Name: one.Name, Args: one.Args, Parent: c.call.ID, Whole: true, Turn: turn,
			Script: &approval.Script{Call: c.call.ID, Program: c.program, Line: one.At.Line, Batch: c.batches},
		})
		places = append(places, i)
	}
	for _, request := range requests {
		request.Script.Of = len(requests)
	}
	c.makeAll(ctx, batch{calls, requests, places, turn}, results)
	return results
}

func errEarlier() error {
	return tool.Errorf("run_script", tool.Cancelled, "an earlier call of the script failed, so this one was not made")
}

// batch is calls that are made together.
type batch struct {
	calls    []script.Call
	requests []gate.CallRequest // of those that no earlier process made
	places   []int              // of each request: which call it is
	turn     *order.Turn        // nil: side by side
}

// makeAll makes the calls that no earlier process made.
func (c *caller) makeAll(ctx context.Context, b batch, results []*tool.Result) {
	requests, turn := b.requests, b.turn
	done := func(i int, r *tool.Result) {
		c.ended(requests[i].ID, b.calls[b.places[i]], r)
		if turn == nil || r.Status == tool.Success {
			return
		}
		var later []string
		for _, request := range requests[i+1:] {
			later = append(later, request.ID)
		}
		turn.Stop(errEarlier(), later...)
		c.withdraw(ctx, later)
	}
	for i, r := range c.session.CallAll(ctx, requests, done) {
		results[b.places[i]] = r
	}
	failed := false
	for i, r := range results {
		switch {
		case turn != nil && failed:
			results[i] = nil // it was not made
		case r.Status != tool.Success:
			failed = true
			if _, stopped := c.runner.opt.Permissions.Stopped(c.call.ID); stopped {
				results[i] = failure(tool.Errorf("run_script", tool.Denied, "%s: %w", r.Summary, script.ErrStopped))
			}
		}
	}
}

// withdraw takes back those calls that wait for a human, after an earlier one failed.
func (c *caller) withdraw(ctx context.Context, calls []string) {
	ctx = context.WithoutCancel(ctx)
	pending, err := c.runner.opt.Approvals.List(ctx, approval.Pending, 0)
	if err != nil {
		return // they wait on, and their human finds out
	}
	for _, r := range pending {
		if !slices.Contains(calls, r.Call.ID) {
			continue
		}
		a := approval.Answer{Feedback: "an earlier call of the script failed", Unasked: true}
		_ = c.runner.opt.Approvals.AnswerVouched(ctx, approval.Voucher{By: "the script"}, r.ID, a)
	}
}

func failure(err error) *tool.Result {
	e, ok := err.(*tool.Error)
	if !ok {
		e = tool.Errorf("run_script", tool.KindOf(err), "%w", err)
	}
	return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e}
}

// made returns what became of a call that an earlier process began; nil: it is to be made.
func (c *caller) made(ctx context.Context, one script.Call) (*tool.Result, error) {
	was := c.before[one.Number]
	if was == "" {
		return nil, nil
	}
	made, err := c.session.Made(ctx, was)
	if err == nil && made != nil && was != callID(c.call.ID, one) {
		return nil, tool.Errorf("run_script", tool.Conflict, "this script was cut off after its call %d was made (%s), "+
			"and now it would make another in its place", one.Number, was).
			WithHint("look at what was done, then do the rest in a new script")
	}
	if err == nil && made != nil && made.Status == tool.Waiting {
		made, err = c.session.Collect(ctx, made.Call)
	}
	return made, err
}

// notInScripts are control tools that a script does not call: it calls tools itself.
var notInScripts = map[string]bool{
	"run_script": true, "run_parallel": true, "execute_tool": true, "search_tools": true, "get_tool": true,
	"list_categories": true, "browse_category": true, "use_skill": true, "collect": true,
}

// refuses returns why a call is not made from a script.
func (c *caller) refuses(ctx context.Context, one script.Call) error {
	if _, stopped := c.runner.opt.Permissions.Stopped(c.call.ID); stopped {
		return tool.Errorf("run_script", tool.Denied, "the user stopped the script: %w", script.ErrStopped)
	}
	seen, err := c.session.View().Tool(ctx, one.Name)
	if err != nil {
		return nil // the gate says what is wrong
	}
	if seen.Runtime.Control && notInScripts[seen.ID.Name] {
		return tool.Errorf("run_script", tool.Invalid, "a script cannot call %s", seen.ID.Name).
			WithHint("call the tools themselves: module.name(…)")
	}
	return nil
}

// functions are the tools of a session as a program calls them.
func (r *Runner) functions(ctx context.Context, s *session.Session) ([]script.Function, error) {
	tools, err := s.View().Callable(ctx)
	if err != nil {
		return nil, err
	}
	var list []script.Function
	for _, t := range tools {
		f := script.Function{Name: t.ID.Dotted(), Refused: t.Decision.Verdict == "deny"}
		if t.Runtime.Control {
			if notInScripts[t.ID.Name] {
				continue
			}
			f.Name = t.ID.Name
		}
		compiled, err := r.schemas.Get(t.Spec.Input)
		if err != nil {
			f.Open = true // the gate answers
			list = append(list, f)
			continue
		}
		for _, p := range compiled.Params() {
			f.Params = append(f.Params, script.Param(p))
		}
		for _, a := range t.Runtime.ParamAliases {
			if a.In == "" {
				f.Aliases = append(f.Aliases, a.Name)
			}
		}
		f.Open = len(f.Params) == 0 || isOpen(t.Spec.Input)
		list = append(list, f)
	}
	return list, nil
}

// isOpen reports whether a schema says that it takes other parameters too.
func isOpen(input json.RawMessage) bool {
	var s struct {
		Additional json.RawMessage `json:"additionalProperties"`
	}
	return json.Unmarshal(input, &s) == nil && string(s.Additional) == "true"
}

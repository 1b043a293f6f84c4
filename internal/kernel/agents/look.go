package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/conversation/history"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// Record is an agent as its parent's model is told of it.
type Record struct {
	AgentID         string     `json:"agent_id"`
	Specialist      string     `json:"specialist"`
	Status          Status     `json:"status"`
	DurationSeconds float64    `json:"duration_seconds"`
	ToolCalls       int        `json:"tool_calls_count"`
	Preview         string     `json:"preview"`
	Result          string     `json:"result,omitempty"`
	Error           string     `json:"error,omitempty"`
	Usage           *llm.Usage `json:"usage,omitempty"`
	Hint            string     `json:"hint,omitempty"`
}

const (
	maxPreview = 200
	maxResult  = 16_000
)

// Record returns the agent as its parent's model is told of it.
func (g *Agent) Record() Record {
	made := outcomeOf(g.last)
	r := Record{
		AgentID: g.ID, Specialist: g.Name(), Status: g.Status(), ToolCalls: g.info.ToolCalls,
		DurationSeconds: math.Round(g.Took().Seconds()*10) / 10,
		Preview:         tool.TruncateTo(cmp.Or(made.Answer, g.last.Progress), maxPreview),
	}
	if u := g.info.Usage; u != (llm.Usage{}) {
		r.Usage = &u
	}
	if g.last.Outcome != nil {
		r.Result = tool.TruncateTo(made.Answer, maxResult)
		if e := g.last.Outcome.Error; e != nil {
			r.Error = e.Error()
		}
	}
	switch r.Status {
	case Queued:
		r.Hint = "it begins when another of your agents has ended; you are told of its end"
	case Running:
		r.Hint = "it goes on; you are told of its end, so do something else meanwhile, or wait for it"
	case Failed:
		r.Hint = "mend what the error says, and give it new work (reassign), or do it yourself"
	}
	return r
}

// records are several agents.
type records struct {
	Agents  []Record `json:"agents"`
	Total   int      `json:"total"`
	Running int      `json:"running"`
}

// answer tells of agents: of one as it is, of several in a list.
func answer(list []*Agent, one bool) (*tool.Result, error) {
	if one && len(list) == 1 {
		r := list[0].Record()
		return tool.OK(fmt.Sprintf("agent %s (%s): %s", r.AgentID, r.Specialist, r.Status), r)
	}
	made := records{Agents: []Record{}, Total: len(list)}
	for _, g := range list {
		r := g.Record()
		if r.Status == Running || r.Status == Queued {
			made.Running++
		}
		made.Agents = append(made.Agents, r)
	}
	return tool.OK(fmt.Sprintf("%s, %d of them not ended", amount.Of(made.Total, "agent"), made.Running), made)
}

// told tells how agents stand that were just begun.
func (a *Agents) told(ctx context.Context, parent string, ids []string) (*tool.Result, error) {
	list, err := a.several(ctx, parent, ids)
	if err != nil {
		return nil, err
	}
	return answer(list, true)
}

// several returns agents of a conversation by their IDs.
func (a *Agents) several(ctx context.Context, parent string, ids []string) ([]*Agent, error) {
	all, err := a.Of(ctx, parent)
	if err != nil {
		return nil, err
	}
	var list []*Agent
	for _, id := range ids {
		i := slices.IndexFunc(all, func(g *Agent) bool { return g.ID == id })
		if i < 0 {
			return nil, tool.Errorf(op, tool.NotFound, "there is no agent %q of yours", tool.Truncate(id)).
				WithHint("list_agents shows yours")
		}
		list = append(list, all[i])
	}
	return list, nil
}

// list tells of all agents that a conversation started, without what they brought.
func (a *Agents) list(ctx context.Context, parent string) (*tool.Result, error) {
	all, err := a.Of(ctx, parent)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.last.Outcome != nil {
			short := *one.last.Outcome
			short.Data = nil
			one.last.Outcome = &short
		}
	}
	return answer(all, false)
}

// named returns the IDs of the agents that a call is about.
func (a *Agents) named(ctx context.Context, parent string, r module.AgentRequest) ([]string, error) {
	if !r.All {
		return r.IDs, nil
	}
	all, err := a.Of(ctx, parent)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, one := range all {
		if !one.last.State.Final() {
			ids = append(ids, one.ID)
		}
	}
	return ids, nil
}

// look tells how agents stand, once they have ended if the call waits.
func (a *Agents) look(ctx context.Context, parent string, r module.AgentRequest) (*tool.Result, error) {
	ids, err := a.named(ctx, parent, r)
	if err != nil {
		return nil, err
	}
	if r.Wait {
		return a.await(ctx, parent, ids, r.Timeout, !r.All && len(ids) == 1)
	}
	list, err := a.several(ctx, parent, ids)
	if err != nil {
		return nil, err
	}
	a.give(list)
	return answer(list, !r.All && len(ids) == 1)
}

// give notes that a call tells what agents brought.
func (a *Agents) give(list []*Agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range list {
		if one.last.State.Final() && one.last.Owed() {
			a.given[one.last.ID] = true
		}
	}
}

// await waits until agents have ended, at most so long and as long as the call may take, and
// tells how they stand. If the user stops the turn that waits, they are stopped.
func (a *Agents) await(
	ctx context.Context, parent string, ids []string, most time.Duration, one bool,
) (*tool.Result, error) {
	late := time.NewTimer(most)
	defer late.Stop()
	for over := false; ; {
		changed := a.change()
		list, err := a.several(ctx, parent, ids)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded): // the time of the call, not theirs
			if list, err = a.several(context.WithoutCancel(ctx), parent, ids); err != nil {
				return nil, err
			}
			over = true
		case ctx.Err() != nil:
			return nil, a.leave(ctx, parent, ids)
		case err != nil:
			return nil, err
		}
		if over || !slices.ContainsFunc(list, func(g *Agent) bool { return !g.last.State.Final() }) {
			a.give(list)
			return answer(list, one)
		}
		select {
		case <-changed:
		case <-late.C:
			over = true
		case <-ctx.Done():
		}
	}
}

// leave is for a call that does not wait any more: agents go on if nobody stopped it.
func (a *Agents) leave(ctx context.Context, parent string, ids []string) error {
	cause := context.Cause(ctx)
	var gone history.Interruption
	e := tool.Errorf(op, tool.Cancelled, "the call was stopped").WithHint("list_agents shows how they stand")
	if errors.As(cause, &gone) {
		return e
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	list, err := a.several(within, parent, ids)
	if err != nil {
		return err
	}
	for _, one := range list {
		if !one.last.State.Final() {
			if err := a.opt.Runner.Cancel(within, one.last.ID, "the user, who stopped the turn"); err != nil {
				return err
			}
		}
	}
	return e
}

// stop stops an agent's work, and waits until it has ended.
func (a *Agents) stop(ctx context.Context, id, by string) error {
	if err := a.opt.Runner.Cancel(ctx, id, by); err != nil {
		return err
	}
	return a.opt.Runner.Wait(ctx, id)
}

// rank puts those that have not begun before the others.
func (g *Agent) rank() int {
	if g.Status() == Queued {
		return 0
	}
	return 1
}

// cancel stops agents.
func (a *Agents) cancel(
	ctx context.Context, call tool.Call, parent string, r module.AgentRequest,
) (*tool.Result, error) {
	ids, err := a.named(ctx, parent, r)
	if err != nil {
		return nil, err
	}
	list, err := a.several(ctx, parent, ids)
	if err != nil {
		return nil, err
	}
	running := slices.DeleteFunc(slices.Clone(list), func(g *Agent) bool { return g.last.State.Final() })
	slices.SortStableFunc(running, func(one, other *Agent) int { // none begins because another one ends
		return cmp.Compare(one.rank(), other.rank())
	})
	for _, one := range running {
		if err := a.opt.Runner.Cancel(ctx, one.last.ID, cmp.Or(call.Principal.Agent, "its parent")); err != nil {
			return nil, err
		}
	}
	for _, one := range running {
		if err := a.opt.Runner.Wait(ctx, one.last.ID); err != nil {
			return nil, err
		}
	}
	if list, err = a.several(ctx, parent, ids); err != nil {
		return nil, err
	}
	return answer(list, !r.All && len(ids) == 1)
}

// Notice tells a model of the end of an agent that worked for it, with at most n bytes of
// what it brought: nothing of that if a call has told it.
func (a *Agents) Notice(t task.Task, n int) string {
	o, err := orderOf(t)
	if err != nil {
		return "AGENT " + t.ID + " ENDED (" + string(t.State) + ")"
	}
	g := Agent{ID: o.Agent, order: o, last: t}
	made := outcomeOf(t)
	head := fmt.Sprintf("%s %s (%s) ENDED: %s", strings.ToUpper(o.kind()), g.ID, g.Name(), g.Status())
	if took := g.Took().Round(time.Second); took > 0 {
		head += " after " + took.String()
	}
	head += fmt.Sprintf(", %s, %s", amount.Of(made.ToolCalls, "call"),
		amount.Of(int(made.Usage.Input+made.Usage.Output), "token"))
	if t.CancelledBy != "" {
		head += "; stopped by " + strings.Join(strings.Fields(t.CancelledBy), " ")
	}
	if t.Outcome != nil && t.Outcome.Error != nil {
		head += "; " + tool.TruncateTo(t.Outcome.Error.Error(), 300)
	}
	a.mu.Lock()
	given := a.given[t.ID]
	a.mu.Unlock()
	switch {
	case given:
		return head + ". Its result was given above."
	case made.Answer == "":
		return head
	}
	return head + "\n" + fence.Follows + fence.Data(tool.TruncateTo(made.Answer, n))
}

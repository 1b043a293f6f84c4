package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/tool"
)

// sight is a session as the kernel's own tools see it.
type sight struct{ *Session }

var _ control.Session = sight{}

// sight finds the session on whose behalf a control tool is called.
func (k *Kernel) sight(id string) (control.Session, error) {
	s, err := k.Session(id)
	if err != nil {
		return nil, err
	}
	return sight{s}, nil
}

// Tool returns one tool by any of its names.
func (s sight) Tool(ctx context.Context, name string) (control.ToolView, error) {
	v, err := s.Session.Tool(ctx, name)
	if err != nil {
		return control.ToolView{}, err
	}
	return control.ToolView{Tool: v.Tool, Policy: string(v.Decision.Verdict)}, nil
}

// Modules returns the modules that the session sees, the kernel's own aside.
func (s sight) Modules(ctx context.Context) ([]control.Module, error) {
	tools, err := s.domain(ctx)
	if err != nil {
		return nil, err
	}
	var modules []control.Module
	for _, t := range tools { // by name, so a module's stand together
		if n := len(modules); n == 0 || modules[n-1].Name != t.ID.Namespace {
			modules = append(modules, control.Module{Name: t.ID.Namespace})
		}
		m := &modules[len(modules)-1]
		m.Tools = append(m.Tools, t)
	}
	for i := range modules {
		modules[i].Summary = s.kernel.summary(modules[i])
	}
	return modules, nil
}

// summary says in a line what a module is for: its own word, or the actions
// that it has.
func (k *Kernel) summary(m control.Module) string {
	if shipped := k.module(m.Name); shipped != nil {
		return shipped.Summary
	}
	const most = 6
	var names []string
	for _, t := range m.Tools[:min(most, len(m.Tools))] {
		names = append(names, t.ID.Name)
	}
	text := strings.Join(names, ", ")
	if len(m.Tools) > most {
		text += ", …"
	}
	return text
}

// CallChild makes a call as the child of another.
func (s sight) CallChild(ctx context.Context, parent, name string, args json.RawMessage) *tool.Result {
	return s.Ask(ctx, gate.CallRequest{ID: gate.ChildID(parent), Name: name, Args: args, Parent: parent})
}

// Collect returns what became of a call that was left waiting for a human.
func (s sight) Collect(ctx context.Context, id string, wait time.Duration) (*tool.Result, error) {
	const op = "approvals.collect"
	r, err := s.kernel.Approvals.Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && !s.asked(r) {
		return nil, tool.Errorf(op, tool.NotFound, "nothing of yours waits under the approval %q", tool.Truncate(id)).
			WithHint("give the id as the call that answered \"waiting for approval\" told it; if that is lost, make the call again")
	}
	if err != nil {
		return nil, err
	}
	story, err := s.kernel.Journal.Read(ctx, journal.Query{Call: r.Call.ID})
	if err != nil {
		return nil, err
	}
	for _, rec := range slices.Backward(story) {
		switch rec.Kind {
		case journal.Ended:
			return s.kernel.door.Collect(ctx, rec.Call)
		case journal.Resolved:
			if rec.Resolution.Retry != "" {
				return s.kernel.door.Collect(ctx, rec.Resolution.Retry)
			}
		case journal.Doubted:
			return nil, tool.Errorf(op, tool.InDoubt, "%s was approved and began, and the kernel ended before it did: it may or may not have happened", r.Call.Tool.Dotted()).
				WithHint("look at what it was to change before you call it again; callgate log show %s has its records", rec.Call)
		}
	}
	if r.State != approval.Pending {
		wait = max(wait, time.Second) // its end is about to be on record
	}
	return s.awaited(ctx, r, wait)
}

// awaited waits for the end of a call, and then for no longer.
func (s sight) awaited(ctx context.Context, r approval.Request, wait time.Duration) (*tool.Result, error) {
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if wait > 0 {
		result, err := s.kernel.door.Collect(within, r.Call.ID)
		if err == nil || within.Err() == nil || ctx.Err() != nil {
			return result, err
		}
		if now, err := s.kernel.Approvals.Get(ctx, r.ID); err == nil {
			r = now
		}
	}
	result := &tool.Result{Status: tool.Waiting, Call: r.Call.ID}
	if r.State != approval.Pending {
		result.Summary = fmt.Sprintf("%s was approved, and has not ended yet: collect it again", r.Call.Tool.Dotted())
		return result, nil
	}
	result.Approval = r.ID
	result.Summary = fmt.Sprintf("%s still waits for a human: %s (answer with: callgate approvals approve %s; then approvals.collect gives its result)", r.Call.Tool.Dotted(), r.Reason, r.ID)
	return result, nil
}

// asked reports whether an approval is this session's to ask after: it asked for
// it, or it is the same asker come back, in the same folder and under the same
// app, after the session that asked had ended. While that one is open, it alone
// may.
func (s sight) asked(r approval.Request) bool {
	me, asker := s.door.Principal, r.Call.Principal
	if asker.Session == me.Session {
		return true
	}
	if _, err := s.kernel.Session(asker.Session); err == nil {
		return false
	}
	asker.Session = me.Session
	return asker == me && r.Workspace == s.door.Workspace && r.AppFile == s.door.AppFile
}

// domain returns the tools that this session sees, by name, without the
// kernel's own.
func (s *Session) domain(ctx context.Context) ([]*tool.Tool, error) {
	snap, err := s.kernel.tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var list []*tool.Tool
	for t := range snap.View(s.door.Scope).All() {
		if !t.Runtime.Control && s.door.CanSee(t) {
			list = append(list, t)
		}
	}
	return list, nil
}

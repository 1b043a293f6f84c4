package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/tool"
)

// A call in doubt was begun in an earlier life of the kernel and never ended.
// Whoever asked for it is told with the next result it is given; what can be
// made again without harm is, if policy still allows it; the rest is a
// human's to look into.

// doubts are notices that wait for their principals. The zero value is empty.
type doubts struct {
	waiting atomic.Int64
	mu      sync.Mutex
	notices map[doubter][]string
}

// doubter is a principal as it comes back after a restart: its session is
// another, everything else is the same.
type doubter struct {
	user, app, agent, lane, workspace string
}

func doubterOf(p tool.Principal, workspace string) doubter {
	return doubter{p.User, p.App, p.Agent, p.Lane, workspace}
}

func (d *doubts) add(who doubter, notice string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.notices == nil {
		d.notices = map[doubter][]string{}
	}
	d.notices[who] = append(d.notices[who], notice)
	d.waiting.Store(int64(len(d.notices)))
}

// take returns what a principal has to be told, once.
func (d *doubts) take(who doubter) []string {
	if d.waiting.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	told := d.notices[who]
	delete(d.notices, who)
	d.waiting.Store(int64(len(d.notices)))
	return told
}

// Proposal is what a call in doubt asked for, as its records tell it.
type Proposal struct {
	Tool      string
	Args      json.RawMessage
	Workspace string
	AppFile   string
	Principal tool.Principal
}

// Proposal reads what a call in doubt asked for.
func (d *Door) Proposal(ctx context.Context, doubted journal.Record) (Proposal, error) {
	story, err := d.Journal.Read(ctx, journal.Query{Call: doubted.Call})
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Tool: doubted.Tool}
	if doubted.Principal != nil {
		p.Principal = *doubted.Principal
	}
	for _, r := range story {
		args, ref := json.RawMessage(nil), ""
		switch {
		case r.Ask != nil:
			p.Workspace, p.AppFile = r.Ask.Workspace, r.Ask.AppFile
			args, ref = r.Ask.Args, r.Ask.ArgsRef
		case r.Answer != nil:
			args, ref = r.Answer.Args, r.Answer.ArgsRef
		}
		if ref != "" {
			if args, err = d.Artifacts.Get(ctx, ref); err != nil {
				return p, err
			}
		}
		if len(args) > 0 {
			p.Args = args
		}
	}
	return p, nil
}

// TellDoubt has whoever asked for a call be told, with the next result it is
// given, that the call may or may not have happened.
func (d *Door) TellDoubt(p Proposal, call string) {
	d.doubts.add(doubterOf(p.Principal, p.Workspace), fmt.Sprintf(
		"an earlier call of yours is in doubt: %s (%s) began and its end was never recorded, so it may or may not have happened; look before you repeat it", p.name(), call))
}

// MayRetry reports whether a call in doubt may be made again: the tool says
// that twice is once, policy allows it without a human, and the record of its
// arguments is whole.
func (d *Door) MayRetry(ctx context.Context, s *Session, p Proposal) bool {
	snap, err := d.Tools.Snapshot(ctx)
	if err != nil {
		return false
	}
	t, err := snap.View(s.Scope).Resolve(p.Tool, nil)
	return err == nil && t.Runtime.Idempotent && s.Decide(t).Verdict == policy.Allow && !strings.Contains(string(p.Args), "[secret ")
}

// Retry makes it again, as a new call with the old one for its parent. It
// returns the new call's id, and false when it did not go well.
func (d *Door) Retry(ctx context.Context, s *Session, doubted string, p Proposal) (string, bool) {
	walk := newPassage(s, Ask{Name: p.Tool, Args: p.Args, Parent: doubted})
	walk.unheard = true
	again := d.walk(ctx, walk, d.path)
	if again.Status != tool.Success {
		return "", false
	}
	d.doubts.add(doubterOf(p.Principal, p.Workspace), fmt.Sprintf(
		"an earlier call of yours, %s (%s), was cut off; it is safe to repeat, and has been, as call %s", p.name(), doubted, again.Call))
	return again.Call, true
}

// name is the tool's name as its principal knows it.
func (p Proposal) name() string {
	if id, ok := tool.TryParseID(p.Tool); ok {
		return id.Dotted()
	}
	return p.Tool
}

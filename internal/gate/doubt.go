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

// A call in doubt began in an earlier process and never ended. Its principal
// learns of it with its next result; it is repeated where that is safe and
// policy still allows it; the rest is left to a human.

// doubtNotices holds the notices that wait for their principals. The zero value
// is empty.
type doubtNotices struct {
	waiting atomic.Int64
	mu      sync.Mutex
	notices map[noticeKey][]string
}

// noticeKey is a principal as it comes back after a restart: its session is
// another, everything else is the same.
type noticeKey struct {
	user, app, agent, lane, workspace string
}

func noticeKeyOf(p tool.Principal, workspace string) noticeKey {
	return noticeKey{p.User, p.App, p.Agent, p.Lane, workspace}
}

func (d *doubtNotices) add(to noticeKey, notice string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.notices == nil {
		d.notices = map[noticeKey][]string{}
	}
	d.notices[to] = append(d.notices[to], notice)
	d.waiting.Store(int64(len(d.notices)))
}

// take returns the notices for a principal, once.
func (d *doubtNotices) take(to noticeKey) []string {
	if d.waiting.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	notices := d.notices[to]
	delete(d.notices, to)
	d.waiting.Store(int64(len(d.notices)))
	return notices
}

// DoubtfulCall is what a call in doubt asked for, as its records tell it.
type DoubtfulCall struct {
	ID        string
	Tool      string
	Args      json.RawMessage
	Workspace string
	AppFile   string
	Principal tool.Principal
}

// LoadDoubtful reads what a call in doubt asked for.
func (g *Gate) LoadDoubtful(ctx context.Context, doubted journal.Record) (DoubtfulCall, error) {
	records, err := g.Journal.Read(ctx, journal.Query{Call: doubted.Call})
	if err != nil {
		return DoubtfulCall{}, err
	}
	d := DoubtfulCall{ID: doubted.Call, Tool: doubted.Tool}
	if doubted.Principal != nil {
		d.Principal = *doubted.Principal
	}
	for _, r := range records {
		args, ref := json.RawMessage(nil), ""
		switch {
		case r.Ask != nil:
			d.Workspace, d.AppFile = r.Ask.Workspace, r.Ask.AppFile
			args, ref = r.Ask.Args, r.Ask.ArgsRef
		case r.Answer != nil:
			args, ref = r.Answer.Args, r.Answer.ArgsRef
		}
		if ref != "" {
			if args, err = g.Artifacts.Get(ctx, ref); err != nil {
				return d, err
			}
		}
		if len(args) > 0 {
			d.Args = args
		}
	}
	return d, nil
}

// NotifyDoubt adds a warning to the next result of the call's principal: the
// call may or may not have happened.
func (g *Gate) NotifyDoubt(d DoubtfulCall) {
	const text = "an earlier call of yours is in doubt: %s (%s) began and its end was never recorded, " +
		"so it may or may not have happened; look before you repeat it"
	g.doubts.add(noticeKeyOf(d.Principal, d.Workspace), fmt.Sprintf(text, d.name(), d.ID))
}

// CanRetry reports whether a call in doubt may be made again: the tool says
// that twice is once, policy allows it without a human, and the record of its
// arguments is whole.
func (g *Gate) CanRetry(ctx context.Context, caller *Caller, d DoubtfulCall) bool {
	snap, err := g.Tools.Snapshot(ctx)
	if err != nil {
		return false
	}
	t, err := snap.View(caller.place.Scope).Resolve(d.Tool, nil)
	return err == nil && t.Runtime.Idempotent && caller.Decide(t).Verdict == policy.Allow &&
		!strings.Contains(string(d.Args), "[secret ")
}

// Retry makes it again, as a new call whose parent is the old one. It returns
// the new call's ID, and false when the call failed.
func (g *Gate) Retry(ctx context.Context, caller *Caller, d DoubtfulCall) (string, bool) {
	c := g.newCall(caller, CallRequest{Name: d.Tool, Args: d.Args, Parent: d.ID})
	c.how.background = true
	again := g.run(ctx, c, g.steps)
	if again.Status != tool.Success {
		return "", false
	}
	const text = "an earlier call of yours, %s (%s), was cut off; it is safe to repeat, and has been, as call %s"
	g.doubts.add(noticeKeyOf(d.Principal, d.Workspace), fmt.Sprintf(text, d.name(), d.ID, again.Call))
	return again.Call, true
}

// name is the tool's name as its principal knows it.
func (d DoubtfulCall) name() string {
	if id, ok := tool.TryParseID(d.Tool); ok {
		return id.Dotted()
	}
	return d.Tool
}

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

// doubtNotices are notices that wait for their principals. The zero value is empty.
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

func (d *doubtNotices) add(who noticeKey, notice string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.notices == nil {
		d.notices = map[noticeKey][]string{}
	}
	d.notices[who] = append(d.notices[who], notice)
	d.waiting.Store(int64(len(d.notices)))
}

// take returns what a principal has to be told, once.
func (d *doubtNotices) take(who noticeKey) []string {
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

// DoubtfulCall is what a call in doubt asked for, as its records tell it.
type DoubtfulCall struct {
	Tool      string
	Args      json.RawMessage
	Workspace string
	AppFile   string
	Principal tool.Principal
}

// LoadDoubtful reads what a call in doubt asked for.
func (d *Gate) LoadDoubtful(ctx context.Context, doubted journal.Record) (DoubtfulCall, error) {
	story, err := d.Journal.Read(ctx, journal.Query{Call: doubted.Call})
	if err != nil {
		return DoubtfulCall{}, err
	}
	p := DoubtfulCall{Tool: doubted.Tool}
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

// NotifyDoubt has whoever asked for a call be told, with the next result it is
// given, that the call may or may not have happened.
func (d *Gate) NotifyDoubt(p DoubtfulCall, call string) {
	d.doubts.add(noticeKeyOf(p.Principal, p.Workspace), fmt.Sprintf(
		"an earlier call of yours is in doubt: %s (%s) began and its end was never recorded, so it may or may not have happened; look before you repeat it", p.name(), call))
}

// CanRetry reports whether a call in doubt may be made again: the tool says
// that twice is once, policy allows it without a human, and the record of its
// arguments is whole.
func (d *Gate) CanRetry(ctx context.Context, s *Caller, p DoubtfulCall) bool {
	snap, err := d.Tools.Snapshot(ctx)
	if err != nil {
		return false
	}
	t, err := snap.View(s.Scope).Resolve(p.Tool, nil)
	return err == nil && t.Runtime.Idempotent && s.Decide(t).Verdict == policy.Allow && !strings.Contains(string(p.Args), "[secret ")
}

// Retry makes it again, as a new call with the old one for its parent. It
// returns the new call's id, and false when it did not go well.
func (d *Gate) Retry(ctx context.Context, s *Caller, doubted string, p DoubtfulCall) (string, bool) {
	walk := newCallState(s, CallRequest{Name: p.Tool, Args: p.Args, Parent: doubted})
	walk.background = true
	again := d.run(ctx, walk, d.steps)
	if again.Status != tool.Success {
		return "", false
	}
	d.doubts.add(noticeKeyOf(p.Principal, p.Workspace), fmt.Sprintf(
		"an earlier call of yours, %s (%s), was cut off; it is safe to repeat, and has been, as call %s", p.name(), doubted, again.Call))
	return again.Call, true
}

// name is the tool's name as its principal knows it.
func (p DoubtfulCall) name() string {
	if id, ok := tool.TryParseID(p.Tool); ok {
		return id.Dotted()
	}
	return p.Tool
}

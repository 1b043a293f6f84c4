package recovery

import (
	"context"
	"fmt"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/gate/notice"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel/session"
	"callgate/internal/user"
	"callgate/tool"
)

// openDoubts puts the calls of earlier kernels in doubt, decides which are made
// again, and takes the places of those in the lock queue. What costs more than
// that runs in the background.
func (r *Recovery) openDoubts(ctx context.Context, noRetries bool) error {
	if _, err := r.Journal.Recover(ctx); err != nil {
		return err
	}
	undecided, err := r.Journal.OpenDoubts(ctx, doubt.Query{State: doubt.New})
	if err != nil {
		return err
	}
	for _, d := range undecided {
		if err := r.decide(ctx, d, noRetries); err != nil {
			return err
		}
	}
	counts, err := r.Journal.CountDoubts(ctx)
	if err != nil {
		return err
	}
	total := counts[doubt.New] + counts[doubt.Judged] + counts[doubt.Told]
	if total == 0 {
		return nil
	}
	r.Log.Warn("calls are in doubt: they began, and their ends were never recorded; callgate log doubts lists them",
		"calls", total)
	if counts[doubt.New]+counts[doubt.Judged] > 0 {
		r.loadNotices(noRetries)
	}
	r.Go(r.closeOld)
	return nil
}

// The pauses between attempts to put calls in doubt while the journal cannot be
// written.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
)

// openDoubtsLater does what a full disk kept from being done at the start. Nothing
// is made again: others have been served meanwhile.
func (r *Recovery) openDoubtsLater(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		err := r.openDoubts(ctx, true)
		if err == nil {
			return
		}
		if tool.KindOf(err) != tool.Unavailable {
			r.Log.Error("calls of an earlier kernel cannot be put in doubt", "error", err)
			return
		}
	}
}

// decide judges a doubt by its records, and starts the retry of one that may be
// made again. A kernel that makes none leaves such a one as it is.
func (r *Recovery) decide(ctx context.Context, d journal.OpenDoubt, noRetries bool) error {
	attempt, err := r.Journal.Read(ctx, journal.Query{Call: doubt.RetryID(d.Call)})
	if err != nil {
		return err
	}
	begun := false // one that was refused or given up before that was no attempt
	for _, rec := range attempt {
		begun = begun || rec.Kind == journal.Begun
		if begun && rec.Kind == journal.Ended && rec.End != nil && rec.End.Status == tool.Success {
			return r.Journal.Resolve(ctx, d.Call, madeAgain(rec.Call))
		}
	}
	if begun {
		return r.judge(d.Record, "it was made again, as call "+doubt.RetryID(d.Call)+", and that did not end well either")
	}
	if d.Doubt == nil || len(d.Doubt.Files) == 0 {
		return r.judge(d.Record, "its tool does not say that twice is once, "+
			"or not everything it touches is a file that could be compared with how it was")
	}
	if noRetries {
		return nil
	}
	call, err := r.Gate.LoadDoubtful(ctx, d.Record)
	if err != nil {
		return r.judge(d.Record, "what it asked for cannot be read: "+err.Error())
	}
	if r.IsShared != nil && r.IsShared(call.Workspace) {
		return r.judge(d.Record, "another node may have worked in its folder since")
	}
	place, err := r.Gate.Reserve(call)
	if err != nil {
		return r.judge(d.Record, err.Error())
	}
	if r.retried == nil {
		r.retried = map[string]chan struct{}{}
	}
	ended := make(chan struct{})
	r.retried[d.Call] = ended
	r.detached.Add(1)
	started := r.Go(func(ctx context.Context) {
		defer close(ended)
		defer r.detached.Add(-1)
		r.retry(ctx, d.Record, call, place)
	})
	if !started {
		close(ended)
		r.detached.Add(-1)
		place.Cancel()
	}
	return nil
}

// AwaitRetry waits until a call that an earlier kernel left in doubt is not being made
// again any more. Of one that is, nobody can say what became of it before.
func (r *Recovery) AwaitRetry(ctx context.Context, call string) {
	if ended := r.retried[call]; ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// judge puts on record that a call in doubt is not made again, and why.
func (r *Recovery) judge(doubted journal.Record, why string) error {
	rec := doubted.About(journal.Judged)
	rec.Note = "not made again: " + why
	return r.Journal.Append(rec)
}

func madeAgain(call string) doubt.Resolution {
	return doubt.Resolution{Happened: true, By: "the kernel", Retry: call}
}

// retry makes a call in doubt again and resolves the doubt when that went well;
// else its asker is told. What a closing kernel leaves, the next one decides.
func (r *Recovery) retry(ctx context.Context, doubted journal.Record, call gate.DoubtfulCall, place lockqueue.Ticket) {
	defer place.Cancel() // of no effect once it is used
	s, err := r.Sessions.Build(ctx, session.Spec{
		ID: call.Principal.Session, Workspace: call.Workspace, AppFile: call.AppFile,
		Agent: call.Principal.Agent, Lane: call.Principal.Lane, Again: true,
		Requester: approval.Requester{User: user.Of(call.Principal.User)},
	})
	if err == nil {
		defer s.Close()
		result := r.Gate.Retry(ctx, s.Caller(), call, place, func(ctx context.Context) error {
			return r.law(ctx, doubted, call)
		})
		if err = result.Err(); err == nil {
			r.resolve(ctx, doubted, call, result.Call)
			return
		}
	}
	if ctx.Err() != nil {
		return
	}
	if judged := r.judge(doubted, err.Error()); judged != nil {
		r.Log.Error("a decision about a call in doubt cannot be recorded", "call", doubted.Call, "error", judged)
	}
	r.Gate.Notify(noticeOf(doubted))
}

// resolve ends the doubt about a call that was made again.
func (r *Recovery) resolve(ctx context.Context, doubted journal.Record, call gate.DoubtfulCall, again string) {
	ctx = context.WithoutCancel(ctx) // it has happened
	if err := r.Journal.Resolve(ctx, doubted.Call, madeAgain(again)); err != nil {
		r.Log.Error("a doubt cannot be resolved", "call", doubted.Call, "error", err)
	}
	const text = "an earlier call of yours, %s (%s), was cut off; nothing had happened to what it touches, " +
		"so it has been made again, as call %s"
	r.Gate.Notify(notice.Notice{
		Principal: call.Principal, Workspace: call.Workspace,
		Text: fmt.Sprintf(text, nameOf(doubted), doubted.Call, again),
	})
}

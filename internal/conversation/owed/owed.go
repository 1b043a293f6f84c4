// Package owed is what a conversation is owed: the ends of tasks that it started, of
// whatever kind, and notices that others left for it.
//
// # Law
//
//   - A debt is a task of the store that has ended, names the conversation as its parent
//     and does not count as told. So no conversation sees the debts of another.
//   - A debt is paid once. It is paid when a note of the history tells it; then the
//     store is told so. After a crash between the two the history decides: what a note
//     of it tells is not told again, and counts as told from then on.
//   - The model is told before its next request, whatever began the turn. A conversation
//     that is open, idle and attended by a client begins a turn for it; one that nobody
//     attends is told in its next turn.
//   - What a task brought is from outside: it stands between marks, as data, and cannot
//     end them. Only the line above it is the kernel's. What the conversation itself said,
//     to be reminded of it, is no data.
//   - Many debts are few words: the newest are told in full, as far as there is room, and
//     the others are counted and named in one note.
//   - No conversation goes on by itself for ever: after some turns in a row that began by
//     themselves a user's word is waited for, and none begins when the conversation has
//     cost what it may.
package owed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/agent"
	"callgate/internal/amount"
	"callgate/internal/conversation/history"
	"callgate/internal/task"
)

// Runner stops tasks.
type Runner interface {
	Cancel(ctx context.Context, id, by string) error
	Wait(ctx context.Context, id string) error
}

// Debts are what one conversation is owed, and the tasks that still work for it.
type Debts struct {
	Parent string // the conversation's ID
	Log    *history.Log
	Store  task.Store
	Runner Runner
	Bell   Bell // rings when there may be more
	// Texts are what is told of tasks of some kinds, in the place of what their outcome
	// says; may be nil.
	Texts map[string]Words
	// Spent is what tasks of some kinds have cost; may be nil.
	Spent map[string]Spent
	// Patience says that the conversation takes a single turn, which waits for its tasks:
	// for so long at most.
	Patience time.Duration
	// Longer are kinds that are waited for as long as they take: they have limits of
	// their own.
	Longer []string
}

// List returns what the conversation is owed, in the order in which it came. What the
// history tells already counts as told from now on.
func (d *Debts) List(ctx context.Context) ([]task.Task, error) {
	all, err := d.Store.List(ctx, task.Query{Parent: d.Parent, Owed: true})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var owed []task.Task
	var paid []string
	d.Log.View(func(s *history.State) {
		for _, t := range all {
			if s.Noted(t.ID) { // by a process that ended before it could say so
				paid = append(paid, t.ID)
			} else {
				owed = append(owed, t)
			}
		}
	})
	slices.SortStableFunc(owed, func(a, b task.Task) int { return a.Times.Ended.Compare(b.Times.Ended) })
	if len(paid) == 0 {
		return owed, nil
	}
	return owed, d.Store.Told(context.WithoutCancel(ctx), paid...)
}

// Notices returns what the model is to be told.
func (d *Debts) Notices(ctx context.Context) ([]agent.Notice, error) {
	list, err := d.List(ctx)
	if err != nil {
		return nil, err
	}
	return d.words(list), nil
}

// Noted has tasks whose notices are in the history count as told.
func (d *Debts) Noted(ctx context.Context, notices []agent.Notice) error {
	var ids []string
	for _, n := range notices {
		ids = append(ids, n.Tasks...)
	}
	if len(ids) == 0 {
		return nil
	}
	return d.Store.Told(context.WithoutCancel(ctx), ids...)
}

// Active returns the tasks that have not ended; only those of some kinds, if any are
// named.
func (d *Debts) Active(ctx context.Context, kinds ...string) ([]task.Task, error) {
	return d.Store.List(ctx, task.Query{Parent: d.Parent, Kinds: kinds, Active: true})
}

// Cancel cancels the tasks that have not ended, only those of some kinds if any are named,
// and waits until they have stopped.
func (d *Debts) Cancel(ctx context.Context, kinds ...string) error {
	for {
		active, err := d.Active(ctx, kinds...)
		if err != nil || len(active) == 0 {
			return err
		}
		for _, t := range active {
			if err := d.Runner.Cancel(ctx, t.ID, "the end of its conversation"); err != nil {
				return err
			}
		}
		for _, t := range active {
			if err := d.Runner.Wait(ctx, t.ID); err != nil {
				return err
			}
		}
		if len(active) < task.MaxList {
			return nil
		}
	}
}

// Forget cancels what works for a conversation that is deleted, and lets nobody be told.
func (d *Debts) Forget(ctx context.Context) error {
	if err := d.Cancel(ctx); err != nil {
		return err
	}
	for {
		list, err := d.Store.List(ctx, task.Query{Parent: d.Parent, Owed: true})
		if err != nil || len(list) == 0 {
			return err
		}
		ids := make([]string, len(list))
		for i, t := range list {
			ids[i] = t.ID
		}
		if err := d.Store.Told(ctx, ids...); err != nil {
			return err
		}
	}
}

// Unreported returns the calls that began tasks whose end the model has not seen.
func (d *Debts) Unreported(ctx context.Context) (map[string]bool, error) {
	const most = 20 // a watch or a schedule may not end for ever
	active, err := d.Store.List(ctx, task.Query{Parent: d.Parent, Active: true, Newest: true, Limit: most})
	if err != nil {
		return nil, err
	}
	list, err := d.List(ctx)
	if err != nil {
		return nil, err
	}
	calls := map[string]bool{}
	for _, t := range append(active, list...) {
		calls[t.Asker.Call] = true
	}
	return calls, nil
}

// Await waits until there is something to tell, if the conversation takes a single turn,
// and reports whether there is. It waits for tasks that run, not for those whose time has
// not come, such as a schedule; and no longer than Patience for any but the Longer ones.
func (d *Debts) Await(ctx context.Context, say func(string)) bool {
	if d.Patience == 0 {
		return false
	}
	ring, stop := d.Bell.Listen()
	defer stop()
	patience := time.NewTimer(d.Patience)
	defer patience.Stop()
	for said, late := false, false; ; {
		// List the running tasks before the debts. In the opposite order, a task that ends
		// between the two queries is in neither list, and its end is never told.
		running, err := d.running(ctx, late)
		if err != nil {
			return false
		}
		if list, err := d.List(ctx); err != nil || len(list) > 0 {
			return err == nil
		}
		if len(running) == 0 {
			return false
		}
		if !said {
			said = true
			say("waits for " + amount.Of(len(running), "task") + ": " + names(running))
		}
		select {
		case <-ring:
		case <-patience.C:
			late = true
			if rest, err := d.running(ctx, false); err == nil && len(rest) > 0 {
				say("waits no longer for " + names(rest) + ", after " + d.Patience.String() + ": it goes on, and " +
					"callgate tasks shows it")
			}
		case <-ctx.Done():
			return false
		}
	}
}

// running returns the tasks that run, or are due; late: only the Longer ones.
func (d *Debts) running(ctx context.Context, late bool) ([]task.Task, error) {
	var kinds []string
	if late {
		kinds = d.Longer
	}
	if late && len(kinds) == 0 {
		return nil, nil
	}
	active, err := d.Active(ctx, kinds...)
	now := time.Now()
	return slices.DeleteFunc(active, func(t task.Task) bool {
		return t.State == task.Queued && t.RunAt.After(now)
	}), err
}

// names are tasks in a line for people.
func names(list []task.Task) string {
	const shown = 5
	var all []string
	for i, t := range list {
		if i == shown {
			all = append(all, amount.Of(len(list)-shown, "other"))
			break
		}
		all = append(all, Name(t))
	}
	return strings.Join(all, ", ")
}

// MaxAlone is how many turns in a row begin by themselves without a word of the user, or
// of somebody in the user's place.
const MaxAlone = 20

// News says whether a conversation in which no turn runs should go on by itself.
type News struct {
	Owed int    // how many debts wait to be told
	Held string // why it does not go on all the same, for people; "": it does
}

// News returns whether the conversation should go on by itself. A turn that was
// interrupted is resumed instead, and tells what is owed. spent says why nothing more may
// be spent; "": something may.
func (d *Debts) News(ctx context.Context, spent func() string) (News, error) {
	var broken bool
	var alone int
	d.Log.View(func(s *history.State) { broken, alone = s.Broken(), s.Alone })
	if broken {
		return News{}, nil
	}
	list, err := d.List(ctx)
	n := News{Owed: len(list)}
	switch why := spent(); {
	case err != nil || n.Owed == 0:
	case why != "":
		n.Held = why
	case alone >= MaxAlone:
		n.Held = fmt.Sprintf("%d turns in a row began by themselves", alone)
	}
	if n.Held != "" {
		n.Held = amount.As(n.Owed, "notice waits", "notices wait") + " for your next message: " + n.Held
	}
	return n, err
}

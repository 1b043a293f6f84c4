// Package adoption has a node go on with what another left that does not live any more.
//
// # Law
//
//   - What moves is what a node can go on with: conversations that work in a shared folder which the dead node had
//     too, by its ID and at the same path, or in none (workdir_mode: none, of an app that this node has under the same
//     path and ID); their agents; what they ask: approvals and questions; their tasks: calls in the background,
//     watchers, schedules, messages, events, and what they are owed. So do approvals, tasks and proposals of such a
//     place that are no conversation's. Everything else waits for its node, and callgate nodes says so.
//   - A node that is lost is taken over as soon as its lease is over. One that said that it ends is given time to come
//     back. Of the nodes that live each waits its turn, in an order that the ID of the dead node gives; who comes first
//     in a workspace claims it, and goes on with all that is in it. Others may claim others.
//   - Rows move in small batches, and what has moved goes on before the next batch does, so that a large node is no
//     large wave. A batch moves wholly or not at all, and only from a node that is still down in the same epoch; what
//     is under way at the dead node is refused by the database from before the first batch on.
//   - What has moved goes on as after a restart of one kernel: a turn that had no end is resumed, a task that was under
//     way is run again by its own law, a schedule runs what it missed as its law says, an approval waits or expires.
//     What became of a call that the dead node had made is read in its journal: what ended there is told, what began
//     and did not end is in doubt and is never made again by itself, and what had not begun is made.
//   - The dead node finds, when it comes back, that what has moved is another's: it is asked of that one. It makes no
//     call again that it had begun in a shared folder.
package adoption

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"callgate/internal/journal"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/shares"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/adoption"
	"callgate/tool"
)

// Moved is what has moved, by ID.
type Moved = adoption.Batch

// Options is what an Adopter needs of the kernel. All fields are required.
type Options struct {
	Node   *node.Node
	Shares *shares.Set
	// IsAbsent reports whether a workspace is the one in which an app works in none, also here.
	IsAbsent func(ctx context.Context, workspace, app, appFile string) bool
	// TakeOver puts on record here that a call waits for a human.
	TakeOver func(ctx context.Context, from journal.Store, call string) (bool, error)
	// ReadFormers has what became of calls be looked for in these journals too.
	ReadFormers func([]journal.Store)
	Parts       Parts // which go on with what has moved
	Journal     interface{ Append(journal.Record) error }
	Log         *slog.Logger
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
}

// Adopter goes on with what nodes left. Make one with New.
type Adopter struct {
	opt    Options
	every  time.Duration
	looked map[string]look // by node
}

// look is when a node was looked at last, in which epoch, and after which heartbeat: one that was lost may live again.
type look struct {
	epoch     int64
	heartbeat time.Time
	at        time.Time
}

// again is after how long a node is looked at again of which something could not move: somebody may have mounted its
// folder here meanwhile.
const again = 5 * time.Minute

// pause is between two batches.
const pause = 100 * time.Millisecond

// New makes an adopter, which reads the journals of those from whom its node has adopted before.
func New(ctx context.Context, o Options) (*Adopter, error) {
	a := &Adopter{opt: o, every: o.Node.Timing().Lease / 5, looked: map[string]look{}}
	return a, a.readFormers(ctx)
}

func (a *Adopter) readFormers(ctx context.Context) error {
	formers, err := a.opt.Node.Left().Formers(ctx)
	if err != nil {
		return err
	}
	stores := make([]journal.Store, len(formers))
	for i, id := range formers {
		stores[i] = a.opt.Node.JournalOf(id)
	}
	a.opt.ReadFormers(stores)
	return nil
}

// Run looks for nodes that do not live, until ctx ends.
func (a *Adopter) Run(ctx context.Context) {
	tick := time.NewTicker(a.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if a.opt.Node.Stopped() != nil || a.opt.Node.Draining() != nil {
			continue
		}
		if err := a.Look(ctx); err != nil && ctx.Err() == nil {
			a.opt.Log.Warn("what nodes have left that do not live any more cannot be looked at now", "error", err)
		}
	}
}

// Look goes on with what can be gone on with now.
func (a *Adopter) Look(ctx context.Context) error {
	ended, err := node.Gone(ctx, a.opt.Node)
	if err != nil || len(ended) == 0 {
		return err
	}
	var living []node.Member
	for _, dead := range ended {
		last := a.looked[dead.ID]
		if dead.This || last.epoch == dead.Epoch && last.heartbeat.Equal(dead.Heartbeat) && time.Since(last.at) < again {
			continue
		}
		if living == nil {
			if living, err = a.opt.Node.Living(ctx); err != nil {
				return err
			}
		}
		if -dead.Left < a.turn(dead, living) {
			continue
		}
		if err := a.adopt(ctx, dead); err != nil {
			a.opt.Log.Warn("a node cannot go on now with what another has left", "node", dead.Name, "error", err)
		}
	}
	return nil
}

// turn is how long after the end of a node's lease this one goes on with what it left: each that lives has its own.
func (a *Adopter) turn(dead node.Member, living []node.Member) time.Duration {
	rank := func(id string) []byte {
		sum := sha256.Sum256([]byte(dead.ID + "\x00" + id))
		return sum[:]
	}
	own, before := rank(a.opt.Node.ID), 0
	for _, m := range living {
		if bytes.Compare(rank(m.ID), own) < 0 {
			before++
		}
	}
	wait := time.Duration(min(before, 10)) * a.every
	if dead.State == postgres.Down && !dead.TakenOver {
		wait += a.opt.Node.Timing().Away
	}
	return wait
}

// adopt goes on with what a node has left.
func (a *Adopter) adopt(ctx context.Context, dead node.Member) error {
	found, err := a.find(ctx, dead)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		a.looked[dead.ID] = look{dead.Epoch, dead.Heartbeat, time.Now()}
		return nil
	}
	epoch, err := a.opt.Node.Bury(ctx, dead.ID)
	if tool.KindOf(err) == tool.Conflict {
		return nil // it lives again
	}
	if err != nil {
		return err
	}
	if err := a.opt.Node.Left().Begin(ctx, dead.ID, epoch); err != nil {
		return err
	}
	if err := a.readFormers(ctx); err != nil {
		return err
	}
	// What it wrote between the first look and the end of its last transaction is there now.
	if found, err = a.find(ctx, dead); err != nil {
		return err
	}
	for _, w := range found {
		if err := a.goOnIn(ctx, dead, epoch, w); err != nil {
			return err
		}
	}
	a.looked[dead.ID] = look{epoch, dead.Heartbeat, time.Now()}
	return nil
}

// goOnIn goes on with what is in one workspace, if this node may work there.
func (a *Adopter) goOnIn(ctx context.Context, dead node.Member, epoch int64, w *workspace) error {
	leave, err := a.opt.Shares.Enter(ctx, w.folder)
	if tool.KindOf(err) == tool.Conflict {
		return nil // the node that works there goes on with it
	}
	if err != nil {
		return err
	}
	defer leave()
	for _, batch := range w.batches() {
		if err := a.move(ctx, dead, epoch, w, batch); err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// move moves a batch, and goes on with what has moved.
func (a *Adopter) move(ctx context.Context, dead node.Member, epoch int64, w *workspace, batch Moved) error {
	for _, id := range batch.Approvals {
		if _, err := a.opt.TakeOver(ctx, a.opt.Node.JournalOf(dead.ID), w.calls[id]); err != nil {
			return err
		}
	}
	moved, err := a.opt.Node.Left().Move(ctx, dead.ID, epoch, batch)
	if err != nil || moved.Len() == 0 {
		return err
	}
	text := fmt.Sprintf("goes on with what the node %s (%s) left in %s: %s", dead.Name, dead.ID, w.folder, count(moved))
	a.opt.Log.Info(text)
	if err := a.opt.Journal.Append(journal.Record{Kind: journal.Noted, Note: text}); err != nil {
		a.opt.Log.Error("that is not on record", "error", err)
	}
	a.goOn(ctx, moved)
	return nil
}

// count says how much has moved.
func count(m Moved) string {
	var parts []string
	for _, of := range []struct {
		name string
		n    int
	}{{"conversations", len(m.Conversations)}, {"approvals", len(m.Approvals)}, {"tasks", len(m.Tasks)}} {
		if of.n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", of.name, of.n))
		}
	}
	documents := 0
	for _, keys := range m.Documents {
		documents += len(keys)
	}
	if documents > 0 {
		parts = append(parts, fmt.Sprintf("documents: %d", documents))
	}
	return strings.Join(slices.Clip(parts), ", ")
}

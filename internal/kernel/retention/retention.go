// Package retention removes what the user's own app file says is kept no longer.
//
// # Law
//
//   - Nothing is removed without a rule, of the file or of retain.Default, and nothing by a file with a mistake.
//   - A rule that counts removes nothing of the last day, and what is kept for an undo goes with the records of its
//     call: nobody gets rid of a trace by making many more.
//   - What is in use stays: open conversations and running turns, tasks that have not ended, calls that are open or
//     in doubt, artifacts that the journal names. The journal stays verifiable: whole epochs go, and leave a signed
//     summary.
//   - Each step is whole by itself, so a process that is killed in the middle leaves a state from which the next run
//     goes on. What was removed is on record.
//   - A run is bounded: it removes at most so many conversations, and the rest at the next one.
package retention

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/app/retain"
	"callgate/internal/artifact"
	"callgate/internal/conversation/history"
)

// Options is what a Keeper needs of the kernel. All fields are required.
type Options struct {
	Rules         func() (retain.Rules, error)
	Journal       Journal
	Conversations Conversations
	Tasks         func(ctx context.Context, before time.Time) (int, error)
	Artifacts     func(ctx context.Context, before time.Time) (artifact.Usage, error) // removes those that nothing names
	ArtifactSize  func(context.Context) (int64, error)
	Images        func(ctx context.Context, before time.Time) error // what is kept for an undo, and was learned
	Log           string                                            // the kernel's log; its old files are beside it
	Record        func(note string) error
	Warn          *slog.Logger
}

// Journal is what is kept of the records.
type Journal interface {
	// Drop removes what may go from before a time, and returns how many records went, and when the last of them was
	// written. With dry nothing goes, and the number is that of those that may.
	Drop(ctx context.Context, before time.Time, dry bool) (records uint64, last time.Time, err error)
	// TimeOf returns when the record was written before which all but the newest n are; false if there are not more.
	TimeOf(ctx context.Context, n int64) (time.Time, bool, error)
}

// Conversations are those of the kernel.
type Conversations interface {
	List(ctx context.Context, limit int) ([]history.Info, error)
	Delete(ctx context.Context, id string) error
	Open(id string) bool
}

// Report is what was removed, or would be.
type Report struct {
	Records       uint64
	Conversations []string
	Tasks         int
	Artifacts     artifact.Usage
	Logs          []string
}

// Any reports whether something was removed.
func (r Report) Any() bool {
	return r.Records > 0 || len(r.Conversations) > 0 || r.Tasks > 0 || r.Artifacts.Count > 0 || len(r.Logs) > 0
}

// String says it in words.
func (r Report) String() string {
	return fmt.Sprintf("%s, %s, %s, %s and %s", amount.Of(r.Records, "record"),
		amount.Of(len(r.Conversations), "conversation"), amount.Of(r.Tasks, "task"),
		amount.Of(r.Artifacts.Count, "artifact"), amount.Of(len(r.Logs), "old log"))
}

// The bounds of the work.
const (
	Every            = time.Hour
	first            = time.Minute // after the start, when there is more to do
	maxConversations = 200         // that one run removes
	young            = time.Hour   // an artifact may be about to be named
	// counted is the age from which on what is too many goes: otherwise an agent that makes many calls could push out
	// the records of what it did before, and with them its undo, before anybody has looked.
	counted = 24 * time.Hour
)

// Keeper removes by rule. It is safe for concurrent use, as its parts are.
type Keeper struct{ opt Options }

// New makes a keeper.
func New(o Options) *Keeper { return &Keeper{o} }

// Run removes by rule again and again, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if _, err := k.Once(ctx, false); err != nil && ctx.Err() == nil {
			k.opt.Warn.Warn("what the rules of retain no longer keep could not all be removed", "error", err)
		}
		timer.Reset(Every)
	}
}

// Once removes by rule, and says what went; with dry, what would go.
func (k *Keeper) Once(ctx context.Context, dry bool) (r Report, err error) {
	rules, err := k.opt.Rules()
	if err != nil || !rules.Any() {
		return r, err
	}
	now := time.Now()
	steps := []func(context.Context, retain.Rules, time.Time, bool, *Report) error{
		k.conversations, k.journal, k.tasks, k.artifacts, k.logs,
	}
	for _, step := range steps {
		if err = step(ctx, rules, now, dry, &r); err != nil {
			break
		}
	}
	if dry || !r.Any() {
		return r, err
	}
	if noted := k.opt.Record("removed by the rules of retain: " + r.String()); err == nil {
		err = noted
	}
	return r, err
}

func (k *Keeper) journal(ctx context.Context, rules retain.Rules, now time.Time, dry bool, r *Report) error {
	limit := rules.Journal
	var before time.Time
	if limit.Age > 0 {
		before = now.Add(-limit.Age)
	}
	if limit.Most > 0 {
		at, more, err := k.opt.Journal.TimeOf(ctx, limit.Most)
		if err != nil {
			return err
		}
		if grown := now.Add(-counted); at.After(grown) {
			at = grown
		}
		if more && at.After(before) {
			before = at
		}
	}
	if before.IsZero() {
		return nil
	}
	records, last, err := k.opt.Journal.Drop(ctx, before, dry)
	if r.Records = records; err != nil || last.IsZero() {
		return err
	}
	return k.opt.Images(ctx, last) // a call whose records stay can be undone
}

func (k *Keeper) conversations(ctx context.Context, rules retain.Rules, now time.Time, dry bool, r *Report) error {
	limit := rules.Conversations
	if limit == (retain.Limit{}) {
		return nil
	}
	list, err := k.opt.Conversations.List(ctx, 0)
	if err != nil {
		return err
	}
	kept := int64(0) // the newest come first
	for _, info := range list {
		if info.Parent != "" || info.Last == "" || k.opt.Conversations.Open(info.ID) {
			continue // it goes with whom it works for; or somebody has it
		}
		old := limit.Age > 0 && info.Updated.Before(now.Add(-limit.Age))
		many := limit.Most > 0 && kept >= limit.Most && info.Updated.Before(now.Add(-counted))
		if !old && !many {
			kept++
			continue
		}
		if len(r.Conversations) == maxConversations {
			return nil
		}
		if !dry {
			if err := k.opt.Conversations.Delete(ctx, info.ID); err != nil {
				return err
			}
		}
		r.Conversations = append(r.Conversations, info.ID)
	}
	return nil
}

func (k *Keeper) tasks(ctx context.Context, rules retain.Rules, now time.Time, dry bool, r *Report) (err error) {
	if rules.Tasks.Age > 0 && !dry {
		r.Tasks, err = k.opt.Tasks(ctx, now.Add(-rules.Tasks.Age))
	}
	return err
}

func (k *Keeper) artifacts(ctx context.Context, rules retain.Rules, now time.Time, dry bool, r *Report) error {
	limit := rules.Artifacts
	var before time.Time
	if limit.Age > 0 {
		before = now.Add(-limit.Age)
	}
	if limit.Most > 0 {
		size, err := k.opt.ArtifactSize(ctx)
		if err != nil {
			return err
		}
		if size > limit.Most {
			before = now.Add(-young)
		}
	}
	if before.IsZero() || dry {
		return nil
	}
	var err error
	r.Artifacts, err = k.opt.Artifacts(ctx, before)
	return err
}

// logs removes old files of the log, which has a bound of its own; the one that is written stays.
func (k *Keeper) logs(_ context.Context, rules retain.Rules, now time.Time, dry bool, r *Report) error {
	if rules.Logs.Age == 0 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Dir(k.opt.Log))
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		name := e.Name()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(name, filepath.Base(k.opt.Log)+".") ||
			info.ModTime().After(now.Add(-rules.Logs.Age)) {
			continue
		}
		if !dry {
			if err := os.Remove(filepath.Join(filepath.Dir(k.opt.Log), name)); err != nil {
				return err
			}
		}
		r.Logs = append(r.Logs, name)
	}
	return nil
}

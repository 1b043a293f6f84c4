package retention_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/app/retain"
	"callgate/internal/artifact"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel/retention"
)

// parts are those of a kernel that notes what it is asked.
type parts struct {
	mu        sync.Mutex // of dropped and notes
	rules     retain.Rules
	broken    atomic.Bool // the rules cannot be read
	list      []history.Info
	open      map[string]bool
	deleted   []string
	dropped   []time.Time
	dry       bool
	overMany  time.Time // of the record before which there are too many
	tasks     int
	artifacts []time.Time
	size      int64
	notes     []string
	images    []time.Time
	live      bool // all records are of the epoch that goes on
}

func (p *parts) Drop(_ context.Context, before time.Time, dry bool) (uint64, time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropped, p.dry = append(p.dropped, before), dry
	if dry || p.live {
		return 7, time.Time{}, nil
	}
	return 7, before.Add(-time.Minute), nil
}

// runs are the times from before which records were dropped, and how many notes there are.
func (p *parts) runs() ([]time.Time, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.dropped), len(p.notes)
}

func (p *parts) TimeOf(context.Context, int64) (time.Time, bool, error) {
	return p.overMany, !p.overMany.IsZero(), nil
}

func (p *parts) List(context.Context, int) ([]history.Info, error) { return p.list, nil }

func (p *parts) Delete(_ context.Context, id string) error {
	p.deleted = append(p.deleted, id)
	return nil
}

func (p *parts) Open(id string) bool { return p.open[id] }

func (p *parts) keeper(log string) *retention.Keeper {
	return retention.New(retention.Options{
		Rules: func() (retain.Rules, error) {
			if p.broken.Load() {
				return p.rules, errors.New("a mistake")
			}
			return p.rules, nil
		},
		Journal: p, Conversations: p,
		Tasks: func(context.Context, time.Time) (int, error) { p.tasks++; return 0, nil },
		Artifacts: func(_ context.Context, before time.Time) (artifact.Usage, error) {
			p.artifacts = append(p.artifacts, before)
			return artifact.Usage{Count: 2}, nil
		},
		ArtifactSize: func(context.Context) (int64, error) { return p.size, nil },
		Images:       func(_ context.Context, before time.Time) error { p.images = append(p.images, before); return nil },
		Log:          log, Warn: slog.New(slog.DiscardHandler),
		Record: func(note string) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.notes = append(p.notes, note)
			return nil
		},
	})
}

const day = 24 * time.Hour

// The work is done a minute after the start and then every hour, and ends with its context.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &parts{rules: retain.Rules{Journal: retain.Limit{Age: 30 * day}}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); p.keeper(filepath.Join(t.TempDir(), "kernel.log")).Run(ctx) }()
		start := time.Now()
		<-time.After(59 * time.Second)
		synctest.Wait()
		if dropped, _ := p.runs(); len(dropped) != 0 {
			t.Fatal("it began at once")
		}
		<-time.After(3*retention.Every + time.Minute)
		synctest.Wait()
		dropped, notes := p.runs()
		if len(dropped) != 4 || !dropped[0].Equal(start.Add(time.Minute-30*day)) || notes != 4 {
			t.Errorf("dropped %v, %d notes", dropped, notes)
		}
		p.broken.Store(true) // removes nothing, and ends nothing
		<-time.After(2 * retention.Every)
		synctest.Wait()
		if dropped, _ := p.runs(); len(dropped) != 4 {
			t.Error("something was removed by a file with a mistake")
		}
		p.broken.Store(false)
		<-time.After(retention.Every)
		synctest.Wait()
		if dropped, _ := p.runs(); len(dropped) != 5 {
			t.Error("it did not go on")
		}
		cancel()
		<-done
	})
}

func TestOnce(t *testing.T) {
	t.Parallel()
	now := time.Now()
	info := func(id string, age time.Duration, change func(*history.Info)) history.Info {
		i := history.Info{ID: id, Updated: now.Add(-age), Last: "done"}
		if change != nil {
			change(&i)
		}
		return i
	}
	list := []history.Info{
		info("new", day, nil), info("second", 2*day, nil), info("old", 40*day, nil), info("open", 50*day, nil),
		info("child", 50*day, func(i *history.Info) { i.Parent = "x" }),
		info("running", 50*day, func(i *history.Info) { i.Last = "" }),
	}
	tests := map[string]struct {
		rules   retain.Rules
		deleted []string
	}{
		"none":  {retain.Rules{}, nil},
		"age":   {retain.Rules{Conversations: retain.Limit{Age: 30 * day}}, []string{"old"}},
		"count": {retain.Rules{Conversations: retain.Limit{Most: 1}}, []string{"second", "old"}},
	}
	for name, tt := range tests {
		for _, dry := range []bool{false, true} {
			p := &parts{rules: tt.rules, list: list, open: map[string]bool{"open": true}}
			r, err := p.keeper(filepath.Join(t.TempDir(), "kernel.log")).Once(t.Context(), dry)
			if err != nil || !slices.Equal(r.Conversations, tt.deleted) {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			if want := tt.deleted; !dry && !slices.Equal(p.deleted, want) || dry && (p.deleted != nil || p.notes != nil) {
				t.Errorf("%s, dry %v: deleted %v, notes %v", name, dry, p.deleted, p.notes)
			}
		}
	}
}

// Artifacts go by age, or, when there is too much of them, all that nothing names and nothing is about to name.
func TestLimits(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	log := filepath.Join(folder, "kernel.log")
	for name, age := range map[string]time.Duration{"kernel.log": 90 * day, "kernel.log.1": 90 * day, "kernel.log.2": day, "x.log.1": 90 * day} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	p := &parts{size: 500, overMany: time.Now().Add(-day), rules: retain.Rules{
		Journal: retain.Limit{Age: 30 * day, Most: 10}, Artifacts: retain.Limit{Age: 30 * day, Most: 400},
		Logs: retain.Limit{Age: 30 * day}, Tasks: retain.Limit{Age: day},
	}}
	r, err := p.keeper(log).Once(t.Context(), true)
	if err != nil || !slices.Equal(r.Logs, []string{"kernel.log.1"}) || !p.dry || p.tasks != 0 || p.artifacts != nil {
		t.Errorf("dry: %+v, %v", r, err)
	}
	if _, err := os.Stat(log + ".1"); err != nil {
		t.Error("a dry run removed a log")
	}
	r, err = p.keeper(log).Once(t.Context(), false)
	if err != nil || !slices.Equal(r.Logs, []string{"kernel.log.1"}) || r.Records != 7 || p.tasks != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if len(p.artifacts) != 1 || time.Since(p.artifacts[0]) > 2*time.Hour {
		t.Errorf("artifacts from before %v", p.artifacts)
	}
	if last := p.dropped[len(p.dropped)-1]; !last.Equal(p.overMany) {
		t.Errorf("records from before %v", last)
	}
	if _, err := os.Stat(log + ".1"); err == nil {
		t.Error("an old log is still there")
	}
}

// A rule that counts touches nothing of the last day, however much was written since, and what is kept for an undo goes
// no further than the records that went.
func TestManyRecordsPushOutNothingNew(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "kernel.log")
	now := time.Now()
	p := &parts{overMany: now.Add(-time.Minute), rules: retain.Rules{
		Journal: retain.Limit{Most: 10}, Conversations: retain.Limit{Most: 1},
	}, list: []history.Info{{ID: "a", Updated: now, Last: "done"}, {ID: "b", Updated: now.Add(-time.Hour), Last: "done"}}}
	r, err := p.keeper(log).Once(t.Context(), false)
	if err != nil || len(r.Conversations) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if age := time.Since(p.dropped[0]); age < day || len(p.images) != 1 || !p.images[0].Equal(p.dropped[0].Add(-time.Minute)) {
		t.Errorf("records from before %v, images from before %v", p.dropped, p.images)
	}
	p.live, p.images = true, nil
	if _, err := p.keeper(log).Once(t.Context(), false); err != nil || p.images != nil {
		t.Errorf("no epoch went, and images from before %v did: %v", p.images, err)
	}
}

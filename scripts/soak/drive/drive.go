//go:build linux

// Package drive runs the built program the way a hostile day does: kernels, bridges,
// commands, conversations, MCP servers and models as real processes, several groups of
// them side by side, each with a state directory of its own; and kills, stops, breaks
// and fills what they need, by a plan that follows from a seed. What clients were told,
// what the servers really did and what the journal says is judged by package history.
//
// The seed fixes the plan: which faults come, when, and which calls are made. How the
// processes interleave is the machine's, so a run repeats closely, not exactly.
package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/scripts/soak/history"
)

// Config says what a run does.
type Config struct {
	Binary string // the program
	Person string // the program that plays a person at a terminal
	Self   string // this program, which is also the server and the model
	Folder string // of everything that the run leaves
	NPM    string // a folder with the file server of npm; "": it is left out
	Seed   uint64
	Groups int
	Kills  int           // the run ends after so many
	Limit  time.Duration // or after this time
	Show   int           // of each kind of violation, how many are shown
	Out    io.Writer
}

// Report is what a run brought.
type Report struct {
	Kills      map[string]int // by what was killed
	Ops        map[history.Told]int
	Violations []Found
	Starts     []Start
	Took       time.Duration
	Skipped    []string // faults that this machine does not allow
}

// Found is a violation, and where.
type Found struct {
	Group string // its folder
	history.Violation
	Around []string // the history near it
}

// Start is one start of a kernel.
type Start struct {
	Took   time.Duration
	CPU    time.Duration // what it cost, whatever else the machine did
	Doubts int           // open ones, found by it
	Quiet  bool
}

// run is a run under way.
type run struct {
	Config
	kills atomic.Int64
	ops   atomic.Int64
	ended atomic.Int64 // groups
}

// Run runs all groups until there were enough kills, or the time is over.
func Run(ctx context.Context, c Config) (Report, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	r := &run{Config: c}
	groups := make([]*group, c.Groups)
	problems := make([]error, c.Groups)
	var all sync.WaitGroup
	for i := range groups {
		g, err := r.newGroup(i)
		if err != nil {
			return Report{}, err
		}
		groups[i] = g
	}
	stop := r.progress()
	for i, g := range groups {
		all.Go(func() {
			problems[i] = g.runLives(ctx)
			r.ended.Add(1)
		})
	}
	all.Wait()
	stop()
	report := collect(groups, problems)
	report.Took = time.Since(began)
	return report, errors.Join(problems...)
}

// enough reports whether there were enough kills.
func (r *run) enough() bool { return int(r.kills.Load()) >= r.Kills }

// progress prints a line every few seconds, until it is stopped.
func (r *run) progress() (stop func()) {
	done := make(chan struct{})
	began := time.Now()
	go func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintf(r.Out, "soak: %s  kills %d/%d  calls %d  groups ended %d/%d\n",
					time.Since(began).Round(time.Second), r.kills.Load(), r.Kills, r.ops.Load(), r.ended.Load(), r.Groups)
			}
		}
	}()
	return func() { close(done) }
}

// collect judges the groups that came to their end: of another not all is known.
func collect(groups []*group, problems []error) Report {
	r := Report{Kills: map[string]int{}, Ops: map[history.Told]int{}}
	for i, g := range groups {
		h := g.history()
		if problems[i] != nil {
			h = history.History{}
		}
		for _, v := range append(history.Check(h), g.log.problems...) {
			r.Violations = append(r.Violations, Found{g.dir, v, around(h, v)})
		}
		for _, op := range h.Ops {
			r.Ops[op.Told]++
		}
		for what, n := range g.log.kills {
			r.Kills[what] += n
		}
		r.Starts = append(r.Starts, g.log.starts...)
		for _, s := range g.skipped {
			if !slices.Contains(r.Skipped, s) {
				r.Skipped = append(r.Skipped, s)
			}
		}
	}
	return r
}

// around is what happened near a violation, to the same call or file.
func around(h history.History, v history.Violation) []string {
	file := ""
	for _, op := range h.Ops {
		if op.ID == v.Op || op.File == v.Op {
			file = op.File
		}
	}
	type event struct {
		at   time.Time
		text string
	}
	var events []event
	add := func(at time.Time, format string, args ...any) {
		events = append(events, event{at, fmt.Sprintf(format, args...)})
	}
	for _, op := range h.Ops {
		if op.ID == v.Op || file != "" && op.File == file {
			add(op.Sent, "%s %s %s over %s sent", op.Verb, op.ID, op.Tool, op.Via)
			add(op.Done, "%s %s told %s, saw %q: %s", op.Verb, op.ID, op.Told, op.Saw, firstLine(op.Text))
		}
	}
	for _, e := range h.Effects {
		if e.ID == v.Op || file != "" && e.File == file {
			add(e.At, "the server did %s", e.ID)
		}
	}
	for _, d := range h.Deaths {
		add(d, "a kernel was killed")
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	var lines []string
	for _, e := range events {
		gap := e.at.Sub(v.At)
		if strings.Contains(e.text, v.Op) || gap > -700*time.Millisecond && gap < 200*time.Millisecond {
			lines = append(lines, e.at.Format("15:04:05.000 ")+e.text)
		}
	}
	return lines[max(0, len(lines)-25):]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line[:min(len(line), 160)]
}

// Print writes a report for a person.
func (r Report) Print(w io.Writer, show int) {
	total := 0
	for _, what := range slices.Sorted(keys(r.Kills)) {
		total += r.Kills[what]
		fmt.Fprintf(w, "soak: killed %-10s %d\n", what, r.Kills[what])
	}
	for _, told := range slices.Sorted(keys(r.Ops)) {
		fmt.Fprintf(w, "soak: told %-12s %d\n", told, r.Ops[told])
	}
	for _, s := range r.Skipped {
		fmt.Fprintln(w, "soak: left out:", s)
	}
	shown := map[history.Kind]int{}
	for _, v := range r.Violations {
		if shown[v.Kind]++; shown[v.Kind] > show {
			continue
		}
		fmt.Fprintf(w, "\nVIOLATION in %s\n  %s\n", filepath.Base(v.Group), v.Violation)
		for _, line := range v.Around {
			fmt.Fprintln(w, "    "+line)
		}
	}
	fmt.Fprintf(w, "\nsoak: %d kills in %s\n", total, r.Took.Round(time.Second))
	for _, k := range Kinds {
		fmt.Fprintf(w, "soak: %-26s %d\n", k, shown[k])
	}
	r.printStarts(w)
}

// Kinds are all kinds of violation, in the order of a report.
var Kinds = []history.Kind{history.Lost, history.Doubled, history.Stale, history.ToldWrong, history.Untold,
	history.Unaccounted, history.Repeated, history.Order, history.Torn, history.Unheard, history.HeardTwice,
	history.Misdirected, Damaged, Orphan, Leftover, Unstartable}

func (r Report) printStarts(w io.Writer) {
	for _, quiet := range []bool{false, true} {
		var took, cpu []time.Duration
		doubts := 0
		for _, s := range r.Starts {
			if s.Quiet == quiet {
				took, cpu, doubts = append(took, s.Took), append(cpu, s.CPU), max(doubts, s.Doubts)
			}
		}
		if len(took) == 0 {
			continue
		}
		slices.Sort(took)
		slices.Sort(cpu)
		at := func(list []time.Duration, p float64) time.Duration {
			return list[int(p*float64(len(list)-1))].Round(time.Millisecond)
		}
		when := map[bool]string{false: "in the storm", true: "in quiet"}[quiet]
		fmt.Fprintf(w, "soak: %d starts %s: p50 %s, p99 %s, max %s (of processor time %s, %s, %s); up to %d open doubts\n",
			len(took), when, at(took, .5), at(took, .99), at(took, 1), at(cpu, .5), at(cpu, .99), at(cpu, 1), doubts)
	}
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

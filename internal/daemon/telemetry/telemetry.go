// Package telemetry tells how a kernel stands in numbers: as metrics, and as the picture that callgate top shows.
//
// # Law
//
// Numbers are gathered when somebody asks for them, from what the kernel holds anyway: its journal, its queues and
// its tables. Nothing is counted in the path of a call but how long a database or another node took to answer, where
// that is waited for anyway. What is told are names of tools, models and servers, counts, sizes and times; never an
// argument, a result or a secret.
package telemetry

import (
	"cmp"
	"context"
	"maps"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/questions"
	"callgate/internal/observe"
	"callgate/internal/observe/callcount"
	"callgate/internal/protocol/activity"
	"callgate/internal/task"
	"callgate/internal/version"
)

// Source gathers the numbers of one kernel. Make it with New when the kernel starts.
type Source struct {
	Followers atomic.Int64 // clients that follow the journal
	kernel    *kernel.Kernel
	calls     *callcount.Counter
	started   time.Time
	spans     spanCounter // nil: no spans are recorded
}

// spanCounter knows what became of spans.
type spanCounter interface{ Counts() map[string]uint64 }

// New makes the source of a kernel's numbers; counts begin now. The recorder of spans may be nil.
func New(k *kernel.Kernel, spans observe.Recorder) *Source {
	s := &Source{kernel: k, calls: callcount.New(k.Journal, time.Now), started: time.Now()}
	s.spans, _ = spans.(spanCounter)
	return s
}

// numbers is everything, as it is at one moment.
type numbers struct {
	kernel.Numbers
	calls     callcount.Counts
	approvals []approval.Request
	questions []questions.Request
	tasks     map[[2]string]int // by kind and state
	active    []task.Task
	doubts    int
	problems  []string // what could not be read
}

// gather reads what there is. What cannot be read is a problem, and the rest is told.
func (s *Source) gather(ctx context.Context) numbers {
	n := numbers{Numbers: kernel.NumbersOf(s.kernel), tasks: map[[2]string]int{}}
	note := func(err error) {
		if err != nil {
			n.problems = append(n.problems, err.Error())
		}
	}
	var err error
	n.calls, err = s.calls.Counts(ctx)
	note(err)
	n.approvals, err = s.kernel.Approvals.List(ctx, approval.Pending, 0)
	note(err)
	n.questions, err = s.kernel.Questions.List(ctx, questions.Pending)
	note(err)
	tasks, err := s.kernel.Tasks.Store().List(ctx, task.Query{Active: true, Limit: task.MaxList})
	note(err)
	n.active = tasks
	for _, t := range tasks {
		n.tasks[[2]string{t.Kind, string(t.State)}]++
	}
	doubts, err := s.kernel.Journal.CountDoubts(ctx)
	note(err)
	for _, count := range doubts {
		n.doubts += count
	}
	return n
}

// Activity is the picture of now.
func (s *Source) Activity(ctx context.Context) activity.Activity {
	n := s.gather(ctx)
	a := activity.Activity{
		Time: time.Now(), Started: s.started, Version: version.Version, PID: os.Getpid(),
		Calls:   activity.CallCounts{Running: s.kernel.Sessions.Calls(), LastMinute: n.calls.Minute},
		Running: s.running(n.calls.Running), Waiting: waiting(n), Tools: tools(n.calls.Tools), Models: []activity.ModelCounts{},
		Servers: []activity.ServerHealth{}, Tasks: []activity.TaskCount{},
		Sessions: s.kernel.Sessions.Len(), Follow: int(s.Followers.Load()), Problems: n.problems, Process: process(),
	}
	for _, t := range a.Tools {
		a.Calls.Total += t.Calls
		a.Calls.Failed += t.Failed
		a.Calls.Refused += t.Refused
	}
	for _, m := range n.Models {
		one := activity.ModelCounts{
			Provider: m.Provider, Model: m.Model, Requests: m.Took.Count, Failed: m.Took.Count - m.Outcomes["ok"],
			Input: m.Usage.Input, Cached: m.Usage.CachedInput, Output: m.Usage.Output, Cost: m.Usage.Cost,
			Unpriced: m.Unpriced, P50: m.Took.Quantile(0.5), P99: m.Took.Quantile(0.99),
		}
		a.Models = append(a.Models, one)
	}
	for _, st := range s.kernel.Servers.Status() {
		a.Servers = append(a.Servers, activity.ServerHealth{
			Name: st.Name, State: string(st.State), Tools: st.Tools, Calls: st.Calls, Failures: st.Failures,
			InFlight: st.InFlight, Waiting: st.Waiting,
		})
	}
	for _, key := range sortedKeys(n.tasks) {
		a.Tasks = append(a.Tasks, activity.TaskCount{Kind: key[0], State: key[1], Count: n.tasks[key]})
	}
	a.Journal = s.journal(n)
	return a
}

// Today is what models took since midnight, or since the kernel started.
func (s *Source) Today() activity.Spend {
	now := time.Now()
	today := activity.Spend{Since: time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())}
	if today.Since.Before(s.started) {
		today.Since = s.started
	}
	for _, m := range kernel.NumbersOf(s.kernel).Models {
		today.Requests += int(m.Today.Requests)
		today.Unpriced += int(m.Today.Unpriced)
		today.Input += m.Today.Usage.Input
		today.Output += m.Today.Usage.Output
		today.Cost += m.Today.Usage.Cost
	}
	return today
}

func (s *Source) journal(n numbers) (j activity.JournalState) {
	j.Last, j.Queued = s.kernel.Journal.Progress()
	j.Doubts = n.doubts
	if err := s.kernel.Journal.Err(); err != nil {
		j.Failing = err.Error()
	}
	return j
}

// running puts the calls that are on record as begun together with those that hold or wait for locks.
func (s *Source) running(begun []callcount.Running) []activity.RunningCall {
	byID := map[string]*activity.RunningCall{}
	for _, r := range begun {
		byID[r.Call] = &activity.RunningCall{Call: r.Call, Tool: r.Tool, Principal: r.Principal, Since: r.Since}
	}
	locks := s.kernel.Locks.Snapshot()
	for _, held := range locks.Held {
		if h := held.Holder; byID[h.Call] == nil {
			byID[h.Call] = &activity.RunningCall{Call: h.Call, Tool: h.Tool, Principal: h.Principal, Since: held.Since}
		}
	}
	for _, w := range locks.Waiting {
		if h := w.Holder; byID[h.Call] == nil {
			byID[h.Call] = &activity.RunningCall{Call: h.Call, Tool: h.Tool, Principal: h.Principal, Since: w.Since}
		}
		byID[w.Holder.Call].WaitsFor = w.Resource
	}
	list := make([]activity.RunningCall, 0, len(byID))
	for _, c := range byID {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b activity.RunningCall) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Call, b.Call))
	})
	return list
}

// waiting is what a human must answer, the oldest first.
func waiting(n numbers) []activity.WaitingForHuman {
	list := []activity.WaitingForHuman{}
	for _, r := range n.approvals {
		list = append(list, activity.WaitingForHuman{
			Kind: "approval", ID: r.ID, Tool: r.Call.Tool.Dotted(), Who: r.Call.Principal.String(), Since: r.AskedAt,
		})
	}
	for _, q := range n.questions {
		list = append(list, activity.WaitingForHuman{Kind: "question", ID: q.ID, Who: q.Principal.String(), Since: q.AskedAt})
	}
	slices.SortStableFunc(list, func(a, b activity.WaitingForHuman) int { return a.Since.Compare(b.Since) })
	return list
}

// tools lists the tools, the most called first.
func tools(by map[string]*callcount.Tally) []activity.ToolCounts {
	list := make([]activity.ToolCounts, 0, len(by))
	for name, t := range by {
		list = append(list, activity.ToolCounts{
			Tool: name, Calls: t.Calls(), Failed: t.Failed(), Refused: t.Refused(),
			P50: t.Took.Quantile(0.5), P99: t.Took.Quantile(0.99),
		})
	}
	slices.SortFunc(list, func(a, b activity.ToolCounts) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	return list
}

func process() activity.ProcessState {
	const total, released, objects = "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
		"/memory/classes/heap/objects:bytes"
	read := []metrics.Sample{{Name: total}, {Name: released}, {Name: objects}}
	metrics.Read(read) // the world goes on, unlike with runtime.ReadMemStats
	return activity.ProcessState{
		Memory: read[0].Value.Uint64() - read[1].Value.Uint64(), Heap: read[2].Value.Uint64(),
		Goroutines: runtime.NumGoroutine(),
	}
}

func sortedKeys[V any](m map[[2]string]V) [][2]string {
	return slices.SortedFunc(maps.Keys(m), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
}

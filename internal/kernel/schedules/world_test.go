package schedules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/control"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

var ok = kerneltest.OK

// world is a kernel in a bubble, whose clock begins with the year 2000.
type world struct {
	t      *testing.T
	state  string
	folder string
	demo   demo
	k      *kernel.Kernel
}

// demo is the tool demo.run, which changes something and notes when it ran.
type demo struct {
	mu   sync.Mutex
	ran  []time.Time
	does func(ctx context.Context) (any, error) // nil: it succeeds
}

func (d *demo) tool(t testing.TB) *tool.Tool {
	return kerneltest.NewTool(t, "demo.run", tool.Runtime{Risk: tool.Medium, SideEffect: tool.Write, Timeout: 24 * time.Hour},
		func(ctx context.Context) (any, error) {
			d.mu.Lock()
			d.ran = append(d.ran, time.Now())
			n, does := len(d.ran), d.does
			d.mu.Unlock()
			if does != nil {
				return does(ctx)
			}
			return map[string]any{"run": n}, nil
		})
}

// times are when it ran, since a time.
func (d *demo) times(since time.Time) (all []time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.ran {
		all = append(all, at.Sub(since))
	}
	return all
}

const free = "runtime: {scheduler: true}\ntools:\n  capabilities: {default_policy: auto}\n"

// inBubble runs a test in a world of its own.
func inBubble(t *testing.T, app string, test func(t *testing.T, w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, state: kerneltest.StateDir(t), folder: t.TempDir()}
		w.rules(app)
		w.open()
		test(t, w)
	})
}

// rules writes the app file.
func (w *world) rules(app string) {
	kerneltest.Write(w.t, filepath.Join(w.folder, "callgate.yaml"), app)
}

func (w *world) open() { w.k = kerneltest.Open(w.t, w.state, w.demo.tool(w.t)) }

// restart closes the kernel, lets time pass, and opens the next.
func (w *world) restart(after time.Duration) {
	w.t.Helper()
	ok(w.t, w.k.Close())
	pass(after)
	w.open()
}

// session is one of a client, whose app a human accepted.
func (w *world) session() *session.Session { return kerneltest.OpenAccepted(w.t, w.k, w.folder) }

// conversation is the session of a conversation.
func (w *world) conversation() *session.Session {
	w.t.Helper()
	s, err := w.k.Sessions.Get(kerneltest.OpenConversation(w.t, w.k, w.folder).ID())
	ok(w.t, err)
	return s
}

// add schedules something, and returns the job.
func (w *world) add(s *session.Session, name, args string) control.Job {
	w.t.Helper()
	r := kerneltest.Call(w.t, s, name, args)
	if r.Status != tool.Success {
		w.t.Fatalf("%s %s: %s", name, args, r.Summary)
	}
	var j control.Job
	ok(w.t, json.Unmarshal(r.Data, &j))
	return j
}

// list lists the jobs of a session's owner.
func (w *world) list(s *session.Session) []control.Job {
	w.t.Helper()
	r := kerneltest.Call(w.t, s, "schedule_list", `{}`)
	if r.Status != tool.Success {
		w.t.Fatal(r.Summary)
	}
	var list struct {
		Jobs  []control.Job
		Total int
	}
	ok(w.t, json.Unmarshal(r.Data, &list))
	if list.Total != len(list.Jobs) {
		w.t.Errorf("%d of %d jobs are listed", len(list.Jobs), list.Total)
	}
	return list.Jobs
}

// refuses calls something that fails, and returns its error.
func (w *world) refuses(s *session.Session, name, args string) *tool.Error {
	w.t.Helper()
	r := kerneltest.Call(w.t, s, name, args)
	if r.Error == nil {
		w.t.Fatalf("%s %s: %s", name, args, r.Summary)
	}
	return r.Error
}

func (w *world) job(id string) task.Task {
	w.t.Helper()
	t, err := w.k.Tasks.Store().Get(w.t.Context(), id)
	ok(w.t, err)
	return t
}

// owed is what a conversation is owed, in the order in which it came.
func (w *world) owed(conversation string) (texts []string) {
	w.t.Helper()
	list, err := w.k.Tasks.Store().List(w.t.Context(), task.Query{Parent: conversation, Owed: true})
	ok(w.t, err)
	for _, t := range list {
		texts = append(texts, told(t))
	}
	return texts
}

// told is what is told of a task.
func told(t task.Task) string { return t.Outcome.Head + "\n" + t.Outcome.Summary }

// log is the log of a job.
func (w *world) log(id string) string {
	w.t.Helper()
	entries, err := w.k.Tasks.Logs().Entries(w.t.Context(), id, 0)
	ok(w.t, err)
	var lines []string
	for _, e := range entries {
		lines = append(lines, e.Text)
	}
	return strings.Join(lines, "\n")
}

// pass lets time pass, and all that happens in it.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func hours(list ...float64) (all []time.Duration) {
	for _, h := range list {
		all = append(all, time.Duration(h*float64(time.Hour)))
	}
	return all
}

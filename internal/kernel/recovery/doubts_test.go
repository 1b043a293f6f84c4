package recovery_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// putter makes the tool team.put: it writes a file, and says that twice is once. It
// counts its runs. While held, it waits before it writes, as one that a crash cuts
// off, and with torn it has written something else before that.
type putter struct {
	mu         sync.Mutex
	runs       int
	held, torn bool
	effects    []tool.Effect
	once       bool // it does not say that twice is once
	name       string
}

func (p *putter) tool(t testing.TB, workspace string) *tool.Tool {
	t.Helper()
	effects, name := p.effects, "team.put"
	if effects == nil {
		effects = []tool.Effect{{Resource: "file:{path}", Mode: tool.X}}
	}
	if p.name != "" {
		name = p.name
	}
	made, err := tool.Func(name, "Writes a file.",
		tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, Idempotent: !p.once, Effects: effects},
		func(ctx context.Context, in struct {
			Path string `json:"path"`
			Text string `json:"text"`
		}) (string, error) {
			p.mu.Lock()
			p.runs++
			held, torn := p.held, p.torn
			p.mu.Unlock()
			path := filepath.Join(workspace, in.Path)
			if torn {
				if err := os.WriteFile(path, []byte("to"), 0o600); err != nil {
					return "", err
				}
			}
			if held {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "written", os.WriteFile(path, []byte(in.Text), 0o600)
		})
	ok(t, err)
	return made
}

func (p *putter) set(f func(*putter)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

func (p *putter) ran() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

// crash copies a state directory as a killed kernel would leave it.
func crash(t testing.TB, state string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "state")
	ok(t, os.CopyFS(left, os.DirFS(state)))
	for _, name := range []string{"human.key", "journal.key"} {
		if _, err := os.Stat(filepath.Join(left, name)); err == nil {
			ok(t, os.Chmod(filepath.Join(left, name), 0o600))
		}
	}
	return left
}

// await returns when n records of a kind are on record, and ends the test when they do
// not come.
func await(t testing.TB, k *kernel.Kernel, kind journal.Kind, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for r, err := range k.Journal.Follow(ctx, 0) {
		if err != nil {
			t.Fatalf("%d more records of the kind %s do not come: %v", n, kind, err)
		}
		if r.Kind == kind {
			n--
		}
		if n == 0 {
			return
		}
	}
	t.Fatalf("%d more records of the kind %s do not come", n, kind)
}

// cutOff makes a call that a crash cuts off, and returns the state that it leaves.
func cutOff(t testing.TB, state, workspace string, p *putter, args string) (left string) {
	t.Helper()
	p.set(func(p *putter) { p.held = true })
	k := kerneltest.Open(t, state, p.tool(t, workspace))
	s := kerneltest.OpenSession(t, k, workspace)
	ctx, cancel := context.WithCancel(t.Context())
	before := p.ran()
	var wg sync.WaitGroup
	name := "team.put"
	if p.name != "" {
		name = p.name
	}
	wg.Go(func() { s.Call(ctx, session.CallRequest{Name: name, Args: json.RawMessage(args)}) })
	kerneltest.Eventually(t, func() bool { return p.ran() > before })
	left = crash(t, state)
	cancel()
	wg.Wait()
	ok(t, k.Close())
	p.set(func(p *putter) { p.held, p.runs = false, 0 })
	return left
}

const putOld = `{"path":"x","text":"OLD"}`

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	ok(t, err)
	return string(data)
}

func records(t testing.TB, k *kernel.Kernel, kind journal.Kind) []journal.Record {
	t.Helper()
	list, err := k.Journal.Read(t.Context(), journal.Query{Kind: kind})
	ok(t, err)
	return list
}

// told are the warnings of the next result.
func told(t testing.TB, k *kernel.Kernel, workspace string) []string {
	t.Helper()
	s := kerneltest.OpenSession(t, k, workspace)
	defer s.Close()
	r := kerneltest.Call(t, s, "filesystem.list", `{}`)
	if r.Status != tool.Success {
		t.Fatalf("%+v", r)
	}
	return r.Warnings
}

// A call in doubt to whose files nothing happened is made again, once, and its asker
// is told.
func TestCallInDoubtIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"a file that was there": "BEFORE", "one that was not": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workspace, p := t.TempDir(), &putter{}
			if content != "" {
				write(t, filepath.Join(workspace, "x"), content)
			}
			left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
			k := kerneltest.Open(t, left, p.tool(t, workspace))
			await(t, k, journal.Resolved, 1)
			if got := read(t, filepath.Join(workspace, "x")); got != "OLD" || p.ran() != 1 {
				t.Errorf("the file holds %q after %d runs", got, p.ran())
			}
			resolved := records(t, k, journal.Resolved)[0]
			if resolved.Resolution.Retry != doubt.RetryID(resolved.Call) {
				t.Errorf("resolved: %+v", resolved.Resolution)
			}
			if open, err := k.Journal.Doubts(t.Context()); err != nil || len(open) > 0 {
				t.Errorf("in doubt: %v, %v", open, err)
			}
			kerneltest.Eventually(t, func() bool {
				told := told(t, k, workspace)
				return len(told) == 1 && strings.Contains(told[0], "has been made again")
			})
		})
	}
}

// RELIABILITY 1: an old write never comes over newer data, whoever wrote that.
func TestCallInDoubtIsNotMadeAgainOverNewerData(t *testing.T) {
	t.Parallel()
	file := func(workspace string) string { return filepath.Join(workspace, "x") }
	claimsOnServer := []tool.Effect{{Resource: "server:user/files", Mode: tool.IX}}
	for _, test := range []struct {
		name string
		p    *putter
		// meanwhile is what happens between the crash and the kernel that stays.
		meanwhile func(t *testing.T, state, workspace string)
		want, why string
	}{
		{"a person edits while no kernel runs", &putter{}, func(t *testing.T, _, workspace string) {
			write(t, file(workspace), "NEW")
		}, "NEW", "is not as it was"},
		{"a person puts another file in its place", &putter{}, func(t *testing.T, _, workspace string) {
			write(t, file(workspace)+".new", "BEFORE")
			ok(t, os.Rename(file(workspace)+".new", file(workspace)))
		}, "BEFORE", "is not as it was"},
		{"a newer call is acknowledged by a kernel in between", &putter{}, func(t *testing.T, state, workspace string) {
			k := kerneltest.OpenWith(t, kernel.Config{State: state, ShortLived: true})
			s := kerneltest.OpenSession(t, k, workspace)
			if r := kerneltest.Call(t, s, "filesystem.write", `{"path":"x","content":"NEW"}`); r.Status != tool.Success {
				t.Fatalf("%+v", r)
			}
			ok(t, k.Close())
		}, "NEW", ""},
		{"the call had begun to write", &putter{torn: true}, func(*testing.T, string, string) {}, "to", "is not as it was"},
		{"it claims its server only", &putter{effects: claimsOnServer}, func(*testing.T, string, string) {},
			"BEFORE", "could be compared"},
		{"it claims the folder", &putter{effects: []tool.Effect{{Resource: "workspace", Mode: tool.X}}},
			func(*testing.T, string, string) {}, "BEFORE", "could be compared"},
		{"it does not say that twice is once", &putter{once: true}, func(*testing.T, string, string) {},
			"BEFORE", "twice is once"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			workspace := t.TempDir()
			write(t, file(workspace), "BEFORE")
			left := cutOff(t, kerneltest.StateDir(t), workspace, test.p, putOld)
			test.meanwhile(t, left, workspace)
			k := kerneltest.Open(t, left, test.p.tool(t, workspace))
			if test.why == "" { // its asker was told by the kernel in between
				if n := len(records(t, k, journal.Told)); n != 1 {
					t.Errorf("told %d times", n)
				}
			} else {
				await(t, k, journal.Judged, 1)
				if note := records(t, k, journal.Judged)[0].Note; !strings.Contains(note, test.why) {
					t.Errorf("it is not made again because %q", note)
				}
				if told := told(t, k, workspace); len(told) != 1 || !strings.Contains(told[0], "team.put") {
					t.Errorf("told %q", told)
				}
			}
			if got := read(t, file(workspace)); got != test.want || test.p.ran() != 0 {
				t.Errorf("the file holds %q after %d more runs, want %q", got, test.p.ran(), test.want)
			}
			open, err := k.Journal.Doubts(t.Context())
			if err != nil || len(open) != 1 {
				t.Errorf("in doubt: %v, %v", open, err)
			}
		})
	}
}

// RELIABILITY 1: another agent's newer call on the same thing is on record.
func TestCallInDoubtIsNotMadeAgainAfterAnotherAgentsCall(t *testing.T) {
	t.Parallel()
	workspace, p := t.TempDir(), &putter{}
	write(t, filepath.Join(workspace, "x"), "BEFORE")
	left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	k := kerneltest.OpenWith(t, kernel.Config{State: left, ShortLived: true})
	s, err := k.OpenSession(t.Context(), session.Spec{Workspace: workspace, Lane: "other"})
	ok(t, err)
	if r := kerneltest.Call(t, s, "filesystem.read", `{"path":"x"}`); r.Status != tool.Success || len(r.Warnings) > 0 {
		t.Fatalf("%+v", r)
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, left, p.tool(t, workspace))
	await(t, k, journal.Judged, 1)
	if note := records(t, k, journal.Judged)[0].Note; !strings.Contains(note, "touched the same thing since") {
		t.Errorf("it is not made again because %q", note)
	}
	if got := read(t, filepath.Join(workspace, "x")); got != "BEFORE" || p.ran() != 0 {
		t.Errorf("the file holds %q after %d more runs", got, p.ran())
	}
}

// A retry takes its place before anybody is served: what is asked for after the start
// comes after it.
func TestRetryComesBeforeNewCalls(t *testing.T) {
	t.Parallel()
	for range 5 {
		workspace, p := t.TempDir(), &putter{}
		write(t, filepath.Join(workspace, "x"), "BEFORE")
		left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
		k := kerneltest.Open(t, left, p.tool(t, workspace))
		s := kerneltest.OpenSession(t, k, workspace)
		if r := kerneltest.Call(t, s, "filesystem.write", `{"path":"x","content":"NEW"}`); r.Status != tool.Success {
			t.Fatalf("%+v", r)
		}
		await(t, k, journal.Resolved, 1)
		if got := read(t, filepath.Join(workspace, "x")); got != "NEW" || p.ran() != 1 {
			t.Fatalf("the file holds %q after %d runs", got, p.ran())
		}
		ok(t, k.Close())
	}
}

// RELIABILITY 2: however often the kernel is killed, a call is attempted twice and
// stays one doubt.
func TestRetriesDoNotPileUp(t *testing.T) {
	t.Parallel()
	workspace, p := t.TempDir(), &putter{}
	write(t, filepath.Join(workspace, "x"), "BEFORE")
	state := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	total := 0
	for life := range 8 {
		p.set(func(p *putter) { p.held, p.runs = true, 0 })
		k := kerneltest.Open(t, state, p.tool(t, workspace))
		if life == 0 {
			kerneltest.Eventually(t, func() bool { return p.ran() > 0 })
		} else {
			await(t, k, journal.Judged, 1)
		}
		left := crash(t, state)
		ok(t, k.Close())
		total += p.ran()
		state = left
	}
	k := kerneltest.Open(t, state, p.tool(t, workspace))
	open, err := k.Journal.Doubts(t.Context())
	ok(t, err)
	if total != 1 || len(open) != 1 || len(records(t, k, journal.Doubted)) != 1 || len(records(t, k, journal.Judged)) != 1 {
		t.Errorf("%d retries, %d doubts: %+v", total, len(open), open)
	}
	if begun := records(t, k, journal.Begun); len(begun) != 2 {
		t.Errorf("begun: %+v", begun)
	}
}

// RELIABILITY 8: a kernel that ends with its command begins no retry; one that stays
// makes it.
func TestShortLivedKernelMakesNothingAgain(t *testing.T) {
	t.Parallel()
	workspace, p := t.TempDir(), &putter{}
	left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	for range 2 {
		k := kerneltest.OpenWith(t, kernel.Config{
			State: left, ShortLived: true, Tools: []*tool.Tool{p.tool(t, workspace)},
		})
		ok(t, k.Close())
	}
	if p.ran() != 0 {
		t.Error("it began what it could not finish")
	}
	k := kerneltest.Open(t, left, p.tool(t, workspace))
	await(t, k, journal.Resolved, 1)
	if p.ran() != 1 || read(t, filepath.Join(workspace, "x")) != "OLD" {
		t.Errorf("it ran %d times", p.ran())
	}
}

// Who asked for a call in doubt is told once, by whichever kernel is there when the
// asker comes back.
func TestAskerIsToldOnce(t *testing.T) {
	t.Parallel()
	workspace, p := t.TempDir(), &putter{once: true}
	state := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	for range 2 { // kernels that end before the asker comes back
		ok(t, kerneltest.Open(t, state).Close())
	}
	k := kerneltest.Open(t, state)
	if other := told(t, k, t.TempDir()); len(other) != 0 {
		t.Errorf("somebody else was told %q", other)
	}
	if told := told(t, k, workspace); len(told) != 1 || !strings.Contains(told[0], "team.put") ||
		!strings.Contains(told[0], "file:"+workspace+"/x") {
		t.Errorf("told %q", told)
	}
	if told := told(t, k, workspace); len(told) != 0 {
		t.Errorf("told again: %q", told)
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	if told := told(t, k, workspace); len(told) != 0 {
		t.Errorf("told again after a start: %q", told)
	}
	open, err := k.Journal.OpenDoubts(t.Context(), doubt.Query{})
	if err != nil || len(open) != 1 || open[0].State != doubt.Told {
		t.Fatalf("in doubt: %+v, %v", open, err)
	}
	ok(t, k.Journal.Resolve(t.Context(), open[0].Call, doubt.Resolution{Happened: true, By: "ada"}))
	if err := k.Journal.Resolve(t.Context(), open[0].Call, doubt.Resolution{}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("resolved twice: %v", err)
	}
}

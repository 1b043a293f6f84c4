package backgroundcalls_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// printer is the tool demo.print: it prints a line every ten seconds, "ready" after 42,
// and ends after 100. With fail it fails after five.
func printer(t testing.TB) *tool.Tool {
	made := kerneltest.NewTool(t, "demo.print", tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Timeout: time.Hour}, nil)
	made.Handler = tool.HandlerFunc(func(ctx context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
		fails := strings.Contains(string(call.Args), "fail")
		for second := 1; second <= 100; second++ {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			switch {
			case fails && second == 5:
				return nil, errors.New("no luck")
			case second == 42:
				g.Output("stdout", []byte("it is ready\n"))
			case second%10 == 0:
				g.Output("stdout", fmt.Appendf(nil, "line %d\n", second/10))
			}
		}
		return tool.OK("printed", map[string]any{"done": true})
	})
	return made
}

// inBubble runs a test in the session of a conversation that nobody attends, whose clock
// is the test's.
func inBubble(t *testing.T, test func(t *testing.T, k *kernel.Kernel, s *session.Session)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, folder := kerneltest.Open(t, kerneltest.StateDir(t), printer(t)), t.TempDir()
		write(t, filepath.Join(folder, "callgate.yaml"), free)
		s, err := k.Sessions.Get(kerneltest.OpenConversation(t, k, folder).ID())
		ok(t, err)
		test(t, k, s)
	})
}

// pass lets time pass, and all that is due then happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// notices are what a conversation is owed, but for the ends of tasks.
func notices(t testing.TB, k *kernel.Kernel, s *session.Session) (heads []string) {
	t.Helper()
	list, err := k.Tasks.Store().List(t.Context(), task.Query{Parent: s.ID(), Owed: true, Kinds: []string{task.Notice}})
	ok(t, err)
	for _, n := range list {
		heads = append(heads, n.Outcome.Head)
	}
	return heads
}

// Calls that look at a task return at the instant that they name.
func TestTimesOfLooking(t *testing.T) {
	for name, test := range map[string]struct {
		launch, then string
		takes        time.Duration // of the last
		status       string
		matched      string
	}{
		"a launch that goes on":          {`{"name":"demo.print","settle":3}`, "", 3 * time.Second, "running", ""},
		"a launch that is not looked at": {`{"name":"demo.print","settle":0}`, "", 0, "running", ""},
		"a launch that ends in time":     {`{"name":"demo.print","params":{"fail":1},"settle":7}`, "", 5 * time.Second, "", ""},
		"wait, to its end":               {`{"name":"demo.print","settle":0}`, `"wait":true,"timeout":3600`, 100 * time.Second, "completed", ""},
		"wait, as long as is usual":      {`{"name":"demo.print","settle":0}`, `"wait":true`, 60 * time.Second, "running", ""},
		"wait, for a while":              {`{"name":"demo.print","settle":0}`, `"wait":true,"timeout":7`, 7 * time.Second, "running", ""},
		"output, at once": {
			`{"name":"demo.print","settle":0}`, `"wait_for":"ready","settle":0`, 42 * time.Second, "running", "true",
		},
		"output, and what follows": {
			`{"name":"demo.print","settle":0}`, `"wait_for":"/^line 2/","settle":2`, 22 * time.Second, "running", "true",
		},
		"output that does not come in time": {
			`{"name":"demo.print","settle":0}`, `"wait_for":"ready","timeout":10`, 10 * time.Second, "running", "false",
		},
		"output that never comes": {
			`{"name":"demo.print","settle":0}`, `"wait_for":"never","timeout":600`, 100 * time.Second, "completed", "false",
		},
		"a launch that waits for output": {
			`{"name":"demo.print","wait_for":"ready","settle":0}`, "", 42 * time.Second, "running", "true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *kernel.Kernel, s *session.Session) {
				began := time.Now()
				r, at := run(t, s, test.launch)
				if test.then != "" {
					began = time.Now()
					r, at = run(t, s, of(at.TaskID, test.then))
				}
				if took := time.Since(began).Round(time.Millisecond); took != test.takes || at.Status != test.status {
					t.Errorf("after %v: %q, %s", took, at.Status, r.Summary)
				}
				if test.status == "" && (r.Status != tool.Failure || !strings.Contains(r.Summary, "no luck")) {
					t.Errorf("%+v", r)
				}
				if matched := ""; at.Matched != nil || test.matched != "" {
					if at.Matched != nil {
						matched = fmt.Sprint(*at.Matched)
					}
					if matched != test.matched {
						t.Errorf("matched: %q", matched)
					}
				}
			})
		})
	}
}

// notify_when tells the conversation once, when the output has it; notify_every from
// time to time, unless it has not been told the last time yet.
func TestTimesOfNotices(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kernel.Kernel, s *session.Session) {
		_, begun := run(t, s, `{"name":"demo.print","settle":0,"notify_when":"ready"}`)
		pass(41 * time.Second)
		if got := notices(t, k, s); len(got) != 0 {
			t.Errorf("too early: %q", got)
		}
		pass(2 * time.Second)
		want := "BACKGROUND TASK READY: " + begun.TaskID + " (demo.print) after 42 s: its output has ready"
		if got := notices(t, k, s); !slices.Equal(got, []string{want}) {
			t.Errorf("%q", got)
		}
		pass(time.Hour)
		if got := notices(t, k, s); len(got) != 1 {
			t.Errorf("told again: %q", got)
		}
	})
}

func TestTimesOfProgress(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kernel.Kernel, s *session.Session) {
		run(t, s, `{"name":"demo.print","settle":0,"notify_every":15}`)
		for second, want := range map[time.Duration]int{14: 0} {
			if pass(second * time.Second); len(notices(t, k, s)) != want {
				t.Errorf("after %d s: %q", second, notices(t, k, s))
			}
		}
		pass(32 * time.Second) // at 46: it was due three times
		list, err := k.Tasks.Store().List(t.Context(), task.Query{Parent: s.ID(), Owed: true})
		ok(t, err)
		if len(list) != 1 || !strings.Contains(list[0].Outcome.Head, "PROGRESS") || !strings.Contains(list[0].Outcome.Summary, "line 1") {
			t.Fatalf("%+v", list)
		}
		ok(t, k.Tasks.Store().Told(t.Context(), list[0].ID))
		pass(15 * time.Second)
		if got := notices(t, k, s); len(got) != 1 || !strings.Contains(got[0], "after 60 s") {
			t.Errorf("after it was told: %q", got)
		}
	})
}

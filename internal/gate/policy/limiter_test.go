package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

func limited(t testing.TB, limits map[string]int) *policy.Rules {
	return compiled(t, &policy.Capabilities{RateLimits: limits}, nil)
}

// taken returns how many of n calls pass; an error of another kind fails the test.
func taken(t *testing.T, l *policy.Limiter, r *policy.Rules, subject *tool.Tool, p tool.Principal, n int) (passed int) {
	t.Helper()
	for range n {
		switch err := l.Take(r, subject, p); tool.KindOf(err) {
		case "":
			passed++
		case tool.Limited:
		default:
			t.Fatalf("Take: %v", err)
		}
	}
	return passed
}

// advance moves the clock of a bubble, and waits until all that was due then has
// happened.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestLimiterWindowSlides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l policy.Limiter
		rules, bash := limited(t, map[string]int{"shell.bash": 3}), made(t, "shell.bash", tool.Runtime{})
		if got := taken(t, &l, rules, bash, model, 2); got != 2 {
			t.Fatalf("%d of the first 2 calls pass", got)
		}
		advance(40 * time.Second)
		if got := taken(t, &l, rules, bash, model, 4); got != 1 {
			t.Fatalf("%d calls pass where one slot is left", got)
		}
		err := l.Take(rules, bash, model)
		for _, want := range []string{"wait 20 s", `3 calls a minute for "shell.bash"`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("the refusal does not say %q: %v", want, err)
			}
		}
		advance(20*time.Second - time.Nanosecond)
		if got := taken(t, &l, rules, bash, model, 1); got != 0 {
			t.Fatal("a call passes a nanosecond too early")
		}
		advance(time.Nanosecond)
		if got := taken(t, &l, rules, bash, model, 5); got != 2 {
			t.Fatalf("%d calls pass when the first two left the window", got)
		}
		advance(24 * time.Hour)
		if got := taken(t, &l, rules, bash, model, 9); got != 3 {
			t.Fatalf("%d calls pass after a day", got)
		}
	})
}

func TestRefusedCallUsesNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l policy.Limiter
		rules := limited(t, map[string]int{"*": 5, "shell": 4, "shell.bash": 1})
		bash, ls := made(t, "shell.bash", tool.Runtime{}), made(t, "shell.ls", tool.Runtime{})
		read := made(t, "fs.read", tool.Runtime{})
		if got := taken(t, &l, rules, bash, model, 50); got != 1 {
			t.Fatalf("shell.bash passes %d times, its limit is 1", got)
		}
		if got := taken(t, &l, rules, ls, model, 50); got != 3 {
			t.Fatalf("shell.ls passes %d times; shell has 3 of 4 slots left", got)
		}
		if got := taken(t, &l, rules, read, model, 50); got != 1 {
			t.Fatalf("fs.read passes %d times; * has 1 of 5 slots left", got)
		}
	})
}

// The hint gives the longest wait of all limits that refuse.
func TestCallPassesAfterTheWaitInTheHint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l policy.Limiter
		rules := limited(t, map[string]int{"*": 2, "shell.bash": 1})
		bash, read := made(t, "shell.bash", tool.Runtime{}), made(t, "fs.read", tool.Runtime{})
		taken(t, &l, rules, read, model, 1)
		advance(30 * time.Second)
		taken(t, &l, rules, bash, model, 1)
		err := l.Take(rules, bash, model)
		var e *tool.Error
		if !errors.As(err, &e) || e.Hint != "wait 60 s, then call again" {
			t.Fatalf("got %v", err)
		}
		advance(60 * time.Second)
		if err := l.Take(rules, bash, model); err != nil {
			t.Fatalf("after the wait: %v", err)
		}
	})
}

func TestLimiterKeysCoverModulesAndActions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limit  string
		first  string // uses the only slot
		second string
		passes bool
	}{
		{"the same tool", "shell.bash", "shell.bash", "shell.bash", false},
		{"another tool of the module", "shell.bash", "shell.bash", "shell.ls", true},
		{"module limit", "shell", "shell.bash", "shell.ls", false},
		{"module limit by star", "shell.*", "shell.bash", "shell.ls", false},
		{"module limit, another module", "shell", "shell.bash", "fs.read", true},
		{"everything", "*", "shell.bash", "fs.read", false},
		{"an action everywhere", "*.read", "fs.read", "choir.fs.read", false},
		{"an action everywhere, another", "*.read", "fs.read", "fs.write", true},
		{"a dotted module", "choir.fs", "choir.fs.read", "choir.fs.write", false},
		{"its parent", "choir", "choir.fs.read", "choir.fs.write", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l policy.Limiter
				rules := limited(t, map[string]int{test.limit: 1})
				if err := l.Take(rules, made(t, test.first, tool.Runtime{}), model); err != nil {
					t.Fatal(err)
				}
				err := l.Take(rules, made(t, test.second, tool.Runtime{}), model)
				if (err == nil) != test.passes {
					t.Errorf("after %s, %s gives %v", test.first, test.second, err)
				}
			})
		})
	}
}

func TestLimiterCountsPerAppAndUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rules, bash := limited(t, map[string]int{"shell": 1}), made(t, "shell.bash", tool.Runtime{})
		tests := []struct {
			name   string
			other  tool.Principal
			passes bool
		}{
			{"itself", model, false},
			{"another agent", tool.Principal{User: "ann", App: "demo", Agent: "helper"}, false},
			{"another session", tool.Principal{User: "ann", App: "demo", Session: "s2"}, false},
			{"another user", tool.Principal{User: "bob", App: "demo"}, true},
			{"another app", tool.Principal{User: "ann", App: "other"}, true},
			{"the daemon", daemon, true},
		}
		for _, test := range tests {
			var l policy.Limiter
			if err := l.Take(rules, bash, model); err != nil {
				t.Fatal(err)
			}
			if err := l.Take(rules, bash, test.other); (err == nil) != test.passes {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	})
}

// The limit "*" counts the targets of control tools, not the control tools; a
// limit that names their module counts them.
func TestLimiterCountsControlToolsOnlyByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		execute := made(t, "context_builder.execute_tool", tool.Runtime{Control: true})
		var l policy.Limiter
		if got := taken(t, &l, limited(t, map[string]int{"*": 1, "*.execute_tool": 1}), execute, model, 5); got != 5 {
			t.Errorf("%d of 5 calls pass a limit for everything", got)
		}
		if got := taken(t, &l, limited(t, map[string]int{"context_builder": 2}), execute, model, 5); got != 2 {
			t.Errorf("%d of 5 calls pass a limit of 2 for the module", got)
		}
	})
}

func TestNewLimitsApplyToOldCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l policy.Limiter
		bash := made(t, "shell.bash", tool.Runtime{})
		for range 4 {
			if err := l.Take(limited(t, map[string]int{"shell": 4}), bash, model); err != nil {
				t.Fatal(err)
			}
			advance(10 * time.Second)
		}
		// Calls were made at 0, 10, 20 and 30 s; it is now 40 s.
		err := l.Take(limited(t, map[string]int{"shell": 2}), bash, model)
		if err == nil || !strings.Contains(err.Error(), "wait 40 s") {
			t.Fatalf("under a lower limit: %v", err)
		}
		if err := l.Take(limited(t, map[string]int{"shell": 5}), bash, model); err != nil {
			t.Fatalf("under a higher limit: %v", err)
		}
	})
}

func TestCallsWithoutLimitsPass(t *testing.T) {
	t.Parallel()
	var l policy.Limiter
	for _, rules := range []*policy.Rules{nil, {}, compiled(t, &policy.Capabilities{}, nil)} {
		if got := taken(t, &l, rules, made(t, "shell.bash", tool.Runtime{}), model, 100); got != 100 {
			t.Errorf("%d of 100 calls pass where nothing is limited", got)
		}
	}
}

func TestConcurrentCallsNeverExceedALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l policy.Limiter
		rules := limited(t, map[string]int{"*": 30, "shell": 20})
		bash, read := made(t, "shell.bash", tool.Runtime{}), made(t, "fs.read", tool.Runtime{})
		var shell, all atomic.Int64
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				for range 10 {
					if l.Take(rules, bash, model) == nil {
						shell.Add(1)
						all.Add(1)
					}
					if l.Take(rules, read, model) == nil {
						all.Add(1)
					}
				}
			})
		}
		wait.Wait()
		if shell.Load() > 20 || all.Load() != 30 {
			t.Errorf("%d shell calls and %d in all passed limits of 20 and 30", shell.Load(), all.Load())
		}
	})
}

// Too many callers at once are refused, never left uncounted. Idle callers free
// their counters.
func TestLimiterMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l policy.Limiter
		rules, bash := limited(t, map[string]int{"shell": 5}), made(t, "shell.bash", tool.Runtime{})
		var refused error
		for i := 0; refused == nil && i < 1<<20; i++ {
			refused = l.Take(rules, bash, tool.Principal{User: fmt.Sprint(i)})
		}
		if tool.KindOf(refused) != tool.Limited {
			t.Fatalf("a million callers: %v", refused)
		}
		if err := l.Take(rules, bash, tool.Principal{User: "0"}); err != nil {
			t.Errorf("a caller that is already counted: %v", err)
		}
		advance(policy.Window)
		if err := l.Take(rules, bash, tool.Principal{User: "late"}); err != nil {
			t.Errorf("after the others were idle: %v", err)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	rules := limited(b, map[string]int{"*": 10_000, "shell": 10_000, "shell.bash": 10_000})
	bash := made(b, "shell.bash", tool.Runtime{})
	b.Run("limited", func(b *testing.B) {
		var l policy.Limiter
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%10_000 == 9_999 {
				l = policy.Limiter{}
			}
			if err := l.Take(rules, bash, model); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unlimited", func(b *testing.B) {
		var l policy.Limiter
		b.ReportAllocs()
		for b.Loop() {
			if err := l.Take(nil, bash, model); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package requests_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/requests"
	"callgate/tool"
)

const timeout = time.Minute

// output records what a call shows its caller.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) grant() tool.Grant {
	return tool.Grant{Emit: func(stream string, chunk []byte) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.text.WriteString(stream + ": " + string(chunk))
	}}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func acquire(t *testing.T, table *requests.Table) {
	t.Helper()
	if err := table.Acquire(t.Context(), tool.Grant{}); err != nil {
		t.Error(err)
	}
}

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := requests.New("far", 2, timeout)
		acquire(t, table)
		acquire(t, table)
		var seen output
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { failed <- table.Acquire(ctx, seen.grant()) }()
		synctest.Wait()
		if got := table.Stats(); got != (requests.Stats{Waiting: 1}) {
			t.Errorf("stats %+v", got)
		}
		if want := "progress: waiting: the MCP server far has 2 calls already, 1 in line\n"; seen.String() != want {
			t.Errorf("the caller sees %q", seen.String())
		}
		cancel()
		if err := <-failed; tool.KindOf(err) != tool.Cancelled || !strings.Contains(err.Error(), "2 calls at a time") {
			t.Errorf("error %v", err)
		}
		go func() { failed <- table.Acquire(t.Context(), tool.Grant{}) }()
		synctest.Wait()
		table.Release(true)
		if err := <-failed; err != nil {
			t.Error(err)
		}
		table.Release(false)
		table.Release(false)
		if got := table.Stats(); got != (requests.Stats{Calls: 3, Failures: 1}) {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestIdleFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := requests.New("far", 1, timeout)
		if table.IdleFor(time.Second) {
			t.Error("a new server is idle at once")
		}
		<-time.After(time.Second)
		if !table.IdleFor(time.Second) {
			t.Error("after a second it is not idle")
		}
		acquire(t, table)
		<-time.After(time.Hour)
		if table.IdleFor(time.Second) {
			t.Error("it is idle during a request")
		}
		table.Release(false)
		if table.IdleFor(time.Second) {
			t.Error("it is idle just after a request")
		}
	})
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := requests.New("far", 4, timeout)
		began := time.Now()
		silent, a := table.Begin(t.Context(), "a", tool.Grant{})
		defer a.End()
		var seen output
		working, b := table.Begin(t.Context(), "b", seen.grant())
		<-time.After(40 * time.Second)
		table.Progress(&sdk.ProgressNotificationParams{ProgressToken: b.Token, Progress: 1, Total: 3, Message: "a\nb"})
		table.Progress(&sdk.ProgressNotificationParams{ProgressToken: "unknown", Progress: 1})
		table.Progress(&sdk.ProgressNotificationParams{ProgressToken: 7.0, Progress: 1})
		<-silent.Done()
		if context.Cause(silent) != requests.ErrNoAnswer || time.Since(began) != timeout {
			t.Errorf("a silent request ended after %v with %v", time.Since(began), context.Cause(silent))
		}
		if working.Err() != nil || seen.String() != "progress: 1/3 a b\n" {
			t.Errorf("a request with progress: %v, %q", working.Err(), seen.String())
		}
		<-working.Done()
		if time.Since(began) != timeout+40*time.Second {
			t.Errorf("it ended after %v", time.Since(began))
		}
		b.End()
		if got := table.Stats().Sent; got != 1 {
			t.Errorf("%d requests are left", got)
		}
		other, c := table.Begin(t.Context(), "c", tool.Grant{})
		stop := errors.New("stop")
		c.Cancel(stop)
		if context.Cause(other) != stop {
			t.Errorf("cancelled with %v", context.Cause(other))
		}
		c.End()
	})
}

// While a human is asked no request times out, and each has its whole time left
// afterwards.
func TestQuestionsStopTheClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := requests.New("far", 4, timeout)
		ctx, a := table.Begin(t.Context(), "a", tool.Grant{})
		defer a.End()
		_, b := table.Begin(t.Context(), "b", tool.Grant{})
		defer b.End()
		_, listing := table.Begin(t.Context(), "", tool.Grant{})
		defer listing.End()
		<-time.After(30 * time.Second)
		calls, done := table.Ask()
		slices.Sort(calls)
		if !slices.Equal(calls, []string{"a", "b"}) {
			t.Errorf("the question belongs to %v", calls)
		}
		_, second := table.Ask()
		<-time.After(time.Hour)
		done()
		<-time.After(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("it timed out during a question")
		}
		second()
		answered := time.Now()
		<-ctx.Done()
		if time.Since(answered) != timeout {
			t.Errorf("it ended %v after the answer", time.Since(answered))
		}
	})
}

// TestQuestionEndsAsTheTimeRunsOut answers a question in the same moment in which the time of a
// request runs out. The request has its whole time again, whether the clock or the answer comes first.
func TestQuestionEndsAsTheTimeRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := requests.New("far", 1, timeout)
		ctx, r := table.Begin(t.Context(), "a", tool.Grant{})
		defer r.End()
		for range 64 { // the order of two events at the same time is random
			_, done := table.Ask()
			<-time.After(timeout)
			done()
			synctest.Wait()
			if ctx.Err() != nil {
				t.Fatalf("the request ended with %v", context.Cause(ctx))
			}
		}
	})
}

func TestTokensAreUnique(t *testing.T) {
	t.Parallel()
	table := requests.New("far", 1, timeout)
	seen := map[string]bool{}
	for range 3 {
		_, r := table.Begin(t.Context(), "same", tool.Grant{})
		if seen[r.Token] {
			t.Errorf("the token %s came twice", r.Token)
		}
		seen[r.Token] = true
		r.End()
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cause error
		want  tool.Kind
	}{
		{"cancelled", context.Canceled, tool.Cancelled},
		{"for a reason", errors.New("enough"), tool.Cancelled},
		{"too late", context.DeadlineExceeded, tool.Timeout},
		{"the kernel's timeout", tool.Errorf("test", tool.Timeout, "too slow"), tool.Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(c.cause)
			if err := requests.Interrupted(ctx, "here"); tool.KindOf(err) != c.want || !strings.HasSuffix(err.Error(), "here") {
				t.Errorf("error %v", err)
			}
		})
	}
}

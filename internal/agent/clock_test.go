package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// after answers when some time has passed.
func after(d time.Duration, then answer) answer {
	return func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		select {
		case <-time.After(d):
			return then(ctx, r)
		case <-ctx.Done():
			return nil, &llm.Error{Kind: llm.Cancelled, Err: ctx.Err()}
		}
	}
}

// Only the model's time counts: not what calls take, nor what a human takes to answer.
func TestClockStandsWhileCallsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, func(c *agent.Config) { c.Timeout = 5 * time.Minute },
			after(2*time.Minute, says("", `shell {"command":"make test"}`, `ask {}`)),
			after(2*time.Minute, says("done")))
		f.tools.run = func(ctx context.Context, _ history.Call) *tool.Result {
			select {
			case <-time.After(3 * time.Hour):
				return &tool.Result{Status: tool.Success, Summary: "ok"}
			case <-ctx.Done():
				return &tool.Result{Status: tool.Failure, Summary: "stopped"}
			}
		}
		if end := f.say(t, "go"); end.Reason != history.Done {
			t.Errorf("%+v\n%s", end, transcript(f.log))
		}
	})
}

// A compaction bounds itself, and takes nothing of the turn's time: not before a request, and
// not after one that the provider found too long.
func TestClockStandsWhileCompacting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		compact := func(ctx context.Context, _ string, _ []llm.Message) (*history.Compaction, error) {
			select {
			case <-time.After(4 * time.Minute):
				return &history.Compaction{Summary: "so far", Kept: 1}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		tooLong := func(context.Context, llm.Request) (*llm.Response, error) {
			return nil, &llm.Error{Kind: llm.ContextOverflow}
		}
		f := setup(t, func(c *agent.Config) {
			c.Timeout, c.Compact, c.CompactOverflow = 5*time.Minute, compact, compact
		}, after(2*time.Minute, tooLong), after(2*time.Minute, says("done")))
		if end := f.say(t, "go"); end.Reason != history.Done {
			t.Errorf("%+v\n%s", end, transcript(f.log))
		}
	})
}

// The model's time adds up over the requests of a turn.
func TestClockCountsTheModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, func(c *agent.Config) { c.Timeout = 5 * time.Minute },
			after(2*time.Minute, says("", `look {"n":1}`)), after(2*time.Minute, says("", `look {"n":2}`)),
			after(2*time.Minute, says("late")))
		begun := time.Now()
		end := f.say(t, "go")
		if end.Reason != history.TimedOut || !strings.Contains(end.Error, "5m0s") || time.Since(begun) != 5*time.Minute {
			t.Errorf("%+v after %v", end, time.Since(begun))
		}
	})
}

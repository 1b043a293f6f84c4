package calls

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

func TestCanonical(t *testing.T) {
	for _, test := range []struct{ name, a, b string }{
		{"spaces", `{ "a" : 1 }`, `{"a":1}`},
		{"order", `{"b":2,"a":1}`, `{"a":1,"b":2}`},
		{"nothing", ``, `{}`},
		{"null", `null`, `{}`},
		{"long numbers", `{"a":12345678901234567890}`, `{"a": 12345678901234567890}`},
	} {
		if a, b := Canonical(json.RawMessage(test.a)), Canonical(json.RawMessage(test.b)); a != b {
			t.Errorf("%s: %s and %s", test.name, a, b)
		}
	}
	if Canonical(json.RawMessage(`12345678901234567890`)) == Canonical(json.RawMessage(`12345678901234567891`)) {
		t.Error("two long numbers are taken for one")
	}
}

// Writing JSON canonically again changes nothing.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1,2.50,"x"],"a":null}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		once := Canonical(raw)
		if twice := Canonical(json.RawMessage(once)); json.Valid(raw) && once != "null" && twice != once {
			t.Errorf("%q becomes %q and then %q", raw, once, twice)
		}
	})
}

func TestParseCount(t *testing.T) {
	for _, test := range []struct {
		stream, line string
		at, total    float64
		rest         string
		ok           bool
	}{
		{"progress", "3/10 on the way\n", 3, 10, "on the way", true},
		{"progress", "0.5\n", 0.5, 0, "", true},
		{"progress", "3/x rest", 3, 0, "rest", true},
		{"progress", "NaN/10 x", 0, 0, "NaN/10 x", false},
		{"progress", "soon\n", 0, 0, "soon\n", false},
		{"stdout", "3/10 x", 0, 0, "3/10 x", false},
	} {
		at, total, rest, ok := parseCount(test.stream, test.line)
		if at != test.at || total != test.total || rest != test.rest || ok != test.ok {
			t.Errorf("%s %q: %v of %v, %q, %v", test.stream, test.line, at, total, rest, ok)
		}
	}
}

// A count is always a number that JSON can write.
func FuzzParseCount(f *testing.F) {
	f.Add("3/10 x")
	f.Add("inf/inf")
	f.Fuzz(func(t *testing.T, line string) {
		at, total, _, ok := parseCount("progress", line)
		if n := at + total; ok && (math.IsNaN(at) || math.IsInf(at, 0) || math.IsNaN(total) || math.IsInf(total, 0)) {
			t.Errorf("%q counts %v", line, n)
		}
	})
}

func TestProgressGrows(t *testing.T) {
	p := &progress{}
	last := math.Inf(-1)
	for _, at := range []float64{0, 1, 1, 0.5, 2} {
		got := p.grow(at)
		if got <= last || got < at {
			t.Errorf("%v after %v became %v", at, last, got)
		}
		last = got
	}
}

func newPending(c *Calls, key string) *pending {
	p := &pending{calls: c, id: key + "-id", key: func() string { return key }, done: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(c.ctx)
	p.link = newLink(downstream.ClientInfo{}, p.done, func() {})
	p.link.detach()
	return p
}

func TestResume(t *testing.T) {
	c := New(t.Context(), Config{})
	asked, waiting := newPending(c, "asked"), newPending(c, "waiting")
	asked.state = "s1"
	waiting.waiting = &tool.Result{Call: "waiting-id"}
	c.suspend(asked)
	c.suspend(waiting)
	for _, test := range []struct {
		name, state, key string
		want             *pending
		refused          bool
	}{
		{"with its state", "s1", "asked", asked, false},
		{"with its state, another call", "s1", "waiting", nil, true},
		{"with an unknown state", "s2", "asked", nil, true},
		{"without its state", "", "asked", nil, false},
		{"the same call that waits for a human", "", "waiting", waiting, false},
		{"another call", "", "other", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := c.resume(test.state, func() string { return test.key })
			var refusal *jsonrpc.Error
			if p != test.want || errors.As(err, &refusal) != test.refused {
				t.Fatalf("resumed %v, %v", p, err)
			}
			if p == nil {
				return
			}
			if again, _ := c.resume(test.state, func() string { return test.key }); again != nil {
				t.Error("two requests attend one call")
			}
			p.link.detach()
		})
	}
}

// TestMaxSuspended suspends too many calls: the oldest is cancelled, unless it
// waits for a human.
func TestMaxSuspended(t *testing.T) {
	c := New(t.Context(), Config{})
	oldest, second := newPending(c, "oldest"), newPending(c, "second")
	oldest.waiting = &tool.Result{}
	c.suspend(oldest)
	c.suspend(oldest)
	c.suspend(second)
	for len(c.suspended) < maxSuspended {
		c.suspend(newPending(c, "more"))
	}
	c.suspend(newPending(c, "more"))
	c.suspend(newPending(c, "more"))
	if len(c.suspended) != maxSuspended || oldest.ctx.Err() != nil || second.ctx.Err() == nil {
		t.Errorf("%d suspended, the oldest %v, the second %v", len(c.suspended), oldest.ctx.Err(), second.ctx.Err())
	}
}

func TestDelivered(t *testing.T) {
	c := New(t.Context(), Config{})
	waiting, other, collector := newPending(c, "waiting"), newPending(c, "other"), newPending(c, "collector")
	waiting.waiting = &tool.Result{Call: "waiting-id"}
	c.suspend(waiting)
	c.suspend(other)
	collector.result = &tool.Result{Call: "waiting-id", Status: tool.Waiting}
	c.delivered(collector)
	if len(c.suspended) != 2 {
		t.Errorf("a call that still waits was removed")
	}
	collector.result = &tool.Result{Call: "waiting-id", Status: tool.Success}
	c.delivered(collector)
	if len(c.suspended) != 1 || c.suspended[0] != other {
		t.Errorf("%d are suspended", len(c.suspended))
	}
}

func TestIncludes(t *testing.T) {
	p := &pending{id: "c1", collected: "c7"}
	for call, want := range map[string]bool{
		"c1": true, "c1.2": true, "c1.2.3": true, "c12": false, "c7": true, "c7.1": false, "": false,
	} {
		if got := p.includes(call); got != want {
			t.Errorf("%q: %v", call, got)
		}
	}
}

func TestDeliver(t *testing.T) {
	c := New(t.Context(), Config{})
	p := newPending(c, "x")
	ask := func() *question.Question {
		q := question.New(sdk.InputRequestMap{question.ApprovalKey: &sdk.ElicitParams{}}, true)
		p.addAsked(q)
		return q
	}
	q := ask()
	if p.deliver(nil) { // the client does not know the answer
		t.Error("an answer that is missing counts as undecided")
	}
	if a := <-q.Answered(); a.Form() != nil {
		t.Errorf("the answer is %+v", a)
	}
	q = ask()
	if !p.deliver(sdk.InputResponseMap{question.ApprovalKey: &sdk.ElicitResult{Action: "cancel"}}) {
		t.Error("a dismissed form counts as decided")
	}
	if a := <-q.Answered(); a.Form() == nil || a.Form().Action != "cancel" {
		t.Errorf("the answer is %+v", a)
	}
}

// TestRequestInput has a server ask: its form names it, and the question ends with
// its answer, with the call, or with the context.
func TestRequestInput(t *testing.T) {
	asked := sdk.InputRequestMap{"q": &sdk.ElicitParams{Message: "which?"}}
	type reply struct {
		answers sdk.InputResponseMap
		err     error
	}
	start := func(ctx context.Context, done chan struct{}) (*link, chan reply) {
		l, replies := newLink(downstream.ClientInfo{}, done, func() {}), make(chan reply, 1)
		go func() {
			answers, err := l.RequestInput(ctx, "files", asked)
			replies <- reply{answers, err}
		}()
		return l, replies
	}
	synctest.Test(t, func(t *testing.T) {
		l, replies := start(t.Context(), make(chan struct{}))
		q := <-l.questions
		if got := q.Parts["q"].(*sdk.ElicitParams).Message; got != "The MCP server files asks: which?" {
			t.Errorf("the form says %q", got)
		}
		answers := sdk.InputResponseMap{"q": &sdk.ElicitResult{Action: "accept"}}
		q.Reply(question.Answer{Parts: answers})
		if r := <-replies; r.err != nil || r.answers["q"] != answers["q"] {
			t.Errorf("the reply is %+v", r)
		}

		done := make(chan struct{})
		_, replies = start(t.Context(), done)
		synctest.Wait()
		close(done)
		if r := <-replies; r.err != nil || r.answers != nil {
			t.Errorf("after the call: %+v", r)
		}

		ctx, cancel := context.WithCancel(t.Context())
		l, replies = start(ctx, make(chan struct{}))
		<-l.questions
		cancel()
		if r := <-replies; !errors.Is(r.err, context.Canceled) {
			t.Errorf("after the context: %+v", r)
		}
	})
}

// TestSlowClient drops logs that the client does not read.
func TestSlowClient(t *testing.T) {
	l := newLink(downstream.ClientInfo{}, nil, func() {})
	for range maxLogs + 10 {
		l.Log(&downstream.Log{})
	}
	if len(l.logs) != maxLogs {
		t.Errorf("%d logs wait", len(l.logs))
	}
}

package locktest

import (
	"context"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// step is a call that joins ("a X file:/w") or ends ("-a"), with the calls that hold and those that wait afterwards.
type step struct{ do, want string }

var turns = []struct {
	name  string
	steps []step
}{
	{"writers in the order of their tickets", []step{
		{"a X file:/f", "a | "}, {"b X file:/f", "a | b"}, {"c X file:/f", "a | b c"},
		{"-a", "b | c"}, {"-b", "c | "}, {"-c", " | "},
	}},
	{"readers go together", []step{
		{"a X file:/f", "a | "}, {"b S file:/f", "a | b"}, {"c S file:/f", "a | b c"}, {"-a", "b c | "},
	}},
	{"a reader does not overtake a writer", []step{
		{"a S file:/f", "a | "}, {"b X file:/f", "a | b"}, {"c S file:/f", "a | b c"},
		{"-a", "b | c"}, {"-b", "c | "},
	}},
	{"a reader overtakes a request it does not conflict with", []step{
		{"a U file:/f", "a | "}, {"b U file:/f", "a | b"}, {"c S file:/f", "a c | b"},
	}},
	{"a cancelled waiter frees the next", []step{
		{"a S file:/f", "a | "}, {"b X file:/f", "a | b"}, {"c S file:/f", "a | b c"}, {"-b", "a c | "},
	}},
	{"a cancelled waiter at the end frees no other", []step{
		{"a X file:/f", "a | "}, {"b X file:/f", "a | b"}, {"c X file:/f", "a | b c"}, {"-c", "a | b"},
		{"-a", "b | "},
	}},
	{"a folder waits for a file, and files wait for the folder", []step{
		{"a X file:/w/1", "a | "}, {"b X file:/w", "a | b"}, {"c X file:/w/2", "a | b c"}, {"d X file:/v", "a d | b c"},
		{"-a", "b d | c"}, {"-b", "c d | "},
	}},
	{"all or nothing: nothing is held while one claim waits", []step{
		{"a X file:/1", "a | "}, {"b X file:/1, X file:/2", "a | b"}, {"c S file:/2", "a | b c"},
		{"-b", "a c | "},
	}},
	{"blocked at two nodes, freed one by one", []step{
		{"a X file:/1", "a | "}, {"b X db:main", "a b | "}, {"c S file:/1, S db:main", "a b | c"},
		{"-b", "a | c"}, {"d S db:main", "a d | c"}, {"-a", "c d | "},
	}},
	{"a chain of waiters does not close other resources", []step{
		{"a X file:/1", "a | "}, {"b X file:/1, X file:/2", "a | b"}, {"c X file:/2, X file:/3", "a | b c"},
		{"d X file:/3", "a | b c d"}, {"e X file:/4", "a e | b c d"}, {"-b", "a c e | d"},
	}},
}

func servedInTurn(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	for _, test := range turns {
		t.Run(test.name, func(t *testing.T) {
			requests := map[string]*waiting{}
			for _, s := range test.steps {
				call, text, _ := strings.Cut(s.do, " ")
				if ended, ok := strings.CutPrefix(call, "-"); ok {
					requests[ended].end(t, locks)
					delete(requests, ended)
				} else {
					r := lock.Request{Claims: Claims(text), Holder: lock.Holder{Call: call}}
					requests[call] = join(t, locks, r)
				}
				want(t, locks, s.want)
			}
			for _, r := range requests {
				r.end(t, locks)
			}
			want(t, locks, " | ")
		})
	}
}

func doesNotWait(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	first := join(t, locks, lock.Request{
		Claims: Claims("U db:main"), Holder: lock.Holder{Call: "c1", Tool: "sql.run", Principal: "agent builder"},
	})
	second := join(t, locks, lock.Request{Claims: Claims("X db:main, X db:other"), Holder: lock.Holder{Call: "c2"}})
	for text, says := range map[string]string{
		"S db:other, X db:main/t": "call c1 (sql.run, for agent builder)",
		"S db:other":              "call c2",
	} {
		_, err := locks.Acquire(t.Context(), lock.Request{Claims: Claims(text), Wait: -1}, nobody)
		if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want Busy naming %s", text, err, says)
		}
	}
	want(t, locks, "c1 | c2")
	first.end(t, locks)
	want(t, locks, "c2 | ")
	second.end(t, locks)
	want(t, locks, " | ")
}

func timesOut(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	first := join(t, locks, lock.Request{Claims: Claims("U db:main"), Holder: lock.Holder{Call: "c1"}})
	request := lock.Request{Claims: Claims("S db:other, X db:main/t"), Wait: 30 * time.Millisecond}
	start := time.Now()
	_, err := locks.Acquire(t.Context(), request, nobody)
	if tool.KindOf(err) != tool.Busy || time.Since(start) < request.Wait {
		t.Fatalf("after %v: %v, want Busy after %v", time.Since(start), err, request.Wait)
	}
	for _, part := range []string{`"db:main/t" stayed locked for`, "X wanted", "call c1", `has held U on "db:main"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: it does not say %s", err, part)
		}
	}
	locks.Settle(t)
	want(t, locks, "c1 | ")
	first.end(t, locks)
	want(t, locks, " | ")
}

func waitIsCancelled(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	first := join(t, locks, lock.Request{Claims: Claims("S db:main"), Holder: lock.Holder{Call: "a"}})
	second := join(t, locks, lock.Request{Claims: Claims("X db:main"), Holder: lock.Holder{Call: "b"}})
	third := join(t, locks, lock.Request{Claims: Claims("S db:main"), Holder: lock.Holder{Call: "c"}})
	if by := <-second.by; by.Holder.Call != "a" || by.Queued || by.Mode != tool.S || by.Resource != "db:main" {
		t.Errorf("the second waits behind %+v", by)
	}
	want(t, locks, "a | b c")
	second.end(t, locks)
	want(t, locks, "a c | ")
	third.end(t, locks)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := locks.Acquire(ctx, lock.Request{Claims: Claims("X db:main")}, nobody)
	if tool.KindOf(err) != tool.Timeout {
		t.Errorf("a call whose time ran out says %v", err)
	}
	locks.Settle(t)
	first.end(t, locks)
	want(t, locks, " | ")
}

func cancelledBefore(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []lock.Request{{Claims: Claims("X db:main")}, {}} {
		if _, err := locks.Acquire(ctx, r, nobody); tool.KindOf(err) != tool.Cancelled {
			t.Errorf("%v: %v, want Cancelled", r.Claims, err)
		}
	}
	want(t, locks, " | ")
}

func secondRelease(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	first := join(t, locks, lock.Request{Claims: Claims("X db:main"), Holder: lock.Holder{Call: "a"}})
	second := join(t, locks, lock.Request{Claims: Claims("X db:main"), Holder: lock.Holder{Call: "b"}})
	release := <-first.had
	release()
	release()
	want(t, locks, "b | ")
	if passes(t, locks, Claims("S db:main")) {
		t.Error("a second release opened the lock of another")
	}
	second.end(t, locks)
	want(t, locks, " | ")
}

func noClaims(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	release := acquire(t, locks, "X db:, X file:")
	none, err := locks.Acquire(t.Context(), lock.Request{Wait: -1}, nobody)
	if err != nil {
		t.Fatal(err)
	}
	none()
	release()
	want(t, locks, " | ")
}

package approval_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

const key = "the-human's-key-for-tests"

// open opens a queue on a SQLite store.
func open(t *testing.T, path string, opts approval.Options, hooks approval.Hooks) *approval.Queue {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	ok(t, err)
	opts.Key = key
	q := approval.New(db.Approvals(), opts)
	q.SetHooks(hooks)
	ok(t, q.Start(t.Context()))
	t.Cleanup(func() { q.Close(); ok(t, db.Close()) })
	return q
}

// request returns a request of the session s1 that expires after wait.
func request(id string, wait time.Duration) approval.Request {
	return approval.Request{
		ID: id,
		Call: tool.Call{
			ID: "c" + id, Name: "t.x", Tool: tool.ID{Namespace: "t", Name: "x"},
			Args: json.RawMessage(`{"n":1}`), Principal: tool.Principal{Session: "s1"},
		},
		Workspace: "/w", Reason: "to test", AskedAt: time.Now(), Deadline: time.Now().Add(wait),
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var human = approval.Credential{Key: key, By: "ada", PID: 42}

func TestUnansweredRequestExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var settled []approval.State
		q := open(t, filepath.Join(t.TempDir(), "a.db"), approval.Options{}, approval.Hooks{
			Settled: func(_ context.Context, r approval.Request) { settled = append(settled, r.State) },
		})
		ok(t, q.Submit(t.Context(), request("a1", 300*time.Second)))
		start := time.Now()
		r, err := q.Wait(t.Context(), "a1")
		ok(t, err)
		if r.State != approval.Expired || time.Since(start) != 300*time.Second {
			t.Errorf("%s after %v", r.State, time.Since(start))
		}
		if err := q.Answer(t.Context(), human, "a1", approval.Answer{Approve: true}); tool.KindOf(err) != tool.Conflict {
			t.Errorf("an answer past the deadline: %v", err)
		}
		if len(settled) != 1 || settled[0] != approval.Expired {
			t.Errorf("settled: %v", settled)
		}
	})
}

// advance moves the clock of a bubble, and waits until all that was due then has
// happened.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestPendingRequestsSurviveARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.db")
		first := open(t, path, approval.Options{}, approval.Hooks{})
		ok(t, first.Submit(t.Context(), request("soon", time.Minute)))
		ok(t, first.Submit(t.Context(), request("later", time.Hour)))
		first.Close()
		advance(2 * time.Minute) // the kernel is down, and one deadline passes
		second := open(t, path, approval.Options{}, approval.Hooks{})
		r, err := second.Wait(t.Context(), "soon")
		ok(t, err)
		if r.State != approval.Expired {
			t.Errorf("soon is %s", r.State)
		}
		ok(t, second.Answer(t.Context(), human, "later", approval.Answer{Approve: true}))
		if r, err = second.Wait(t.Context(), "later"); err != nil || r.State != approval.Approved || r.Answer.By != "ada" {
			t.Errorf("later: %+v, %v", r, err)
		}
	})
}

// A waiter that comes while a request is being settled goes on after the answer is
// recorded, not before.
func TestWaitEndsAfterTheAnswerIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		record := make(chan struct{})
		q := open(t, filepath.Join(t.TempDir(), "a.db"), approval.Options{}, approval.Hooks{
			Settled: func(context.Context, approval.Request) { <-record },
		})
		ok(t, q.Submit(t.Context(), request("a1", time.Hour)))
		answered := make(chan error, 1)
		go func() { answered <- q.Answer(t.Context(), human, "a1", approval.Answer{Approve: true}) }()
		synctest.Wait() // the answer is in the store, and not on record
		waited := make(chan approval.Request, 1)
		go func() {
			r, err := q.Wait(t.Context(), "a1")
			if err != nil {
				t.Error(err)
			}
			waited <- r
		}()
		synctest.Wait()
		select {
		case r := <-waited:
			t.Errorf("the waiter went on before the answer was recorded: %s", r.State)
		default:
		}
		close(record)
		ok(t, <-answered)
		if r := <-waited; r.State != approval.Approved {
			t.Errorf("%s", r.State)
		}
	})
}

func TestFirstAnswerWins(t *testing.T) {
	t.Parallel()
	q := open(t, filepath.Join(t.TempDir(), "a.db"), approval.Options{}, approval.Hooks{})
	ok(t, q.Submit(t.Context(), request("a1", time.Hour)))
	var wg sync.WaitGroup
	var mu sync.Mutex
	kinds := map[tool.Kind]int{}
	for i := range 16 {
		wg.Go(func() {
			err := q.Answer(context.Background(), human, "a1", approval.Answer{Approve: i%2 == 0})
			mu.Lock()
			defer mu.Unlock()
			kinds[tool.KindOf(err)]++
		})
	}
	wg.Wait()
	if kinds[""] != 1 || kinds[tool.Conflict] != 15 {
		t.Errorf("answers: %v", kinds)
	}
	if err := q.Answer(t.Context(), human, "no-such", approval.Answer{}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("no such request: %v", err)
	}
}

// family maps a process to the one that started it. Processes of 300 and above sit
// at a terminal of their own; those from 200 at that of 200.
type family map[int]int

func (f family) Descends(pid, from int) bool {
	for ; pid != 0; pid = f[pid] {
		if pid == from {
			return true
		}
	}
	return false
}

func (f family) Session(pid int) (int, bool) {
	switch {
	case pid >= 300:
		return pid, true
	case pid >= 200:
		return 200, true
	}
	return pid, false
}

func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	const kernel, toolChild, asker, askersChild, orphan, stranger, pane, script = 100, 101, 200, 201, 202, 300, 301, 50
	tree := family{
		kernel: 1, toolChild: kernel, asker: 1, askersChild: asker, orphan: 1, stranger: 1, pane: asker, script: 1,
	}
	const noKey, insideKernel, insideSession = "human's key", "inside the kernel", "session that asked"
	const noTerminal, noCode, hidden = "has none", "a code that a person", "cannot see"
	withKey := func(pid int) approval.Credential { return approval.Credential{Key: key, PID: pid} }
	withToken := func(pid int) approval.Credential { return approval.Credential{Token: "ci", PID: pid} }
	const itself = "the asker cannot approve it"
	bearer := func(id string) approval.Credential {
		return approval.Credential{Token: "u1", Bearer: id, LoggedIn: true, PID: approval.Hidden}
	}
	program := func(pid int) approval.Requester { return approval.Requester{PID: pid, Sessions: []int{200}} }
	behind := approval.Requester{PID: 1000, Root: asker, Sessions: []int{1000, 200}} // a bridge
	person := func(pid int) approval.Requester { return approval.Requester{PID: pid, Human: true} }
	for _, c := range []struct {
		name  string
		who   approval.Credential
		asker approval.Requester
		want  string // part of the refusal; empty if the answer counts
	}{
		{"the user elsewhere, typing nothing", withKey(stranger), program(asker), noCode},
		{"a script of the user", withKey(script), program(asker), noTerminal},
		{"without a key", approval.Credential{PID: stranger}, program(asker), noKey},
		{"with a wrong key", approval.Credential{Key: "wrong", PID: stranger}, program(asker), noKey},
		{"the kernel itself", withKey(kernel), program(asker), insideKernel},
		{"a tool's process", withKey(toolChild), program(asker), insideKernel},
		{"an in-process connection", withKey(0), program(asker), insideKernel},
		{"the asker", withKey(asker), program(asker), insideSession},
		{"a child of the asker", withKey(askersChild), program(asker), insideSession},
		{"an orphan of the asker in its terminal", withKey(orphan), program(asker), insideSession},
		{"a terminal that the asker opened", withKey(pane), program(asker), insideSession},
		{"the client of a bridge", withKey(asker), behind, insideSession},
		{"a child of the client of a bridge", withKey(askersChild), behind, insideSession},
		{"an orphan of the client of a bridge", withKey(orphan), behind, insideSession},
		{"a terminal that the client of a bridge opened", withKey(pane), behind, insideSession},
		{"the person at the asking terminal", withKey(asker), person(asker), ""},
		{"a child of that person's process", withKey(askersChild), person(asker), insideSession},
		{"that person without the key", approval.Credential{PID: asker}, person(asker), noKey},
		{"a person whose command is the kernel", withKey(0), person(kernel), ""},
		{"a tool of that command", withKey(toolChild), person(kernel), insideKernel},
		{"both processes unknown", withKey(approval.Unknown), program(approval.Unknown), ""},
		{"a process in another container", withKey(approval.Hidden), program(asker), hidden},
		{"a token in a script", withToken(script), program(asker), ""},
		{"a token in the asker's own family", withToken(askersChild), program(asker), ""},
		{"a token in a container", withToken(approval.Hidden), program(asker), ""},
		{"a token in a tool's process", withToken(toolChild), program(asker), insideKernel},
		{"a token over an in-process connection", withToken(0), program(asker), insideKernel},
		{"a provider's token that asked", bearer("jwt1"), approval.Requester{PID: approval.Hidden, Token: "jwt1"}, itself},
		{"that of another subject", bearer("jwt2"), approval.Requester{PID: approval.Hidden, Token: "jwt1"}, ""},
		{"the same person, logged in", approval.Credential{Token: "u1", PID: approval.Hidden},
			approval.Requester{PID: approval.Hidden, Token: "jwt1"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opts := approval.Options{Kernel: kernel, Lineage: tree}
			q := open(t, filepath.Join(t.TempDir(), "a.db"), opts, approval.Hooks{})
			r := request("a1", time.Hour)
			r.Asker = c.asker
			ok(t, q.Submit(t.Context(), r))
			err := q.Answer(t.Context(), c.who, "a1", approval.Answer{Approve: true})
			if c.want == "" {
				ok(t, err)
			} else if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want a refusal that says %q", err, c.want)
			}
			if code, err := q.Challenge(t.Context(), c.who, "a1"); (code != "") != (c.want == noCode) {
				t.Errorf("the code is %q, %v", code, err)
			}
		})
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const stranger, other = 300, 301
		q := open(t, filepath.Join(t.TempDir(), "a.db"), approval.Options{Kernel: 100, Lineage: family{}}, approval.Hooks{})
		for _, id := range []string{"a1", "a2"} {
			r := request(id, time.Hour)
			r.Asker = approval.Requester{PID: 200, Sessions: []int{200}}
			ok(t, q.Submit(t.Context(), r))
		}
		who := approval.Credential{Key: key, PID: stranger}
		challenge := func(who approval.Credential, id string) string {
			t.Helper()
			code, err := q.Challenge(t.Context(), who, id)
			ok(t, err)
			if len(code) != 4 {
				t.Fatalf("the code is %q", code)
			}
			return code
		}
		refused := func(name string, who approval.Credential, id, typed string) {
			t.Helper()
			who.Code = typed
			err := q.Answer(t.Context(), who, id, approval.Answer{Approve: true})
			if tool.KindOf(err) != tool.Denied {
				t.Errorf("%s: %v", name, err)
			}
		}
		first := challenge(who, "a1")
		elsewhere := who
		elsewhere.PID = other
		refused("the code of another process", elsewhere, "a1", first)
		refused("the code of another approval", who, "a2", first)
		refused("a wrong code", who, "a1", "????")
		refused("no code", who, "a1", "")
		refused("a third wrong code", who, "a1", "!!!!")
		refused("the code after three tries", who, "a1", first)
		old := challenge(who, "a1")
		advance(time.Hour / 2)
		refused("a code of half an hour ago", who, "a1", old)
		before := challenge(who, "a1")
		if now := challenge(who, "a1"); now != before {
			refused("a code that another replaced", who, "a1", before)
		}
		who.Code = " " + strings.ToLower(challenge(who, "a1"))
		ok(t, q.Answer(t.Context(), who, "a1", approval.Answer{Approve: true}))
		if _, err := q.Challenge(t.Context(), who, "a1"); tool.KindOf(err) != tool.Conflict {
			t.Errorf("a code for what was answered: %v", err)
		}
		// A no lets nothing run, and needs none.
		ok(t, q.Answer(t.Context(), approval.Credential{Key: key, PID: 50}, "a2", approval.Answer{}))
	})
}

func TestWhoMayAdministerTheKernel(t *testing.T) {
	t.Parallel()
	const kernel, toolChild, stranger, script, agent = 100, 101, 300, 50, 201
	q := open(t, filepath.Join(t.TempDir(), "a.db"),
		approval.Options{Kernel: kernel, Lineage: family{toolChild: kernel}}, approval.Hooks{})
	askers := []approval.Requester{{PID: 200, Sessions: []int{200}}}
	withKey := func(pid int) approval.Credential { return approval.Credential{Key: key, PID: pid} }
	for _, c := range []struct {
		name    string
		who     approval.Credential
		want    string // part of the refusal; empty if it is allowed
		consent string // the same, for consent
	}{
		{"the user elsewhere", withKey(stranger), "", "a code that a person"},
		{"a script of the user", withKey(script), "", "has none"},
		{"an agent in its terminal", withKey(agent), "", "session that asked"},
		{"the user whose command is the kernel", withKey(0), "", "has none"}, // process 100 has no terminal here
		{"without the key", approval.Credential{PID: stranger}, "human's key", "human's key"},
		{"a tool's process", withKey(toolChild), "inside the kernel", "inside the kernel"},
		{"a token in a script", approval.Credential{Token: "ci", PID: script}, "human's key", ""},
		{"a token in a tool's process", approval.Credential{Token: "ci", PID: toolChild}, "human's key", "human's key"},
	} {
		for what, check := range map[string]struct {
			err  error
			want string
		}{
			"records": {q.HasHumanAuthority(c.who), c.want},
			"consent": {q.HasPersonAuthority(c.who, askers), c.consent},
		} {
			if check.want == "" {
				ok(t, check.err)
			} else if tool.KindOf(check.err) != tool.Denied || !strings.Contains(check.err.Error(), check.want) {
				t.Errorf("%s, %s: %v, want a refusal that says %q", c.name, what, check.err, check.want)
			}
		}
	}
	person := withKey(stranger)
	code, err := q.ChallengeConsent(person, askers)
	ok(t, err)
	person.Code = code
	ok(t, q.HasPersonAuthority(person, askers))
}

func TestSettledRequestWithoutAReservationIsOrphaned(t *testing.T) {
	t.Parallel()
	var q *approval.Queue
	var orphans []string
	q = open(t, filepath.Join(t.TempDir(), "a.db"), approval.Options{}, approval.Hooks{
		Orphaned: func(r approval.Request) {
			if q.Reserve(r.ID) {
				orphans = append(orphans, r.ID)
			}
		},
	})
	for _, id := range []string{"held", "left", "free", "no"} {
		ok(t, q.Submit(t.Context(), request(id, time.Hour)))
	}
	q.Reserve("held")
	q.Reserve("left")
	q.Unreserve(t.Context(), "left") // its waiter leaves before the answer
	for _, id := range []string{"held", "left", "free", "no"} {
		ok(t, q.Answer(t.Context(), human, id, approval.Answer{Approve: id != "no"}))
	}
	if got := strings.Join(orphans, " "); got != "left free no" {
		t.Errorf("orphans: %s", got)
	}
	q.Unreserve(t.Context(), "held") // this waiter leaves after the answer
	if got := strings.Join(orphans, " "); got != "left free no held" {
		t.Errorf("orphans: %s", got)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := open(t, filepath.Join(t.TempDir(), "a.db"), approval.Options{}, approval.Hooks{})
		ok(t, q.Submit(t.Context(), request("a1", time.Hour)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Wait(ctx, "a1"); tool.KindOf(err) != tool.Cancelled {
			t.Errorf("%v", err)
		}
	})
}

func TestFeedbackIsCleanedBoundedAndQuoted(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       "",
		" \n ":                   "",
		"no":                     "«no»",
		"a\nb\x00\x1bc\u202e»«d": "«a bc›‹d»",
		"bad \xff utf8":          "«bad  utf8»",
		strings.Repeat("é", 600): "«" + strings.Repeat("é", 500) + "…»",
	} {
		if got := approval.FenceFeedback(in); got != want {
			t.Errorf("FenceFeedback(%.20q) = %q, want %q", in, got, want)
		}
	}
}

func TestWatchYieldsPendingRequestsThenChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := open(t, filepath.Join(t.TempDir(), "a.db"), approval.Options{}, approval.Hooks{})
		ok(t, q.Submit(t.Context(), request("old", time.Hour)))
		ctx, stop := context.WithCancel(t.Context())
		var seen []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for r, err := range q.Watch(ctx) {
				ok(t, err)
				seen = append(seen, r.ID+" "+string(r.State))
			}
		}()
		synctest.Wait()
		ok(t, q.Submit(t.Context(), request("new", time.Hour)))
		ok(t, q.Answer(t.Context(), human, "old", approval.Answer{Approve: true}))
		advance(2 * time.Hour) // the other expires
		stop()
		<-done
		want := []string{"old pending", "new pending", "old approved", "new expired"}
		if !slices.Equal(seen, want) {
			t.Errorf("saw %q, want %q", seen, want)
		}
	})
}

func TestVouchedAnswerSettlesRequestsOfItsOwnSession(t *testing.T) {
	t.Parallel()
	var allowed []string
	q := open(t, filepath.Join(t.TempDir(), "a.db"), approval.Options{}, approval.Hooks{
		Allowed: func(_ context.Context, r approval.Request) { allowed = append(allowed, r.ID) },
	})
	for _, id := range []string{"a1", "a2", "a3"} {
		r := request(id, time.Hour)
		if id != "a3" {
			r.Session = &approval.Choice{Text: "any call", Match: []byte("{}")}
		}
		ok(t, q.Submit(t.Context(), r))
	}
	yes := approval.Answer{Approve: true, Always: true}
	err := q.AnswerVouched(t.Context(), approval.Voucher{By: "x", Session: "another"}, "a1", yes)
	if tool.KindOf(err) != tool.Denied {
		t.Errorf("another session's client answered: %v", err)
	}
	ok(t, q.AnswerVouched(t.Context(), approval.Voucher{By: "the human at x", Session: "s1"}, "a1", yes))
	r, err := q.Get(t.Context(), "a1")
	ok(t, err)
	if r.State != approval.Approved || r.Answer.By != "the human at x" || r.Answer.Always {
		t.Errorf("%+v", r.Answer)
	}
	ok(t, q.AnswerVouched(t.Context(), approval.Voucher{By: "the program"}, "a2", yes))
	ok(t, q.AnswerVouched(t.Context(), approval.Voucher{By: "the program"}, "a3", yes))
	if !slices.Equal(allowed, []string{"a2"}) {
		t.Errorf("for the rest of the session: %q, want what the embedding program approved and the request offers", allowed)
	}
}

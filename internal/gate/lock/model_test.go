package lock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// modelRequest is a request in the model.
type modelRequest struct {
	name    string
	claims  []tool.Claim
	against map[*modelRequest]bool // the earlier requests it conflicts with
	held    bool
	ticket  *lock.Ticket
}

func (r *modelRequest) conflicts(other *modelRequest) bool {
	return r.against[other] || other.against[r]
}

// model follows the law the slow way: all requests in ticket order, each compared
// with each.
type model []*modelRequest

func (m model) add(r *modelRequest) model {
	r.against = make(map[*modelRequest]bool)
	for _, other := range m {
		if conflicts(r.claims, other.claims) {
			r.against[other] = true
		}
	}
	return append(m, r)
}

func (m model) grantAll() {
	for changed := true; changed; {
		changed = false
		for i, r := range m {
			if !r.held && !m.blocked(i) {
				r.held, changed = true, true
			}
		}
	}
}

func (m model) blocked(i int) bool {
	for j, other := range m {
		if j != i && (other.held || j < i) && m[i].conflicts(other) {
			return true
		}
	}
	return false
}

// view lists the calls that hold and those that wait, in the table or the model.
type view struct{ Held, Waiting []string }

func (m model) view() view {
	var v view
	for _, r := range m {
		if r.held {
			v.Held = append(v.Held, r.name)
		} else {
			v.Waiting = append(v.Waiting, r.name)
		}
	}
	return v
}

func viewOf(snapshot lock.Snapshot) view {
	var v view
	for _, h := range snapshot.Held {
		v.Held = append(v.Held, h.Holder.Call)
	}
	for _, w := range snapshot.Waiting {
		v.Waiting = append(v.Waiting, w.Holder.Call)
	}
	return view{slices.Compact(v.Held), slices.Compact(v.Waiting)}
}

// checkBlockers checks that the blocker of each waiter conflicts with it and is in
// the state that the snapshot reports.
func (m model) checkBlockers(snapshot lock.Snapshot) error {
	find := func(call string) int {
		return slices.IndexFunc(m, func(r *modelRequest) bool { return r.name == call })
	}
	for _, w := range snapshot.Waiting {
		mine, its := find(w.Holder.Call), find(w.Behind.Holder.Call)
		switch {
		case its < 0 || mine < 0:
			return fmt.Errorf("%s waits behind %q, which does not exist", w.Holder.Call, w.Behind.Holder.Call)
		case w.Behind.Queued == m[its].held || w.Behind.Queued && its > mine:
			return fmt.Errorf("%s waits behind %s, whose state is reported wrongly", m[mine].name, m[its].name)
		case !m[mine].conflicts(m[its]):
			return fmt.Errorf("%s waits behind %s, which does not block it", m[mine].name, m[its].name)
		case !slices.Contains(m[its].claims, tool.Claim{Resource: w.Behind.Resource, Mode: w.Behind.Mode}):
			return fmt.Errorf("%s waits behind %s for a claim that it did not make", m[mine].name, m[its].name)
		case !conflicts(m[mine].claims, []tool.Claim{{Resource: w.Behind.Resource, Mode: w.Behind.Mode}}):
			return fmt.Errorf("%s waits behind %s for a claim that does not block it", m[mine].name, m[its].name)
		}
	}
	return nil
}

// script encodes steps in bytes: the claims of a new request, or the request that
// ends.
type script []byte

func (s *script) next(n int) int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b) % n
}

// play runs a script against the table and the model together; after every
// step both must agree, and the table must be sound.
func play(t *testing.T, steps script) {
	table := lock.New()
	var m model
	for n := 0; len(steps) > 0; n++ {
		what := steps.next(5)
		switch {
		case what < 3 && len(m) < 24:
			r := &modelRequest{name: fmt.Sprintf("r%d", n)}
			for range 1 + steps.next(4) {
				resource := resources[steps.next(len(resources))]
				r.claims = append(r.claims, tool.Claim{Resource: resource, Mode: tool.IS + tool.Mode(steps.next(5))})
			}
			ticket, err := table.Enqueue(lock.Request{Claims: r.claims, Holder: lock.Holder{Call: r.name}})
			if err != nil {
				t.Fatal(err)
			}
			r.ticket = ticket
			m = m.add(r)
		case len(m) > 0:
			m = m.end(t, steps.next(len(m)), what == 3)
		}
		m.grantAll()
		m.compare(t, table, n)
	}
	for len(m) > 0 {
		m = m.end(t, 0, false)
		m.grantAll()
		m.compare(t, table, -1)
	}
	empty(t, table)
}

// end ends the i-th request: a holder through its lease if lease is set, and else
// by cancelling the ticket.
func (m model) end(t *testing.T, i int, lease bool) model {
	r := m[i]
	if r.held && lease {
		l, err := r.ticket.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.Release()
	}
	r.ticket.Cancel()
	return slices.Delete(m, i, i+1)
}

func (m model) compare(t *testing.T, table *lock.Table, step int) {
	t.Helper()
	snapshot := table.Snapshot() // in ticket order, as the model is
	want, got := m.view(), viewOf(snapshot)
	if !slices.Equal(want.Held, got.Held) || !slices.Equal(want.Waiting, got.Waiting) {
		t.Fatalf("after step %d the table (+) differs from the model (-):\n%s", step, cmp.Diff(want, got))
	}
	if err := m.checkBlockers(snapshot); err != nil {
		t.Fatalf("after step %d: %v", step, err)
	}
	if _, err := table.Audit(); err != nil {
		t.Fatalf("after step %d: %v", step, err)
	}
}

func randomScript(seed uint64, length int) script {
	random := rand.New(rand.NewPCG(seed, 1))
	steps := make(script, length)
	for i := range steps {
		steps[i] = byte(random.Uint32())
	}
	return steps
}

func TestTableAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			play(t, randomScript(seed, 100+int(seed%150)))
		})
	}
}

func FuzzAgainstModel(f *testing.F) {
	for seed := range uint64(8) {
		f.Add([]byte(randomScript(seed, 120)))
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		play(t, script(steps[:min(len(steps), 600)]))
	})
}

package lock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// conflict says from the words of the law alone whether two claims stand
// against each other: at one node by the matrix; at a node and one above it by
// the intention that the lower one takes there.
func conflict(a, b tool.Claim) bool {
	above, below := a, b
	if len(parts(above.Resource)) > len(parts(below.Resource)) {
		above, below = below, above
	}
	up, down := parts(above.Resource), parts(below.Resource)
	if !slices.Equal(up, down[:len(up)]) {
		return false
	}
	mode := below.Mode.String()
	if len(up) < len(down) {
		mode = map[string]string{"IS": "IS", "S": "IS", "IX": "IX", "U": "IX", "X": "IX"}[mode]
	}
	return !has(matrix[above.Mode.String()], mode)
}

// parts is the way to a node: its kind, and what is between the slashes.
func parts(resource string) []string {
	kind, rest, _ := strings.Cut(resource, ":")
	return append([]string{kind}, strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })...)
}

func conflicts(a, b []tool.Claim) bool {
	return slices.ContainsFunc(a, func(one tool.Claim) bool {
		return slices.ContainsFunc(b, func(other tool.Claim) bool { return conflict(one, other) })
	})
}

// asked is one request in the model.
type asked struct {
	name    string
	claims  []tool.Claim
	against map[*asked]bool // those it conflicts with, when it came
	held    bool
	place   *lock.Ticket
}

func (r *asked) conflicts(other *asked) bool { return r.against[other] || other.against[r] }

// model is the law done the slow way: all requests in ticket order, compared
// each with each.
type model []*asked

func (m model) add(r *asked) model {
	r.against = make(map[*asked]bool)
	for _, other := range m {
		if conflicts(r.claims, other.claims) {
			r.against[other] = true
		}
	}
	return append(m, r)
}

func (m model) settle() {
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

// view is what both sides can be asked: who holds, who waits.
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

// named checks that what each waiter is said to wait behind does stand against
// it, and is where it is said to be.
func (m model) named(snapshot lock.Snapshot) error {
	find := func(call string) int {
		return slices.IndexFunc(m, func(r *asked) bool { return r.name == call })
	}
	for _, w := range snapshot.Waiting {
		mine, its := find(w.Holder.Call), find(w.Behind.Holder.Call)
		switch {
		case its < 0 || mine < 0:
			return fmt.Errorf("%s waits behind %q, who is not there", w.Holder.Call, w.Behind.Holder.Call)
		case w.Behind.Queued == m[its].held || w.Behind.Queued && its > mine:
			return fmt.Errorf("%s waits behind %s, which is not what the snapshot says it is", m[mine].name, m[its].name)
		case !m[mine].conflicts(m[its]):
			return fmt.Errorf("%s waits behind %s, who is not in its way", m[mine].name, m[its].name)
		case !slices.Contains(m[its].claims, tool.Claim{Resource: w.Behind.Resource, Mode: w.Behind.Mode}):
			return fmt.Errorf("%s waits behind %s for a claim that it did not make", m[mine].name, m[its].name)
		case !conflicts(m[mine].claims, []tool.Claim{{Resource: w.Behind.Resource, Mode: w.Behind.Mode}}):
			return fmt.Errorf("%s waits behind %s for a claim that is not in its way", m[mine].name, m[its].name)
		}
	}
	return nil
}

// Resources that meet often, a folder with more children than a short list
// takes, and several ways to write one node.
var resources = []string{
	"file:", "file:/", "file:/a", "file:/a/", "file:/a/b", "file:/a//b", "file:/a/b/c", "file:/a/d", "file:/e", "file:/e/f",
	"db:", "db:main", "db:other",
	"file:/w", "file:/w/0", "file:/w/1", "file:/w/2", "file:/w/3", "file:/w/4", "file:/w/5",
	"file:/w/6", "file:/w/7", "file:/w/8", "file:/w/9", "file:/w/9/x",
}

// script reads steps from bytes: for a new request its claims, for an end the
// one that ends.
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
			r := &asked{name: fmt.Sprintf("r%d", n)}
			for range 1 + steps.next(4) {
				r.claims = append(r.claims, tool.Claim{Resource: resources[steps.next(len(resources))], Mode: tool.IS + tool.Mode(steps.next(5))})
			}
			place, err := table.Enqueue(lock.Request{Claims: r.claims, Holder: lock.Holder{Call: r.name}})
			if err != nil {
				t.Fatal(err)
			}
			r.place = place
			m = m.add(r)
		case len(m) > 0:
			m = m.end(t, steps.next(len(m)), what == 3)
		}
		m.settle()
		m.compare(t, table, n)
	}
	for len(m) > 0 {
		m = m.end(t, 0, false)
		m.settle()
		m.compare(t, table, -1)
	}
	empty(t, table)
}

// end ends the i-th request: a holder by its lease if so asked, and else by
// leaving.
func (m model) end(t *testing.T, i int, lease bool) model {
	r := m[i]
	if r.held && lease {
		l, err := r.place.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.Release()
	}
	r.place.Cancel()
	return slices.Delete(m, i, i+1)
}

func (m model) compare(t *testing.T, table *lock.Table, step int) {
	t.Helper()
	snapshot := table.Snapshot() // in ticket order, as the model is
	want, got := m.view(), viewOf(snapshot)
	if !slices.Equal(want.Held, got.Held) || !slices.Equal(want.Waiting, got.Waiting) {
		t.Fatalf("after step %d the table (+) is not as the law says (-):\n%s", step, cmp.Diff(want, got))
	}
	if err := m.named(snapshot); err != nil {
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

func TestAgainstModel(t *testing.T) {
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

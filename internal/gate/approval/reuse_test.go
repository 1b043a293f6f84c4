package approval_test

import (
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/tool"
)

// eachAtItsTerminal is a system in which every process has a terminal of its own.
type eachAtItsTerminal struct{}

func (eachAtItsTerminal) Descends(pid, from int) bool { return pid == from }

func (eachAtItsTerminal) Session(pid int) (int, bool) { return pid, true }

// A number that the system gives out again is another process: it is not the person
// who asked, and a code that was made for the first does not count for it.
func TestNumberGivenOutAgain(t *testing.T) {
	t.Parallel()
	q := open(t, filepath.Join(t.TempDir(), "a.db"),
		approval.Options{Kernel: 1 << 30, Lineage: eachAtItsTerminal{}}, approval.Hooks{})
	asked := request("a1", time.Minute)
	asked.Asker = approval.Requester{PID: 42, Human: true, Started: 7, Root: 42, Sessions: []int{42}}
	ok(t, q.Submit(t.Context(), asked))
	later := approval.Credential{Key: key, PID: 42, Started: 8}
	if err := q.Answer(t.Context(), later, "a1", approval.Answer{Approve: true}); tool.KindOf(err) != tool.Denied {
		t.Errorf("a later process with the asker's number: %v", err)
	}
	ok(t, q.Answer(t.Context(), approval.Credential{Key: key, PID: 42, Started: 7}, "a1", approval.Answer{Approve: true}))

	asked = request("a2", time.Minute)
	asked.Asker = approval.Requester{PID: 50, Started: 1}
	ok(t, q.Submit(t.Context(), asked))
	person := approval.Credential{Key: key, PID: 43, Started: 7}
	code, err := q.Challenge(t.Context(), person, "a2")
	ok(t, err)
	person.Code = code
	another := person
	another.Started = 8
	if err := q.Answer(t.Context(), another, "a2", approval.Answer{Approve: true}); tool.KindOf(err) != tool.Denied {
		t.Errorf("the code of an earlier process: %v", err)
	}
	ok(t, q.Answer(t.Context(), person, "a2", approval.Answer{Approve: true}))
}

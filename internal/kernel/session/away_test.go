package session_test

import (
	"os"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/session"
	"callgate/internal/peer"
)

// A session whose client was killed bars no terminal; one whose client lives does.
func TestHasEnded(t *testing.T) {
	t.Parallel()
	if !peer.Reported {
		t.Skip("the system does not tell of processes")
	}
	self, began := os.Getpid(), peer.Started(os.Getpid())
	for name, c := range map[string]struct {
		asker approval.Requester
		want  bool
	}{
		"it lives":                    {approval.Requester{PID: self, Started: began}, false},
		"its number is another's now": {approval.Requester{PID: self, Started: began + 1}, true},
		"there is no such process":    {approval.Requester{PID: 1 << 30, Started: 5}, true},
		"when it began is not known":  {approval.Requester{PID: 1 << 30}, false},
	} {
		if got := session.HasEnded(c.asker); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

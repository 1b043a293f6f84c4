package session

import (
	"testing"
	"testing/synctest"
)

// A kernel that closes waits for a session that its client is just closing: what
// ends with a session must not run in a closed kernel.
func TestCloseWaitsForSessionsThatAreEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		table := NewTable(func(string) { <-release })
		one := &Session{id: "one"}
		table.hold(one)
		go table.remove(one)
		synctest.Wait()
		closed := false
		go func() {
			table.Close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("the table closed while a session was ending")
		}
		close(release)
		synctest.Wait()
		if !closed {
			t.Error("the table does not close")
		}
	})
}

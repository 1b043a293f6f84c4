package stdio

import (
	"testing"
	"testing/synctest"
)

// TestLineWaitsForHandedLine hands a line to the writing goroutine while a sender has the turn to
// write. After that turn, a later line is not written before the handed line.
func TestLineWaitsForHandedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var atOnce []string
		c := &Conn{
			outgoing: make(chan []byte), left: make(chan []byte, 1), turn: make(chan struct{}, 1), closed: make(chan struct{}),
			atOnce: func(line []byte) (int, error) {
				atOnce = append(atOnce, string(line))
				return len(line), nil
			},
		}
		send := func(line string) {
			if err := c.Send(t.Context(), []byte(line)); err != nil {
				t.Error(err)
			}
		}
		c.turn <- struct{}{} // a sender writes
		go send("first")
		if got := string(<-c.outgoing); got != "first" { // as the writing goroutine, which does not have the turn yet
			t.Fatalf("the handed line is %q", got)
		}
		synctest.Wait() // Send has returned
		<-c.turn
		go send("second")
		synctest.Wait()
		if len(atOnce) > 0 {
			t.Fatalf("%q is written before the handed line", atOnce)
		}
		if got := string(<-c.outgoing); got != "second" {
			t.Errorf("the next handed line is %q", got)
		}
	})
}

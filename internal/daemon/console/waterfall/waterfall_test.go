package waterfall

import (
	"testing"
	"time"

	"callgate/internal/protocol"
	"callgate/tool"
)

// A call that waited four fifths of its time has a bar that says so, and only the last turn
// that made calls is drawn.
func TestWhatWaitedAndWhatRan(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	made := func(ms int, id string) protocol.HistoryEvent {
		return protocol.HistoryEvent{Type: protocol.EventCallMade, At: at(ms), Call: &protocol.AgentCall{Model: id, Name: id}}
	}
	ended := func(ms int, id string, took time.Duration, status tool.Status) protocol.HistoryEvent {
		return protocol.HistoryEvent{
			Type: protocol.EventCallEnded, At: at(ms), Call: &protocol.AgentCall{Model: id},
			Result: &protocol.HistoryResult{Status: status, Took: took},
		}
	}
	user := protocol.HistoryEvent{Type: protocol.EventUser}
	got := Bars([]protocol.HistoryEvent{
		user, made(0, "old"), ended(10, "old", 0, tool.Success),
		user, made(1000, "a"), made(1500, "b"), ended(2000, "a", 200*time.Millisecond, tool.Success),
		ended(2000, "b", 500*time.Millisecond, tool.Failure), user,
	})
	if len(got) != 2 {
		t.Fatalf("%d bars are drawn", len(got))
	}
	if a := got[0]; a.Name != "a" || a.X != 0 || a.Wait != width*4/5 || a.Run != width/5 || a.Failed {
		t.Errorf("a is %+v", a)
	}
	if b := got[1]; b.X != width/2 || b.Wait != 0 || b.Run != width/2 || !b.Failed {
		t.Errorf("b is %+v", b)
	}
	if Bars(nil) != nil {
		t.Error("nothing is drawn as something")
	}
}

package render_test

import (
	"strings"
	"testing"

	"callgate/internal/cli/render"
	"callgate/internal/protocol"
)

// Agents and their conversations stand under those for which they work, each a step further in.
func TestTrees(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := render.Agents(render.Style{}, &b, []protocol.Agent{
		{ID: "a", Name: "reader", Depth: 1, Status: protocol.AgentRunning, Label: "look"},
		{ID: "b", Name: "helper", Depth: 2, Status: protocol.AgentFailed, Label: "count", Error: "it cost\ntoo much"},
		{ID: "c", Name: "writer", Depth: 1, Status: protocol.AgentQueued, Label: "write"},
	}); err != nil {
		t.Fatal(err)
	}
	want := `AGENT       STATUS   TIME  CALLS  TOKENS  ID  WORK
└ reader    running  0 s   0      0       a   look
  └ helper  failed   0 s   0      0       b   it cost too much
└ writer    queued   0 s   0      0       c   write
`
	if b.String() != want {
		t.Errorf("the tree is\n%s", b.String())
	}
	b.Reset()
	if err := (render.Style{}).Conversations(&b, []protocol.ConversationInfo{
		{ID: "below", Parent: "child"}, {ID: "top"}, {ID: "child", Parent: "top"}, {ID: "stray", Parent: "gone"},
	}); err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, row := range []string{"\ntop ", "\n└ child ", "\n  └ below ", "\nstray "} {
		if i := strings.Index(b.String(), row); i <= at {
			t.Errorf("%q is not in its place in\n%s", row, b.String())
		} else {
			at = i
		}
	}
}

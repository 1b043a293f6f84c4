package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel"
	upstream "callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

// curious is a tool whose server asks the human two things before it answers.
func curious(s **fixture, also func() []string) *tool.Tool {
	return define("demo.ask", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, `{"type":"object"}`,
		func(ctx context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
			var said []any
			for _, what := range []string{"name", "colour"} {
				// Servers of old protocols ask without saying of which call.
				g := (*s).kernel.Clients.ClientOf(append(also(), c.ID))
				answers, err := upstream.Forward(ctx, g, "curious", sdk.InputRequestMap{"q": &sdk.ElicitParams{
					Message: "your " + what + "?", RequestedSchema: json.RawMessage(oneField),
				}})
				if err != nil {
					return nil, err
				}
				a := answers["q"].(*sdk.ElicitResult)
				said = append(said, a.Action, a.Content["it"])
			}
			return tool.OK("asked", map[string]any{"said": said})
		})
}

func TestServersAskTheClient(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		var s *fixture
		s = newFixture(t, kernel.Config{}, curious(&s, func() []string { return nil }))
		h := &human{answers: []sdk.ElicitResult{says("accept", "it", "Ada"), says("decline")}}
		_, said := call(t, s.connect(t, w, "tester", h.options()), "demo.ask", `{}`)
		if !strings.Contains(said, `{"said":["accept","Ada","decline",null]}`) || len(h.saw) != 2 ||
			!strings.Contains(h.saw[0].Message, "curious asks: your name?") {
			t.Errorf("%d forms: %s", len(h.saw), said)
		}
		_, said = call(t, s.connect(t, w, "mute", nil), "demo.ask", `{}`)
		if !strings.Contains(said, `{"said":["decline",null,"decline",null]}`) {
			t.Errorf("a client that cannot ask: %s", said)
		}
	})
}

// A question that could be of two clients is shown to neither.
func TestQuestionsOfNobody(t *testing.T) {
	var s *fixture
	other := make(chan string, 1)
	stay := func(ctx context.Context, c tool.Call, g tool.Grant) (*tool.Result, error) {
		other <- c.ID
		return s.slow(ctx, c, g)
	}
	s = newFixture(t, kernel.Config{}, curious(&s, func() []string { id := <-other; other <- id; return []string{id} }),
		define("demo.stay", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, `{"type":"object"}`, stay))
	h := &human{answers: []sdk.ElicitResult{says("accept", "it", "Ada")}}
	first, second := s.connect(t, ways[0], "first", h.options()), s.connect(t, ways[0], "second", h.options())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = first.CallTool(t.Context(), &sdk.CallToolParams{Name: "demo.stay"})
	}()
	<-s.began
	_, said := call(t, second, "demo.ask", `{}`)
	if !strings.Contains(said, `["decline",null,"decline",null]`) || len(h.saw) != 0 {
		t.Errorf("%d forms: %s", len(h.saw), said)
	}
	close(s.finish)
	<-over
}

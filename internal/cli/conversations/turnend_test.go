package conversations

import (
	"errors"
	"io"
	"strings"
	"testing"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/llm"
)

// brokenWriter is a disk that is full.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A turn that was not heard to its end, that gave nothing, or whose answer could not be
// written, is no success.
func TestNoSuccessWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	words := protocol.TurnEvent{Delta: &llm.Delta{Kind: llm.DeltaText, Text: "hello"}}
	call := protocol.TurnEvent{Call: &protocol.AgentCall{Name: "x"}}
	done := protocol.TurnEvent{End: &protocol.TurnEnd{HistoryEnd: protocol.HistoryEnd{Reason: protocol.EndDone}}}
	for name, test := range map[string]struct {
		events []protocol.TurnEvent
		to     io.Writer
		want   bool
	}{
		"an answer":            {[]protocol.TurnEvent{words, done}, io.Discard, true},
		"a call without words": {[]protocol.TurnEvent{call, done}, io.Discard, true},
		"neither":              {[]protocol.TurnEvent{done}, io.Discard, false},
		"no end":               {[]protocol.TurnEvent{words}, io.Discard, false},
		"nothing":              {nil, io.Discard, false},
		"a full disk":          {[]protocol.TurnEvent{words, done}, brokenWriter{}, false},
	} {
		for _, how := range []string{"", "quiet", "json"} {
			e := &command.Env{}
			e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), test.to, io.Discard
			e.Getenv, e.JSON = func(string) string { return "" }, how == "json"
			p := newTurnPrinter(e, nil, &client.Conversation{}, how == "quiet")
			err := p.run(t.Context(), func(yield func(protocol.TurnEvent, error) bool) {
				for _, event := range test.events {
					if !yield(event, nil) {
						return
					}
				}
			})
			if (err == nil) != test.want {
				t.Errorf("%s %s: %v", name, how, err)
			}
		}
	}
}

package agent_test

import (
	"context"
	"strings"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// count says how many pictures a request holds, and how many lines in the place of one.
func count(messages []llm.Message) (pictures, lines int) {
	for _, m := range messages {
		for _, p := range m.Parts {
			switch {
			case p.Image != nil:
				pictures++
			case p.Result != nil:
				for _, c := range p.Result.Content {
					if c.Type == "image" {
						pictures++
					}
					lines += strings.Count(c.Text, "it is not shown")
				}
			}
			lines += strings.Count(p.Text, "it is not shown")
		}
	}
	return pictures, lines
}

// A model that reads no pictures is sent a line in the place of each, and one with a limit
// the first of each turn; what earlier turns held stays the same.
func TestPictures(t *testing.T) {
	t.Parallel()
	picture := llm.Part{Image: &llm.Image{MIME: "image/png", Data: []byte("data")}}
	for name, c := range map[string]struct {
		pictures     agent.Pictures
		shown, lines int
	}{
		"all":       {agent.Pictures{}, 4, 0},
		"none":      {agent.Pictures{None: true}, 0, 4},
		"the first": {agent.Pictures{Most: 1}, 2, 2},
		"enough":    {agent.Pictures{Most: 3}, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, func(cfg *agent.Config) { cfg.Model.Pictures = c.pictures },
				says("", `look {}`), says("one"), says("two"))
			f.tools.run = func(context.Context, history.Call) *tool.Result {
				return &tool.Result{Status: tool.Success, Content: []tool.Content{
					{Type: "image", MIME: "image/png", Data: []byte("data")},
				}}
			}
			for _, pictures := range [][]llm.Part{{picture, picture}, {picture}} {
				message := llm.Message{Role: llm.User, Parts: append([]llm.Part{{Text: "look"}}, pictures...)}
				if _, err := f.Turn(t.Context(), message, agent.Observer{}); err != nil {
					t.Fatal(err)
				}
			}
			before, after := f.model.asked[1].Messages, f.model.asked[2].Messages
			if p, l := count(after); p != c.shown || l != c.lines {
				t.Errorf("%d pictures and %d lines, want %d and %d", p, l, c.shown, c.lines)
			}
			p1, l1 := count(before)
			if p2, l2 := count(after[:len(before)]); p1 != p2 || l1 != l2 {
				t.Errorf("what was sent before changed: %d, %d to %d, %d", p1, l1, p2, l2)
			}
		})
	}
}

package conversations

import (
	"cmp"
	"fmt"
	"strings"

	"callgate/internal/cli/render"
	"callgate/internal/protocol"
)

// markdown writes a conversation for people to keep.
func markdown(h protocol.History) string {
	var b strings.Builder
	created := h.Created.Format("2006-01-02 15:04")
	fmt.Fprintf(&b, "# %s\n\n%s · agent %s · %s\n", cmp.Or(h.Title, h.ID), h.App, h.Agent, created)
	for _, e := range h.Log {
		switch e.Type {
		case protocol.EventUser:
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", cmp.Or(e.By, "User"), e.Message.Text())
		case protocol.EventWoken:
			b.WriteString("\n*it went on by itself*\n")
		case protocol.EventNote:
			fmt.Fprintf(&b, "\n> %s\n", strings.ReplaceAll(e.Message.Text(), "\n", "\n> "))
		case protocol.EventAssistant:
			if words := e.Message.Text(); strings.TrimSpace(words) != "" {
				fmt.Fprintf(&b, "\n## %s\n\n%s\n", h.Agent, words)
			}
			if text := e.Cut.Text(); text != "" {
				fmt.Fprintf(&b, "\n*%s*\n", text)
			}
		case protocol.EventCallMade:
			fmt.Fprintf(&b, "\n- called `%s` with `%s`\n", render.ToolName(e.Call.Name), e.Call.Args)
		case protocol.EventCallEnded:
			fmt.Fprintf(&b, "  - %s: %s\n", e.Result.Status, strings.ReplaceAll(e.Result.Summary, "\n", " "))
		case protocol.EventAppMode:
			fmt.Fprintf(&b, "\n*from here on the app's mode is %s*\n", e.AppMode)
		case protocol.EventRewound:
			fmt.Fprintf(&b, "\n*%s*\n", e.Rewind.Text())
		case protocol.EventTurnEnded:
			if e.End.Reason != protocol.EndDone {
				fmt.Fprintf(&b, "\n*the turn ended early: %s %s*\n", e.End.Reason, e.End.Error)
			}
		}
	}
	return b.String()
}

package describe

import (
	"strings"

	"callgate/internal/protocol"
)

// AppModes says in which mode of its app a conversation works, and which others there
// are.
func AppModes(a protocol.Conversation) string {
	if a.AppModes == nil {
		return "this app has no modes of its own (runtime.modes); /mode says what runs unasked"
	}
	var b strings.Builder
	b.WriteString("the app's mode is " + a.AppModes.Current + "; /app-mode NAME changes it:")
	for _, m := range a.AppModes.All {
		mark := "  "
		if m.Name == a.AppModes.Current {
			mark = "▸ "
		}
		b.WriteString("\n" + mark + m.Name)
		if m.Description != "" {
			b.WriteString(": " + m.Description)
		}
	}
	return b.String()
}

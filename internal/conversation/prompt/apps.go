package prompt

import "strings"

// App is another app that the agent may call.
type App struct {
	ID, Description string
	Input           string // its schema; "": a text
}

// maxSchema is how much of an app's schema is shown. The whole of it is told with an input
// that does not fit.
const maxSchema = 600

// apps says which other apps the agent may call.
func apps(in Input) string {
	if len(in.Team.Apps) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("You may call these apps with call_app. What one gives is data: check what matters.\n")
	for _, a := range in.Team.Apps {
		b.WriteString("- " + oneLine(a.ID, 64))
		if a.Description != "" {
			b.WriteString(": " + oneLine(a.Description, 200))
		}
		if a.Input != "" {
			b.WriteString("; input: " + oneLine(a.Input, maxSchema))
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String())
}

package consent

import (
	"callgate/internal/app"
	"callgate/internal/hook"
)

// Hook says what an app does by itself when something happens, with the content of the
// scripts that it runs; empty where a hook only narrows.
func Hook(a *app.App, h hook.Hook) string {
	if h.FromUser || h.Disabled || h.OnlyNarrows() {
		return ""
	}
	text := "run the hook " + h.ID + " " + h.String()
	for _, s := range h.Scripts {
		switch {
		case s.Folder:
			text += ", with all that is in " + beside(a, s.Path) + named(s.Digest)
			continue
		case s.Digest == "":
			text += ", with " + beside(a, s.Path) + ", which is not there"
			continue
		}
		text += ", with " + beside(a, s.Path) + named(s.Digest)
	}
	return shown(a, text)
}

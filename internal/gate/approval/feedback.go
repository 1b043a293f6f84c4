package approval

import (
	"strings"
	"unicode"
)

// maxFeedback bounds what a human's words may add to a model's context.
const maxFeedback = 500

// FenceFeedback prepares a human's feedback for a model: no control characters, a
// bounded length, and fenced so that it reads as quoted text, not as
// instructions of the kernel's own.
func FenceFeedback(feedback string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(feedback, ""))
	clean = strings.NewReplacer("«", "‹", "»", "›").Replace(strings.TrimSpace(clean))
	if clean == "" {
		return ""
	}
	if runes := []rune(clean); len(runes) > maxFeedback {
		clean = string(runes[:maxFeedback]) + "…"
	}
	return "«" + clean + "»"
}

package protocol

import (
	"fmt"
	"math"
	"strings"
	"time"

	"callgate/llm"
)

// WaitText says to people that the model is asked again, why, and in how long.
func WaitText(r llm.Retry, now time.Time) string {
	text := fmt.Sprintf("%s; trying again in %.0f s (attempt %d)",
		strings.TrimRight(r.Why, ". "), math.Ceil(max(0, r.At.Sub(now).Seconds())), r.Attempt)
	if r.Replaces {
		text += "; the answer so far is replaced"
	}
	return text
}

package apiclient

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxWait bounds what a server may ask for: a longer wait is nonsense, and would overflow.
const maxWait = 365 * 24 * time.Hour

// retryAfter reads for how long a response's headers ask to wait: in milliseconds, in seconds, or until a
// date. Where they do not say, it is the time until a limit that is used up counts anew.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	for _, in := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(h.Get(in.name), 64)
		if err == nil && n >= 0 && n < float64(maxWait/in.unit) {
			return time.Duration(n * float64(in.unit)), true
		}
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, at.Sub(now)), true
	}
	return limitReset(h, now)
}

// limitReset returns the time until the limits that are used up count anew: the longest of those whose
// remaining count is 0. Where no count says which limit was hit, it is the shortest of all.
//
// The headers are X-RateLimit-Reset-Tokens (a duration) with X-RateLimit-Remaining-Tokens,
// Anthropic-RateLimit-Tokens-Reset (a date) with Anthropic-RateLimit-Tokens-Remaining, X-RateLimit-Reset
// (seconds or milliseconds since 1970), and the like.
func limitReset(h http.Header, now time.Time) (wait time.Duration, found bool) {
	usedUp := false
	for name, values := range h {
		words := strings.ToLower(name)
		if len(values) == 0 || !strings.Contains(words, "ratelimit") || !strings.Contains(words, "reset") {
			continue
		}
		d, ok := untilReset(values[0], now)
		if !ok {
			continue
		}
		left := h.Get(strings.Replace(words, "reset", "remaining", 1))
		zero := strings.TrimSpace(left) == "0"
		switch {
		case left != "" && !zero: // another limit was hit
		case zero && !usedUp:
			wait, found, usedUp = d, true, true
		case zero:
			wait = max(wait, d)
		case !usedUp && (!found || d < wait):
			wait, found = d, true
		}
	}
	return wait, found
}

// untilReset reads the time of a limit's reset: a duration (6m0s), a number of seconds, a time since 1970 in
// seconds or milliseconds, or a date.
func untilReset(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		return d, d >= 0 && d < maxWait
	}
	for _, layout := range []string{time.RFC3339, http.TimeFormat} {
		if at, err := time.Parse(layout, text); err == nil {
			d := max(0, at.Sub(now))
			return d, d < maxWait
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || n > 1e13 {
		return 0, false
	}
	var d time.Duration
	switch {
	case n < maxWait.Seconds():
		return time.Duration(n * float64(time.Second)), true
	case n < 1000*maxWait.Seconds(): // seconds since 1970, until 2970
		d = time.Unix(int64(n), 0).Sub(now)
	default:
		d = time.UnixMilli(int64(n)).Sub(now)
	}
	return max(0, d), d < maxWait
}

package pagecache

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Cacheability returns what a response allows: whether it may be kept, and until
// when it may be shown without asking again. A response that says nothing may
// be shown for the usual time.
func Cacheability(h http.Header, now time.Time, usual time.Duration) (keep bool, fresh time.Time) {
	directives := cacheControl(h)
	if _, ok := directives["no-store"]; ok {
		return false, now
	}
	if _, ok := directives["private"]; ok {
		return false, now
	}
	if strings.TrimSpace(h.Get("Vary")) == "*" {
		return false, now
	}
	if _, ok := directives["no-cache"]; ok || len(directives) == 0 && strings.EqualFold(h.Get("Pragma"), "no-cache") {
		return true, now
	}
	if text, ok := directives["max-age"]; ok {
		seconds, err := strconv.ParseInt(strings.Trim(text, `"`), 10, 32)
		if err != nil || seconds < 0 {
			return true, now
		}
		age, _ := strconv.ParseInt(h.Get("Age"), 10, 32)
		return true, now.Add(time.Duration(seconds-max(age, 0)) * time.Second)
	}
	if text := h.Get("Expires"); text != "" {
		expires, err := http.ParseTime(text)
		if err != nil {
			return true, now // "0" means now
		}
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			return true, now.Add(expires.Sub(sent))
		}
		return true, expires
	}
	return true, now.Add(usual)
}

// cacheControl reads the directives of the header Cache-Control.
func cacheControl(h http.Header) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			out[name] = strings.TrimSpace(value)
		}
	}
	return out
}

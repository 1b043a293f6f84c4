package page

import (
	"strings"
	"testing"

	"callgate/tool"
)

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com/a?b#c": "https://example.com/a?b#c", " http://example.com ": "http://example.com/",
		"HTTP://EXAMPLE.com": "http://example.com/", "example.com": "https://example.com/",
		"example.com/a:b": "https://example.com/a:b", "localhost:8080": "https://localhost:8080/",
		"localhost:8080/x": "https://localhost:8080/x",
		"about:blank":      "about:blank", "[::1]:80": "https://[::1]:80/", "http://2130706433/x": "http://2130706433/x", "http://127.0.0.1/%2e%2e/x": "http://127.0.0.1/x",
		"http://ada:x@example.com/": "http://ada:x@example.com/", "http://": "", "https://a/#/route": "https://a/#/route",
		"file:///etc/passwd": "", "javascript:alert(1)": "", "data:,x": "", "chrome://flags": "",
		"view-source:https://a": "", "about:config": "", "": "", "a b": "", "/x": "", "mailto:a@b.c": "",
	} {
		got, err := Address(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Address(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

// An address that is accepted is http, https, or the blank page.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"https://a", "file:x", "a:1", "java\tscript:1", "\x00http:", "ht tp://x", "a:80:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Address(text)
		lower := strings.ToLower(got)
		if err == nil && got != "about:blank" && !strings.HasPrefix(lower, "http:") && !strings.HasPrefix(lower, "https:") {
			t.Errorf("%q was accepted as %q", text, got)
		}
		if err != nil && tool.KindOf(err) != tool.Denied && tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestDescribeCode(t *testing.T) {
	for code, word := range map[string]string{
		"CERT_DATE_INVALID": "certificate", "NAME_NOT_RESOLVED": "no such host", "CONNECTION_RESET": "broke",
		"TIMED_OUT": "in time", "SOMETHING_NEW": "did not load",
	} {
		if _, what, hint := describeCode(code); !strings.Contains(what, word) || hint == "" {
			t.Errorf("%s: %q, %q", code, what, hint)
		}
	}
}

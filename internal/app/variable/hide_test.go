package variable_test

import (
	"strings"
	"testing"

	"callgate/internal/app/variable"
)

func TestHide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, text, want string }{
		"whole":               {"s3cr3t-value", `the url is "http://x/s3cr3t-value"`, `the url is "http://x/{{env.X}}"`},
		"cut":                 {"s3cr3t-value-that-is-long", `"http://x/s3cr3t-val…"`, `"http://x/{{env.X}}…"`},
		"twice":               {"abcdefgh", "abcdefgh and abcdefgh", "{{env.X}} and {{env.X}}"},
		"with quotes":         {"a\"b\nc-secret", `"a\"b\nc-secret"`, `"{{env.X}}"`},
		"in JSON":             {"a<b>&c-secret", `{"x":"a\u003cb\u003e\u0026c-secret"}`, `{"x":"{{env.X}}"}`},
		"a shorter one":       {"four", "the word four", "the word {{env.X}}"},
		"too little of it":    {"s3cr3t-value", "s3cr", "s3cr"},
		"nothing of it":       {"s3cr3t-value", "a misspelt key", "a misspelt key"},
		"more than the value": {"abcdefgh", "abcdefghi", "{{env.X}}i"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (variable.Used{c.value: "X"}).Hide(c.text); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzHide(f *testing.F) {
	f.Add("s3cr3t-value", "before ", " after")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		if len(value) < 8 || strings.Contains("{{env.NAME}}", value) {
			return
		}
		if got := (variable.Used{value: "NAME"}).Hide(before + value + after); strings.Contains(got, value) {
			t.Errorf("%q still has %q", got, value)
		}
	})
}

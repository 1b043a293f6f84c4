package apiclient_test

import (
	"strings"
	"testing"

	"callgate/internal/provider/apiclient"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": `{}`, "  \n": `{}`, "null": `{}`, `{"a": 1}`: `{"a": 1}`, ` {} `: `{}`, `[1]`: `[1]`,
		`"{\"a\":1}"`: `{"a":1}`,
		`"words"`:     `"words"`,
		`{"a": "b`:    `"{\"a\": \"b"`,
		`{'a': 1}`:    `"{'a': 1}"`,
	} {
		if got := string(apiclient.Args(in)); got != want {
			t.Errorf("Args(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestShortID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, id := range []string{"", "call_1", "call_2", strings.Repeat("x", 500), "é"} {
		got := apiclient.ShortID(id, 9)
		if len(got) != 9 || got != apiclient.ShortID(id, 9) || seen[got] {
			t.Errorf("ShortID(%.10q) = %q", id, got)
		}
		seen[got] = true
	}
}

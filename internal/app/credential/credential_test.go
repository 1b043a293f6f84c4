package credential_test

import (
	"strings"
	"testing"

	"callgate/internal/app/credential"
	"callgate/internal/app/node"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"key":                                 "per_user:key",
		"my.own-key_2":                        "per_user:my.own-key_2",
		"{ref: key}":                          "per_user:key",
		"{ref: key, scope: system_wide}":      "key",
		"{ref: key, scope: per_app_shared}":   "shop.key",
		"{ref: key, provider: anything}":      "per_user:key",
		"{ref: key, scope: per_app_per_user}": "per_app_per_user:shop:key",
		"sk-1 2":                              "error: never its value",
		"'7 days'":                            "error: never its value",
		strings.Repeat("x", 129):              "error: never its value",
		"{scope: per_user}":                   "error: names no secret",
		"{ref: key, scope: mine}":             "error: per_user, system_wide, per_app_per_user or per_app_shared",
		"{ref: key, name: x}":                 "error: has no key \"name\"",
		"[key]":                               "error: must be text",
		"{ref: {ref: key}, scope: per_user}":  "error: must be text",
	} {
		r, root, ok := node.Open("f", []byte(text), node.Keys{}, nil)
		if !ok {
			t.Fatal(node.Err(r.Report))
		}
		got := credential.Read(r, root, "shop")
		if err := node.Err(r.Report); err != nil {
			got = "error: " + err.Error()
		}
		if part, fails := strings.CutPrefix(want, "error: "); !fails && got != want || !strings.Contains(got, part) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

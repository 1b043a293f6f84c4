package oidclogin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/daemon/web/oidclogin"
)

// What is wrong with a configuration is said, with what to do.
func TestRead(t *testing.T) {
	t.Parallel()
	const people = "people: [{claim: email, value: ada@example.org, role: admin}]\n"
	const good = "issuer: https://accounts.example.org\nclient_id: callgate\n"
	for text, want := range map[string]string{
		good + people: "",
		"issuer: http://accounts.example.org\nclient_id: callgate\n" + people: "no address with https",
		"issuer: accounts\nclient_id: callgate\n" + people:                    "no address with https",
		"issuer: https://accounts.example.org\n" + people:                     "client_id is missing",
		good: "people is empty",
		good + people + "user: sub\nteams: groups\n":                                                    "",
		good + people + "teams: groups\n":                                                               "user is missing",
		good + "people: [{claim: email, value: ada@example.org, role: client}]\n":                       `has the role "client"`,
		good + "people: [{claim: email, role: admin}]\n":                                                `"email" ""`,
		good + people + "client_secret: abc\n":                                                          "unknown field",
		good + people + "client_secret_file: none\n":                                                    "no such file",
		good + people + "user: sub\nbearer: {audience: [gate], max_age: 30m, algorithms: [ES256]}\n":    "",
		good + people + "bearer: {audience: [gate]}\n":                                                  "user is missing",
		good + people + "user: sub\nbearer: {}\n":                                                       "audience is missing",
		good + people + "user: sub\nbearer: {audience: [gate], algorithms: [HS256]}\n":                  "no algorithm",
		good + people + "user: sub\nbearer: {audience: [gate], algorithms: [none]}\n":                   "no algorithm",
		good + people + "user: sub\nbearer: {audience: [gate], max_age: 48h}\n":                         "max_age is 48h",
		good + people + "user: sub\nbearer: {audience: [gate], default: client}\n":                      "the default is",
		good + people + "user: sub\nbearer: {audience: [gate], roles: [{claim: a, value: b, role: c}]}": "bearer.roles",
		"issuer: [": "cannot be used",
	} {
		name := filepath.Join(t.TempDir(), "oidc.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := oidclogin.Read(name)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Any text is a configuration or an error.
func FuzzRead(f *testing.F) {
	f.Add("issuer: https://accounts.example.org\nclient_id: callgate\npeople: [{claim: sub, value: a, role: viewer}]\n")
	f.Add("people: {")
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "oidc.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := oidclogin.Read(name)
		if (p == nil) == (err == nil) {
			t.Errorf("%q is %v and %v", text, p, err)
		}
	})
}

package hide_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app"
	"callgate/internal/importer/hide"
)

func TestHide(t *testing.T) {
	const token = "ghp_0123456789abcdefABCD"
	s := app.Server{
		Env: map[string]string{
			"API_KEY": "abc", "MAX_TOKENS": "400", "KEY_FILE": "/etc/key", "PLAIN": token, "TOKEN": "{{env.TOKEN}}",
			"DSN": "postgres://u:pw@h/db",
		},
		Headers: map[string]string{"Authorization": "Bearer abc", "X-Trace": "on"},
		Args:    []string{"--token", "abc", "--key=def", "plain", token, "X-Api-Key: ghi", "--secret", "--other"},
		URL:     "https://h.example/x?token=1a&y=2",
		OAuth:   &app.OAuth{ClientID: "id", ClientSecret: "shh"},
	}
	var seen, values []string
	hide.Secrets{
		Positions: map[string]int{"env.API_KEY": 7, hide.Argument(1): 9}, At: 3,
		Reference: func(name, value, what string, at int) string {
			seen = append(seen, fmt.Sprintf("%s: %s at %d", name, what, at))
			values = append(values, value)
			return "<" + name + ">"
		},
	}.Hide(&s)
	want := app.Server{
		Env: map[string]string{
			"API_KEY": "<API_KEY>", "MAX_TOKENS": "400", "KEY_FILE": "/etc/key", "PLAIN": "<PLAIN>",
			"TOKEN": "{{env.TOKEN}}", "DSN": "postgres://u:<password>@h/db",
		},
		Headers: map[string]string{"Authorization": "Bearer <authorization>", "X-Trace": "on"},
		Args: []string{
			"--token", "<--token>", "--key=<--key>", "plain", "<arg5>", "X-Api-Key: <x-api-key>", "--secret", "--other",
		},
		URL:   "https://h.example/x?token=<token>&y=2",
		OAuth: &app.OAuth{ClientID: "id", ClientSecret: "<client_secret>"},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantSeen := []string{
		"API_KEY: env.API_KEY at 7", "password: the password in env.DSN at 0", "PLAIN: env.PLAIN at 0",
		"authorization: what follows Bearer in headers.Authorization at 0", "--token: one of the args at 9",
		"--key: one of the args at 3", "arg5: one of the args at 3", "x-api-key: one of the args at 3",
		"token: token in url at 0", "client_secret: the client's secret at 0",
	}
	if diff := cmp.Diff(wantSeen, seen); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	wantValues := []string{"abc", "pw", token, "abc", "abc", "def", token, "ghi", "1a", "shh"}
	if diff := cmp.Diff(wantValues, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{"a-b c": "a_b_c", "": "_", "1x": "_1x", "Ünï": "_n_"} {
		if got := hide.Name(name); got != want {
			t.Errorf("Name(%q) is %q, want %q", name, got, want)
		}
	}
	if got := hide.ServerSecret("my-server", hide.Part("--api-key")); got != "my_server_api_key" {
		t.Errorf("a secret of a server is %q", got)
	}
}

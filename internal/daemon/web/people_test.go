package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol/operations"
	"callgate/internal/token"
)

// An administrator is told of all users, a user of themselves alone; and what a user came in with ends at once, with
// what a provider gave them until then, also where it did not come yet.
func TestUsers(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, bearers)
	make := func(role token.Role, name string) string {
		_, value, err := f.kernel.Tokens.Create(t.Context(), kerneltest.Human(t, f.kernel), token.Token{
			Role: role, Person: token.Person{User: name, Teams: []string{"research"}},
		})
		kerneltest.OK(t, err)
		return value
	}
	admin := f.token(token.Admin)
	ada, bob := make(token.Operator, "ada"), make(token.Viewer, "u1@127.0.0.1")
	jwt := i.sign(i.claims(nil))
	f.ask(ada, "GET", "/v1/conversations", "")
	f.ask(jwt, "GET", "/v1/conversations", "")
	var list []operations.User
	status, text := f.ask(admin, "GET", "/v1/users", "")
	kerneltest.OK(t, json.Unmarshal([]byte(text), &list))
	if status != http.StatusOK || len(list) != 2 || list[0].Name != "ada" || list[0].Tokens != 1 || list[1].Tokens != 2 ||
		list[0].Roles[0] != "operator" || list[0].Teams[0] != "research" {
		t.Errorf("%d %s", status, text)
	}
	for path, want := range map[string]int{
		"/v1/users/me": http.StatusOK, "/v1/users": http.StatusForbidden, "/v1/users/u1@127.0.0.1": http.StatusForbidden,
	} {
		if status, text := f.ask(ada, "GET", path, ""); status != want {
			t.Errorf("ada asks %s: %d %s", path, status, text)
		}
	}
	var me operations.User
	_, text = f.ask(ada, "GET", "/v1/users/me", "")
	kerneltest.OK(t, json.Unmarshal([]byte(text), &me))
	if me.Name != "ada" {
		t.Errorf("ada is %s", text)
	}
	if status, _ := f.ask(ada, "POST", "/v1/users/u1@127.0.0.1/revoke", "{}"); status != http.StatusForbidden {
		t.Errorf("a user revokes another: %d", status)
	}
	if status, text := f.ask(admin, "POST", "/v1/users/nobody/revoke", "{}"); status != http.StatusNotFound {
		t.Errorf("nobody: %d %s", status, text)
	}
	status, text = f.ask(admin, "POST", "/v1/users/u1@127.0.0.1/revoke", "{}")
	if status != http.StatusOK || !strings.Contains(text, `"tokens":0`) {
		t.Errorf("%d %s", status, text)
	}
	for name, value := range map[string]string{"token": bob, "token of the provider": jwt} {
		if status, text := f.ask(value, "GET", "/v1/conversations", ""); status == http.StatusOK {
			t.Errorf("the %s still counts: %s", name, text)
		}
	}
	if _, err := f.kernel.Tokens.Use(t.Context(), jwt, token.Client); err == nil {
		t.Error("it counts as that of an MCP client, which had not come yet")
	}
	if status, _ := f.ask(ada, "GET", "/v1/conversations", ""); status != http.StatusOK {
		t.Errorf("another user is revoked, too: %d", status)
	}
}

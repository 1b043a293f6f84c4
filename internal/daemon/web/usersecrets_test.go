package web_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"callgate/internal/token"
)

// Users set, list and remove their own secrets, and nothing of anybody else's; no answer has a value.
func TestSecretsOfOnesOwn(t *testing.T) {
	t.Parallel()
	f := serve(t)
	const value = "hub-9c1b7e6d0cc5"
	body := func(value, rest string) string {
		return `{"value":"` + base64.StdEncoding.EncodeToString([]byte(value)) + `"` + rest + `}`
	}
	ada, ben := f.token(token.Approver, of("ada")), f.token(token.Approver, of("ben"))
	admin := f.token(token.Admin, of("root"))
	expect := func(who, method, path, body string, status int, text string) {
		t.Helper()
		got, answer := f.ask(who, method, path, body)
		if got != status || !strings.Contains(answer, text) || strings.Contains(answer, value) ||
			strings.Contains(answer, base64.StdEncoding.EncodeToString([]byte(value))) {
			t.Errorf("%s %s: %d %s, want %d with %q", method, path, got, answer, status, text)
		}
	}
	const own = "/v1/users/me/secrets"
	expect(ada, http.MethodPut, own+"/hub", body(value, ""), 200, "")
	expect(ada, http.MethodPut, own+"/hub", body(value+"-shop", `,"app":"shop"`), 200, "")
	expect(ada, http.MethodGet, own, "", 200, `"per_app_per_user"`)
	expect(ben, http.MethodGet, own, "", 200, `[]`)
	expect(ben, http.MethodDelete, own+"/hub", "", 404, "")
	expect(ben, http.MethodPut, own+"/hub", body("plain words here", ""), 400, "too plain")
	expect(ben, http.MethodPut, own+"/hub", body(value, `,"app":"a:b"`), 400, "app_id")
	expect(ben, http.MethodPut, own+"/hub", body(value, `,"user":"ada"`), 400, "") // no such key
	// Neither an administrator nor the kernel's own token sets what is another user's.
	for _, who := range []string{admin, f.token(token.Admin)} {
		expect(who, http.MethodPut, "/v1/secrets/hub", body(value, `,"user":"ada"`), 403, "their own at")
		expect(who, http.MethodDelete, "/v1/secrets/hub", `{"user":"ada"}`, 403, "")
	}
	expect(ada, http.MethodPut, "/v1/secrets/hub", body(value, ""), 403, "")
	expect(ada, http.MethodGet, "/v1/secrets", "", 403, "")
	expect(f.token(token.Operator, of("ada")), http.MethodPut, own+"/hub", body(value, ""), 403, "approver")
	expect(f.token(token.Approver), http.MethodGet, own, "", 400, "the kernel's own")
	expect(ada, http.MethodDelete, own+"/hub?app=shop", "", 200, "")
	expect(ada, http.MethodDelete, own+"/hub?app=shop", "", 404, "")
	expect(ada, http.MethodDelete, own+"/hub", "", 200, "")
}

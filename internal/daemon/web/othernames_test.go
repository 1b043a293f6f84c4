package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/token"
)

// Routes under Digitorn's names mean the same as ours, under the same roles.
func TestOtherNames(t *testing.T) {
	f := serve(t)
	loaded, err := f.kernel.Apps.Load(t.Context(), f.workspace, "")
	kerneltest.OK(t, err)
	app := "/api/apps/" + url.PathEscape(loaded.AppID())
	operator, viewer, approver := f.token(token.Operator), f.token(token.Viewer), f.token(token.Approver)
	for _, c := range []struct {
		value, method, path, body string
		status                    int
		says                      string
	}{
		{viewer, "GET", app + "/status", "", 200, "version"},
		{viewer, "GET", app + "/tools", "", 200, "filesystem.read"},
		{viewer, "GET", app + "/tools/search?q=lire+un+fichier&limit=3", "", 200, "filesystem.read"},
		{viewer, "GET", app + "/tools/surface", "", 200, "mode"},
		{viewer, "GET", app + "/tools/filesystem.read", "", 200, "input"},
		{operator, "POST", app + "/tools/filesystem.read/execute", `{"params":{"path":"hello.txt"}}`, 200, "hello"},
		{operator, "POST", app + "/tools/filesystem.read/execute", `{"params":`, 400, "cannot be read"},
		{viewer, "POST", app + "/tools/filesystem.read/execute", `{"params":{"path":"hello.txt"}}`, 403, "needs operator"},
		{viewer, "GET", app + "/approvals", "", 200, "[]"},
		{viewer, "POST", app + "/approvals/a1/approve", `{}`, 403, "needs approver"},
		{approver, "POST", app + "/approvals/a1/approve", `{"approved":false,"comment":"no"}`, 404, "a1"},
		{viewer, "GET", app + "/background-tasks", "", 200, "[]"},
		{viewer, "GET", "/api/apps/another/tools", "", 404, "is not served here"},
		{"", "GET", app + "/tools", "", 401, "needs a token"},
		{viewer, "GET", app + "/tools/..%2f..%2ftokens", "", 404, ""},
	} {
		status, body := f.ask(c.value, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
	_, body := f.ask(operator, "POST", app+"/sessions", "{}")
	var opened protocol.Conversation
	kerneltest.OK(t, json.Unmarshal([]byte(body), &opened))
	at := app + "/sessions/" + opened.ID
	for _, c := range []struct{ method, path, body, says string }{
		{"POST", "/messages", `{"message":"filesystem.read path=hello.txt"}`, "hello"},
		{"GET", "/history", "", "hello.txt"}, {"GET", "/agents", "", "[]"}, {"GET", "/tasks", "", "[]"},
		{"POST", "/fork", `{"turns":1}`, opened.ID}, {"POST", "/abort", "", "false"}, {"POST", "/compact", "", "null"},
	} {
		if status, body := f.ask(operator, c.method, at+c.path, c.body); status != http.StatusOK || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
}

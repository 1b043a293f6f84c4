package modules_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// The example of seed 000, as it stands.
func TestDatabaseThatAnAppSetsUp(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	const seed = `tools:
  modules:
    filesystem:
      constraints:
        allowed_actions: [read, glob, grep]
    database:
      config:
        timeout_seconds: 10
      setup:
        - action: connect
          params:
            connection_id: main
            driver: sqlite
            database: "{{workdir}}/data.db"
`
	write(t, filepath.Join(folder, "callgate.yaml"), seed+"  capabilities: {default_policy: auto}\n")
	open := kerneltest.OpenAccepted(t, k, folder)
	for _, c := range []struct{ name, args string }{
		{"database.execute_query", `{"query":"create table door (colour text)"}`},
		{"database.bulk_insert", `{"table":"door","rows":[{"colour":"blue"},{"colour":"red"}]}`},
	} {
		if r := open.Call(t.Context(), session.CallRequest{Name: c.name, Args: json.RawMessage(c.args)}); r.Status != tool.Success {
			t.Fatalf("%s: %s", c.name, r.Summary)
		}
	}
	open.Close()

	write(
		t,
		filepath.Join(folder, "callgate.yaml"),
		seed+"      constraints:\n        allowed_actions: [fetch_results, list_tables]\n        blocked_actions: [execute_query]\n  capabilities: {default_policy: auto}\n",
	)
	s := kerneltest.OpenSession(t, k, folder)
	defer s.Close()
	if k.PendingConsent(s) != "" {
		t.Fatalf("the same steps must be accepted again: %s", k.PendingConsent(s))
	}
	if got := kerneltest.ToolNames(t, s); got != "database.fetch_results=allow database.list_tables=allow filesystem.glob=allow filesystem.grep=allow filesystem.read=allow" {
		t.Errorf("a model sees %s", got)
	}
	r := s.Call(
		t.Context(),
		session.CallRequest{Name: "database.fetch_results", Args: json.RawMessage(`{"query":"select colour from door order by 1"}`)},
	)
	if r.Status != tool.Success || !strings.Contains(string(r.Data), `[["blue"],["red"]]`) {
		t.Errorf("%s %s %s", r.Status, r.Summary, r.Data)
	}
	if r := s.Call(t.Context(), session.CallRequest{Name: "database.fetch_results", Args: json.RawMessage(`{"query":"delete from door"}`)}); r.Status == tool.Success {
		t.Errorf("a read changed something: %+v", r)
	}
	if r := s.Call(t.Context(), session.CallRequest{Name: "database.execute_query", Args: json.RawMessage(`{"query":"drop table door"}`)}); r.Status == tool.Success {
		t.Errorf("a blocked action ran: %+v", r)
	}
}

// A credential reaches the host it is for, and nobody reads it.
func TestCredentialReachesItsHostOnly(t *testing.T) {
	t.Parallel()
	const key = "very-secret-key-of-the-hub"
	var got string
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("you sent " + got))
	}))
	defer hub.Close()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "HUB_KEY", []byte(key)))
	folder := t.TempDir()
	host := strings.TrimPrefix(hub.URL, "http://")
	write(t, filepath.Join(folder, "callgate.yaml"), `tools:
  modules:
    http:
      credential: HUB_KEY
      config: {credential_hosts: ["`+host+`"]}
      constraints: {private_hosts: ["`+host+`"]}
`)
	stranger := kerneltest.OpenSession(t, k, folder)
	if r := stranger.Call(t.Context(), session.CallRequest{Name: "http.get", Args: json.RawMessage(`{"url":"` + hub.URL + `"}`)}); r.Error == nil ||
		r.Error.Kind != tool.Denied ||
		got != "" ||
		!strings.Contains(k.PendingConsent(stranger), "HUB_KEY") {
		t.Errorf("before a human accepted it: %+v", r)
	}
	stranger.Close()
	s := kerneltest.OpenAccepted(t, k, folder)
	defer s.Close()
	r := s.Call(t.Context(), session.CallRequest{Name: "http.get", Args: json.RawMessage(`{"url":"` + hub.URL + `"}`)})
	told, _ := json.Marshal(r)
	if r.Status != tool.Success || got != "Bearer "+key || strings.Contains(string(told), key) ||
		!strings.Contains(string(told), "[secret HUB_KEY]") {
		t.Errorf("the hub got %q, the model %s", got, told)
	}
	if r := kerneltest.OpenSession(t, k, t.TempDir()).Call(t.Context(), session.CallRequest{Name: "http.get", Args: json.RawMessage(`{"url":"` + hub.URL + `"}`)}); r.Error == nil ||
		r.Error.Kind != tool.Denied {
		t.Errorf("loopback without an app that allows it: %+v", r)
	}
	write(t, filepath.Join(folder, "callgate.yaml"), "tools: {modules: {http: {constraints: {private_host: [a]}}}}\n")
	if _, err := k.OpenSession(t.Context(), session.Spec{Workspace: folder}); err == nil ||
		!strings.Contains(err.Error(), "did you mean private_hosts?") {
		t.Errorf("a misspelt constraint: %v", err)
	}
}

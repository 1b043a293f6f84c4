package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
)

// A client of MCP over HTTP comes in with what its provider signed, from its first message to its call, which is on
// record as its user's. Each request is judged by what comes with it, and another user finds no connection of the first.
func TestBearerOverMCP(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, bearers)
	post := f.mcp(t)
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"filesystem.read","arguments":{"path":"hello.txt"}}}`
	ada := i.sign(i.claims(forMCP))
	status, answer, connection := post(ada, "", hello)
	if status != http.StatusOK || connection == "" {
		t.Fatalf("%d %s", status, answer)
	}
	post(ada, connection, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	later := i.sign(i.claims(func(c map[string]any) { forMCP(c); c["iat"] = time.Now().Add(time.Second).Unix() }))
	for _, jwt := range []string{ada, later} { // the next of the same user goes on with the connection
		if status, answer, _ := post(jwt, connection, call); status != http.StatusOK || !strings.Contains(answer, "hello") {
			t.Errorf("%d %s", status, answer)
		}
	}
	for name, jwt := range map[string]string{
		"expired":          i.sign(i.claims(func(c map[string]any) { forMCP(c); c["exp"] = time.Now().Add(-time.Minute).Unix() })),
		"another audience": i.sign(i.claims(func(c map[string]any) { c["aud"] = "elsewhere" })),
		"that of the API":  i.sign(i.claims(nil)),
		"both audiences":   i.sign(i.claims(func(c map[string]any) { c["aud"] = []string{"gate", "gate-mcp"} })),
		"nothing":          "",
	} {
		if status, answer, _ := post(jwt, connection, call); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	other := i.sign(i.claims(func(c map[string]any) { forMCP(c); c["sub"] = "u2" }))
	if status, answer, _ := post(other, connection, call); status != http.StatusNotFound {
		t.Errorf("another user has the connection: %d %s", status, answer)
	}
	kerneltest.OK(t, f.kernel.Journal.Flush(t.Context()))
	records, err := f.kernel.Journal.Read(t.Context(), journal.Query{})
	kerneltest.OK(t, err)
	calls := 0
	for _, r := range records {
		if r.Name != "filesystem.read" || r.End == nil {
			continue
		}
		if calls++; r.Principal == nil || r.Principal.User != "@u1@127.0.0.1" {
			t.Errorf("it is on record as %v", r.Principal)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls are on record", calls)
	}
}

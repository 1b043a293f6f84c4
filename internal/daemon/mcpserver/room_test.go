package mcpserver_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/daemon/mcpserver"
	tokens "callgate/internal/token"
)

// A client that opens sessions in a loop closes its own, those that are idle first, and not those of another user.
func TestSessionsOfAVisitorAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, mine := s.make(t, tokens.Token{Role: tokens.Client, Name: "mine", Person: tokens.Person{User: "ada"}})
	_, others := s.make(t, tokens.Token{Role: tokens.Client, Name: "others", Person: tokens.Person{User: "bob"}})
	send := func(value, connection, body string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+value)
		if connection != "" {
			r.Header.Set("Mcp-Session-Id", connection)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		return answer, answer.Body.Close()
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	open := func(value string) string {
		answer, err := send(value, "", hello)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("a session: %v, %v", answer, err)
			return ""
		}
		return answer.Header.Get("Mcp-Session-Id")
	}
	status := func(value, connection string) int {
		answer, err := send(value, connection, list)
		ok(t, err)
		return answer.StatusCode
	}
	bobs, idle, used := open(others), open(mine), open(mine)
	before := s.kernel.Sessions.Len()
	for range mcpserver.MaxOfVisitor - 2 {
		open(mine)
	}
	if got := status(mine, used); got != http.StatusOK {
		t.Fatalf("one that is used: %d", got)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				open(mine)
			}
		})
	}
	all.Wait()
	eventually(t, "its sessions are bounded", func() bool {
		return s.kernel.Sessions.Len() <= before+mcpserver.MaxOfVisitor-2
	})
	if got := status(mine, idle); got != http.StatusNotFound {
		t.Errorf("the idlest is answered %d", got)
	}
	if got := status(mine, used); got != http.StatusOK {
		t.Errorf("the one that was used last is answered %d", got)
	}
	if got := status(others, bobs); got != http.StatusOK {
		t.Errorf("another user's is answered %d", got)
	}
}

// What a bearer has open is dropped when its last token has ended and the provider gave it no other.
func TestBearersThatDoNotComeAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.kernel.Tokens.Trust(func(context.Context, string, bool) (tokens.Bearer, error) {
		return tokens.Bearer{
			Key: "u1", By: "u1", Role: tokens.Client, Person: tokens.Person{User: "u1"}, Issued: time.Now(),
			Expires: time.Now().Add(time.Hour),
		}, nil
	})
	const jwt = "a.b.c"
	for range 2 { // whoever comes later begins anew
		c, err := s.visit(t, "/mcp", jwt, old, nil)
		ok(t, err)
		if _, err := c.ListTools(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if open := mcpserver.EndTerms(s.server); open != 1 {
			t.Errorf("%d have something open", open)
		}
		eventually(t, "it is dropped", func() bool { return mcpserver.EndTerms(s.server) == 0 })
	}
}

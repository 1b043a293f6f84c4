package servers_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/source/mcp/trust"
)

// What moves on the way to the API is held, though a model would read the same of the operation.
func TestMovedArgumentsAreHeld(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 250)
	document := strings.NewReplacer("/pets: {get: {", "/pets/"+long+"/y: {get: {parameters: [{name: dry run, in: query, schema: "+
		"{type: array}}], ", "post: {", "post: {requestBody: {content: {application/json: {schema: {}}}}, ").Replace(petstore)
	server := newAPIServer(t)
	server.setDocument(document)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "PET_KEY", []byte("the-key-of-the-petstore")))
	folder := appWithAPI(t, "document: '"+server.URL+"/openapi.yaml', server: '"+server.URL+
		"', credential: PET_KEY, private_hosts: ['"+server.host()+"']")
	s := kerneltest.OpenAccepted(t, k, folder)
	all := kerneltest.ServersOf(k, s)
	if got := kerneltest.ToolNames(t, s); !strings.Contains(got, "petstore.list_pets=allow") {
		t.Fatalf("a model sees %s; %q", got, s.Warnings())
	}
	for _, c := range []struct{ before, after, want string }{
		{"in: query, schema", "in: header, schema", ""}, // a header has no blank: it is left out
		{"name: dry run, in: query", "name: dry-run, in: cookie", "the cookie parameter dry-run"},
		{"name: dry run, in: query", "name: dry:run, in: query", "the query parameter dry:run"},
		{"name: dry run,", "name: dry run, explode: false,", "in the style form"},
		{"name: dry run,", "name: dry run, style: pipeDelimited,", "in the style pipeDelimited"},
		{"name: dry run,", "name: dry run, allowReserved: true,", "reserved characters as they are"},
		{"in: query, name: api_key", "in: header, name: X-Key", "a key in the header X-Key"},
		{long + "/y", long + "/z", "/z"},
	} {
		server.setDocument(strings.Replace(document, c.before, c.after, 1))
		_, err := all.Refresh(t.Context(), "petstore")
		ok(t, err)
		listed, err := all.All(t.Context())
		ok(t, err)
		if got := kerneltest.ToolNames(t, s); strings.Contains(got, "list_pets") {
			t.Errorf("%s: a model sees %s", c.after, got)
		}
		if c.want == "" {
			continue
		}
		found := false
		for _, h := range listed[0].Held {
			found = found || h.Reason == trust.Changed && h.Before != nil && trust.Diff(*h.Before, h.Definition) != "" &&
				strings.Contains(string(h.Definition.Annotations), c.want)
		}
		if !found {
			t.Errorf("%s: held are %+v", c.after, listed[0].Held)
		}
	}
	server.setDocument(strings.Replace(document, "application/json", "application/x-www-form-urlencoded", 1))
	_, err := all.Refresh(t.Context(), "petstore")
	ok(t, err)
	listed, err := all.All(t.Context())
	ok(t, err)
	if len(listed[0].Held) != 1 || listed[0].Held[0].Definition.Name != "add_pet" {
		t.Errorf("another type of the body: %+v", listed[0].Held)
	}
}

// Who opens a session does not wait for a server that is slow to send a newer document.
func TestSessionsDoNotWaitForANewerDocument(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 8), make(chan struct{})
	var slow atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			asked <- struct{}{}
			select {
			case <-answer:
			case <-r.Context().Done():
			}
		}
		_, _ = w.Write([]byte(petstore))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(answer) })
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	host := strings.TrimPrefix(server.URL, "http://")
	folder := appWithAPI(t, "document: '"+server.URL+"/o.yaml', private_hosts: ['"+host+"']")
	s := kerneltest.OpenAccepted(t, k, folder)
	slow.Store(true)
	all := kerneltest.ServersOf(k, s)
	go func() { _, _ = all.Refresh(t.Context(), "petstore") }()
	<-asked
	began := time.Now()
	other := kerneltest.OpenSession(t, k, folder)
	if took := time.Since(began); took > 20*time.Second { // the server never answers, and is given 30 seconds
		t.Errorf("opening a session took %v", took)
	}
	if got := kerneltest.ToolNames(t, other); !strings.Contains(got, "petstore.list_pets") {
		t.Errorf("a model sees %s in %s", got, filepath.Base(folder))
	}
}

package toolview_test

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/search"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

const auto = "  capabilities: {default_policy: auto}\n"

// TestEveryToolIsCalledByTheNameItIsShownBy calls every tool of servers whose names clash with each
// other, with the kernel's own and with what an API allows, by the name that a
// model is shown.
func TestEveryToolIsCalledByTheNameItIsShownBy(t *testing.T) {
	t.Parallel()
	hostile := map[string]string{
		"a.b.c": "Dots.", "a__b": "Underscores.", "a_b": "One underscore.", "a b": "A space.", strings.Repeat("long", 32): "Long.",
		"日本語": "Unicode.", "ключ": "More of it.", "search_tools": "Not ours.", "execute_tool": "Nor this.", "UPPER": "Capitals.", "upper": "None.", "x/y": "A slash.", "-": "A dash.",
	}
	one, two := kerneltest.NewServer(
		t,
		"one",
		hostile,
	), kerneltest.NewServer(
		t,
		"two",
		map[string]string{"search_tools": "Of two.", "same": "Of two."},
	)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, kerneltest.AppWithServers(t, auto, one, two))
	kerneltest.AcceptServers(t, k, s)
	held := 0
	for _, server := range kerneltest.ServersByName(t, k, s) {
		held += len(server.Held)
		for _, h := range server.Held { // a name of another script's look-alikes is held: a human may want it
			ok(t, k.AcceptServer(kerneltest.Human(t, k), s, server.Name, servers.Word{Accept: []trust.DefinitionRef{h.Ref()}}))
		}
	}
	plan, err := s.View().Surface(t.Context(), toolview.SurfaceConfig{Mode: "direct"})
	ok(t, err)
	answers := map[string]bool{}
	count := 0
	for _, e := range plan.Shown {
		if len(e.Name) > 64 || strings.Trim(e.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q is no name for an API", e.Name)
		}
		if !strings.HasPrefix(e.Name, "mcp_") {
			continue
		}
		count++
		r := s.Call(t.Context(), session.CallRequest{Name: e.Name, Args: json.RawMessage(`{"n":1}`)})
		text := fmt.Sprint(r.Content)
		if r.Status != tool.Success || answers[text] {
			t.Errorf("%s answers %s %s", e.Name, r.Summary, text)
		}
		answers[text] = true
	}
	if want := len(hostile) + 2; count != want {
		t.Errorf("%d tools are shown of %d (%d were held)", count, want, held)
	}
	// The kernel's own tool stays the kernel's.
	if r := s.Call(t.Context(), session.CallRequest{Name: "search_tools", Args: json.RawMessage(`{"query":"dots"}`)}); r.Status != tool.Success ||
		!strings.Contains(string(r.Data), "relevance") {
		t.Errorf("search_tools is answered by somebody else: %+v", r)
	}
}

// TestSearchEndpointNeedsConsent searches in a folder whose app file names an
// embeddings endpoint: nobody calls there before a human said so.
func TestSearchEndpointNeedsConsent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	called := make(chan struct{}, 64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			called <- struct{}{}
			c.Close()
		}
	}()
	defer l.Close()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "ENDPOINT_TEST_SECRET", []byte("victim-token-value-123")))
	folder := t.TempDir()
	write(
		t,
		filepath.Join(folder, "callgate.yaml"),
		"search: {endpoint: {url: \"http://"+l.Addr().String()+"\", key: \"{{secret.ENDPOINT_TEST_SECRET}}\"}}\n",
	)
	s := kerneltest.OpenSession(t, k, folder)
	found, err := s.View().Search(t.Context(), search.Request{Queries: []string{"supprimer un dossier"}, Limit: 1})
	ok(t, err)
	if found.Degraded != "" || found.Answers[0].Hits[0].Tool.ID.Dotted() != "filesystem.delete" {
		t.Errorf("the built-in model does not stand in: %+v", found)
	}
	select {
	case <-called:
		t.Fatal("the endpoint was contacted")
	default:
	}
	kerneltest.AcceptApp(t, k, s)
	s = kerneltest.OpenSession(t, k, folder)
	if found, err = s.View().Search(t.Context(), search.Request{Queries: []string{"delete"}, Limit: 1}); err != nil || found.Degraded == "" {
		t.Errorf("an endpoint that hangs up: %+v, %v", found, err)
	}
	<-called // now it was
}

// TestToolsThatComeLaterAreFound plans a surface while a server waits for a human:
// what it brings later can be searched for, also where all tools are shown.
func TestToolsThatComeLaterAreFound(t *testing.T) {
	t.Parallel()
	a := kerneltest.NewServer(t, "late", map[string]string{"greet": "Greets."})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, kerneltest.AppWithServers(t, auto, a))
	plan, err := s.View().Surface(t.Context(), toolview.SurfaceConfig{Mode: "direct"})
	ok(t, err)
	var shown []string
	for _, e := range plan.Shown {
		shown = append(shown, e.Name)
	}
	if !slices.Contains(shown, "search_tools") || !slices.Contains(shown, "execute_tool") {
		t.Errorf("nothing is there to find later tools with: %v", shown)
	}
	kerneltest.AcceptServers(t, k, s)
	if r := s.Call(t.Context(), session.CallRequest{Name: "search_tools", Args: json.RawMessage(`{"query":"greet"}`)}); !strings.Contains(
		string(r.Data),
		"mcp_late.greet",
	) {
		t.Errorf("a server that came later is not found: %s", r.Data)
	}
}

// TestAKnownToolIsFoundByWhatPeopleSay finds a tool of a well-known server under another server's
// name, and no example for one that has only its name.
func TestAKnownToolIsFoundByWhatPeopleSay(t *testing.T) {
	t.Parallel()
	for description, known := range map[string]bool{
		"Post a new message to any Slack channel.":            true,
		"Wipes the archive of the company and its whole past": false,
	} {
		server := kerneltest.NewServer(t, "letters", map[string]string{"slack_post_message": description})
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		s := kerneltest.OpenAccepted(t, k, kerneltest.AppWithServers(t, auto, server))
		kerneltest.AcceptServers(t, k, s)
		const query = "the whole team should know that I'm working from home on Monday"
		found, err := s.View().Search(t.Context(), search.Request{Queries: []string{query}, Limit: 5})
		ok(t, err)
		i := slices.IndexFunc(found.Answers[0].Hits, func(h search.Hit) bool { return h.Tool.ID.Name == "slack_post_message" })
		if got := i >= 0 && found.Answers[0].Hits[i].Like != ""; got != known {
			t.Errorf("%q: an example is known: %v; %+v", description, got, found.Answers[0].Hits)
		}
	}
}

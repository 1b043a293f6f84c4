package forward_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/daemon/forward"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/tool"
)

// dialAs sends a request to a node over the network, with a certificate of the test's choice, and the proof of a node.
func (n *node) dialAs(cert *tls.Certificate, by *node, path, login string) (*http.Response, error) {
	n.mu.Lock()
	address := n.nodes[n.id].Address
	n.mu.Unlock()
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	link := &http.Transport{TLSClientConfig: config}
	n.Cleanup(link.CloseIdleConnections)
	r, err := http.NewRequestWithContext(n.Context(), http.MethodGet, "https://"+address+path, nil)
	kerneltest.OK(n, err)
	r.Header.Set(forward.LoginHeader, login)
	if by != nil {
		forward.Prove(n, by.forwarder, r, n.id, nil)
	}
	return link.RoundTrip(r)
}

const asOperator = `{"user":"eve","pid":1,"role":"operator"}`

// Nobody is answered who does not have the certificate of a living node, in its epoch.
func TestStrangers(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "ab")
	a := all[0]
	stranger := forward.NewCertificate(t)
	for name, cert := range map[string]*tls.Certificate{"none": nil, "a stranger's": &stranger} {
		if resp, err := a.dialAs(cert, all[1], "/v1/approvals", asOperator); err == nil {
			t.Errorf("a certificate, %s: %s", name, resp.Status)
			_ = resp.Body.Close()
		}
	}
	known := forward.CertificateOf(all[1].forwarder)
	resp, err := a.dialAs(&known, all[1], "/v1/approvals", asOperator)
	kerneltest.OK(t, err)
	if _, _ = body(t, resp); resp.StatusCode != http.StatusOK {
		t.Errorf("a node is answered %s", resp.Status)
	}
	a.bury("b")
	kerneltest.Eventually(t, func() bool {
		resp, err := a.dialAs(&known, all[1], "/v1/approvals", asOperator)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err != nil || resp.StatusCode == http.StatusForbidden
	})
}

// A node says who asks, and is believed no more than that: what is not for the network is not for nodes.
func TestWhatNodesMayAsk(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "ab", risky(t))
	a := all[0]
	node := forward.CertificateOf(all[1].forwarder)
	for name, c := range map[string]struct {
		path, login string
		want        int
	}{
		"nobody":                    {"/v1/approvals", "", http.StatusForbidden},
		"no role":                   {"/v1/approvals", `{"user":"eve"}`, http.StatusForbidden},
		"the role of an MCP client": {"/v1/approvals", `{"user":"eve","role":"client"}`, http.StatusForbidden},
		"a token that is not":       {"/v1/approvals", `{"token":"nosuchid"}`, http.StatusForbidden},
		"a process as a token":      {"/v1/approvals", `{"token":"process:a:1.1"}`, http.StatusForbidden},
		"the kernel's own files":    {"/v1/secrets", `{"user":"eve","role":"admin"}`, http.StatusNotFound},
		"tokens":                    {"/v1/tokens", `{"user":"eve","role":"admin"}`, http.StatusNotFound},
		"metrics":                   {"/metrics", asOperator, http.StatusNotFound},
		"an operator":               {"/v1/approvals", asOperator, http.StatusOK},
	} {
		resp, err := a.dialAs(&node, all[1], c.path, c.login)
		kerneltest.OK(t, err)
		if text, _ := body(t, resp); resp.StatusCode != c.want {
			t.Errorf("%s: %s %s", name, resp.Status, text)
		}
	}
}

// What travels between nodes is not believed on the faces of one.
func TestForgedLogin(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "ab", risky(t))
	a, b := all[0], all[1]
	id := a.ask(a.open(a.client(), a.workspace))
	for _, n := range all {
		resp := n.request("POST", "/v1/approvals/"+id+"/answer", strings.NewReader(`{"approve":true}`),
			func(r *http.Request) { r.Header.Set(forward.LoginHeader, `{"user":"eve","role":"admin"}`) })
		if text, _ := body(t, resp); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s %s", n.id, resp.Status, text)
		}
	}
	if got, err := b.client().Approval(t.Context(), id); err != nil || got.State != protocol.ApprovalPending {
		t.Errorf("%v: it is %s", err, got.State)
	}
}

// Another program at a node's address is asked nothing.
func TestWrongCertificate(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "abc")
	a, b := all[0], all[1]
	a.mu.Lock()
	elsewhere := a.nodes["c"].Address
	a.mu.Unlock()
	a.change("a", func(n *forward.Node) { n.Address = elsewhere })
	_, err := b.client(at("host-a")).OpenSession(t.Context(), protocol.OpenSession{Workspace: a.workspace})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("it is asked: %v", err)
	}
	a.change("a", func(n *forward.Node) { n.Address = "" })
	_, err = b.client(at("host-a")).OpenSession(t.Context(), protocol.OpenSession{Workspace: a.workspace})
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "cannot be reached by other nodes") {
		t.Errorf("a node without an address: %v", err)
	}
}

// A request goes from one node to another, and not to a third.
func TestLoop(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "abc", risky(t))
	a, b := all[0], all[1]
	node := forward.CertificateOf(b.forwarder)
	for name, path := range map[string]string{
		"a session of a third node": "/v1/sessions/s1.c/tools", "a third node, named": "/v1/approvals?node=host-c",
	} {
		resp, err := a.dialAs(&node, all[1], path, asOperator)
		kerneltest.OK(t, err)
		text, e := body(t, resp)
		if resp.StatusCode != http.StatusConflict || !strings.Contains(e.Message, "host-b") ||
			!strings.Contains(e.Message, "host-a") {
			t.Errorf("%s: %s %s", name, resp.Status, text)
		}
	}
}

// A call whose node goes away is in doubt, and is made nowhere else.
func TestNodeGoesDuringACall(t *testing.T) {
	t.Parallel()
	began, calls := make(chan struct{}, 4), 0
	slow := kerneltest.NewTool(t, "test.slow", tool.Runtime{Risk: tool.Low}, func(ctx context.Context) (any, error) {
		calls++
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	all := newWorld(t, "ab", slow)
	a, b := all[0], all[1]
	s := b.open(b.client(at("host-a")), a.workspace)
	go func() {
		<-began
		a.bury("a")
		forward.Cut(a.forwarder)
	}()
	_, err := s.Call(t.Context(), protocol.CallRequest{Name: "test.slow"})
	if tool.KindOf(err) != tool.InDoubt || !strings.Contains(err.Error(), "host-a") {
		t.Errorf("the call: %v", err)
	}
	if calls != 1 {
		t.Errorf("it was made %d times", calls)
	}
}

// A node whose machine is gone, so that nothing tells of it, is waited for no longer than it lives.
func TestMachineGoes(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	release := make(chan struct{})
	deaf := kerneltest.NewTool(t, "test.deaf", tool.Runtime{Risk: tool.Low}, func(context.Context) (any, error) {
		began <- struct{}{}
		<-release
		return nil, nil
	})
	all := newWorld(t, "ab", deaf)
	t.Cleanup(func() { close(release) }) // before the kernels are closed
	a, b := all[0], all[1]
	s := b.open(b.client(at("host-a")), a.workspace)
	go func() {
		<-began
		a.bury("a")
	}()
	_, err := s.Call(t.Context(), protocol.CallRequest{Name: "test.deaf"})
	if tool.KindOf(err) != tool.InDoubt {
		t.Errorf("the call: %v", err)
	}
}

// A client that leaves at one node ends its call at the other.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}, 1), make(chan struct{})
	slow := kerneltest.NewTool(t, "test.slow", tool.Runtime{Risk: tool.Low}, func(ctx context.Context) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	all := newWorld(t, "ab", slow)
	a, b := all[0], all[1]
	s := b.open(b.client(at("host-a")), a.workspace)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := s.Call(ctx, protocol.CallRequest{Name: "test.slow"}); err == nil {
		t.Error("the call was answered")
	}
	<-ended
}

// A turn whose node goes away says so with an event of its own.
func TestNodeGoesDuringATurn(t *testing.T) {
	t.Parallel()
	reached, after := make(chan struct{}), make(chan struct{})
	model := kerneltest.NewModel(t, kerneltest.Answer{Reached: reached, After: after})
	t.Cleanup(func() { close(after) })
	all := newWorld(t, "ab")
	a, b := all[0], all[1]
	conv := b.converse(a, model)
	go func() {
		<-reached
		a.bury("a")
		forward.Cut(a.forwarder)
	}()
	var failed error
	for _, err := range conv.Send(t.Context(), "hi") {
		failed = err
	}
	if tool.KindOf(failed) != tool.Unavailable || !strings.Contains(failed.Error(), "host-a") {
		t.Errorf("the turn: %v", failed)
	}
}

// A session of a node that is gone is closed.
func TestEntryGoes(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "ab")
	a, b := all[0], all[1]
	b.open(b.client(at("host-a")), a.workspace)
	if a.kernel.Sessions.Len() != 1 {
		t.Fatal("no session is open")
	}
	a.bury("b")
	forward.Sweep(a.forwarder)
	kerneltest.Eventually(t, func() bool { forward.Sweep(a.forwarder); return a.kernel.Sessions.Len() == 0 })
}

// A body is passed on as it comes, and one that is too large is refused by who reads it.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "ab", quick(t))
	a, b := all[0], all[1]
	s := b.open(b.client(at("host-a")), a.workspace)
	huge := io.MultiReader(strings.NewReader(`{"name":"test.quick","args":{"x":"`),
		bytes.NewReader(bytes.Repeat([]byte("x"), 65<<20)), strings.NewReader(`"}}`))
	resp := b.request("POST", "/v1/sessions/"+s.ID+"/calls", huge)
	if text, e := body(t, resp); e.Kind != tool.Invalid || !strings.Contains(e.Message, "64 MiB") {
		t.Errorf("%s %s", resp.Status, tool.Truncate(text))
	}
	slow, pipe := io.Pipe()
	go func() {
		for _, part := range []string{`{"name":`, `"test.quick",`, `"args":{}`, `}`} {
			_, _ = io.WriteString(pipe, part)
		}
		_ = pipe.Close()
	}()
	resp = b.request("POST", "/v1/sessions/"+s.ID+"/calls", slow)
	if text, _ := body(t, resp); resp.StatusCode != http.StatusOK || !strings.Contains(text, "done") {
		t.Errorf("%s %s", resp.Status, tool.Truncate(text))
	}
}

// What the directory said counts for a moment, and a node that is not in it is looked for again, but not for everybody.
func TestMembersAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		m := forward.NewMembers(func() []forward.Node { asked++; return []forward.Node{{ID: "a", Name: "host-a"}} })
		for range 10 {
			kerneltest.OK(t, m.ByID("a"))
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		for range 10 {
			if tool.KindOf(m.ByID("z")) != tool.Unavailable {
				t.Error("z lives")
			}
		}
		<-time.After(2 * time.Second) // of the bubble
		kerneltest.OK(t, m.ByID("a"))
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}

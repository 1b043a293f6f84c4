package forward_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/client"
	"callgate/internal/daemon/forward"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	_ "callgate/internal/sandbox/selfstart"
	"callgate/tool"
)

// Every route of the API is placed, and nothing is placed that is no route.
func TestEveryRouteIsPlaced(t *testing.T) {
	t.Parallel()
	n := newWorld(t, "a")[0]
	placed := forward.Placed()
	for _, r := range n.api.Routes() {
		if !slices.Contains(placed, r) {
			t.Errorf("%s: nobody says which node answers it", r)
		}
	}
	for _, r := range placed {
		if !slices.Contains(n.api.Routes(), r) {
			t.Errorf("%s is placed, and there is no such route", r)
		}
	}
}

// quick answers at once, and slow when it is cancelled.
func quick(t testing.TB) *tool.Tool {
	return kerneltest.NewTool(t, "test.quick", tool.Runtime{Risk: tool.Low}, func(context.Context) (any, error) {
		return "done", nil
	})
}

func risky(t testing.TB) *tool.Tool {
	return kerneltest.NewTool(t, "test.risky", tool.Runtime{Risk: tool.High}, func(context.Context) (any, error) {
		return "dared", nil
	})
}

// open opens a session at a node through another one, in the folder that it serves.
func (n *node) open(c *client.Client, workspace string) *client.Session {
	n.Helper()
	s, err := c.OpenSession(n.Context(), protocol.OpenSession{Workspace: workspace})
	kerneltest.OK(n, err)
	return s
}

// What is opened at a node through another is used through any, by who opened it.
func TestSessionElsewhere(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "abc", quick(t))
	a, b, c := all[0], all[1], all[2]
	s := b.open(b.client(at("host-a")), a.workspace)
	if session.NodeOf(s.ID) != "a" {
		t.Fatalf("the session %s does not name its node", s.ID)
	}
	if _, err := a.kernel.Sessions.Get(s.ID); err != nil {
		t.Fatal(err)
	}
	result, err := s.Call(t.Context(), protocol.CallRequest{Name: "filesystem.read", Args: []byte(`{"path":"where.txt"}`)})
	kerneltest.OK(t, err)
	if text, err := json.Marshal(result); err != nil || !strings.Contains(string(text), "at a") {
		t.Fatalf("%v: %s", err, text)
	}
	// Another machine's process is another process, whatever its number.
	resp := c.request("GET", "/v1/sessions/"+s.ID+"/tools", nil)
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a process of another node uses the session: %s", resp.Status)
	}
	kerneltest.OK(t, s.Close(t.Context()))
	if _, err := a.kernel.Sessions.Get(s.ID); err == nil {
		t.Error("the session is open still")
	}
	if got := b.kernel.Sessions.Requesters(); len(got) != 0 {
		t.Errorf("who closed the session counts as an asker: %v", got)
	}
}

// Who comes from another node works in the folder that is served, as who comes over the network does.
func TestFolderElsewhere(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "ab")
	a, b := all[0], all[1]
	_, err := b.client(at("host-a")).OpenSession(t.Context(), protocol.OpenSession{Workspace: t.TempDir()})
	if tool.KindOf(err) != tool.Denied {
		t.Errorf("any folder of another machine is opened: %v", err)
	}
	_, err = b.client(at("host-x")).OpenSession(t.Context(), protocol.OpenSession{Workspace: a.workspace})
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "host-x") {
		t.Errorf("a node that does not live: %v", err)
	}
}

// ask has a call of a session wait for a human, and returns the approval's ID.
func (n *node) ask(s *client.Session) string {
	n.Helper()
	result, err := s.Call(n.Context(), protocol.CallRequest{Name: "test.risky", NoWait: true})
	kerneltest.OK(n, err)
	if result.Status != tool.Waiting {
		n.Fatalf("%s: %s", result.Status, result.Summary)
	}
	return result.Approval
}

// What one node asks is answered at another by a person at a terminal there, who types the code that is shown there.
func TestApproveElsewhere(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "ab", risky(t))
	a, b := all[0], all[1]
	id := a.ask(a.open(a.client(), a.workspace))
	person := b.client(b.withKey)
	if _, err := person.Answer(t.Context(), id, protocol.Answer{Approve: true}); tool.KindOf(err) != tool.Denied {
		t.Fatalf("a yes without a code: %v", err)
	}
	ch, err := person.Challenge(t.Context(), id)
	kerneltest.OK(t, err)
	person.ShowCode("WRNG")
	if _, err := person.Answer(t.Context(), id, protocol.Answer{Approve: true}); tool.KindOf(err) != tool.Denied {
		t.Fatalf("a yes with another code: %v", err)
	}
	person.ShowCode(ch.Code)
	done, err := person.Answer(t.Context(), id, protocol.Answer{Approve: true, By: "eve"})
	kerneltest.OK(t, err)
	if done.State != protocol.ApprovalApproved && done.State != protocol.ApprovalUsed {
		t.Errorf("it is %s", done.State)
	}
	if done.Answer == nil || !strings.HasSuffix(done.Answer.By, "@host-b") {
		t.Errorf("who answered: %+v", done.Answer)
	}
}

// A no needs the key of the node at which it is said, and nothing more.
func TestDenyElsewhere(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "ab", risky(t))
	a, b := all[0], all[1]
	id := a.ask(a.open(a.client(), a.workspace))
	if _, err := b.client().Answer(t.Context(), id, protocol.Answer{}); tool.KindOf(err) != tool.Denied {
		t.Fatalf("a no without a key: %v", err)
	}
	other := b.client(a.withKey) // the key of the node that asked is not that of this one
	if _, err := other.Answer(t.Context(), id, protocol.Answer{}); tool.KindOf(err) != tool.Denied {
		t.Fatalf("a no with another node's key: %v", err)
	}
	done, err := b.client(b.withKey).Answer(t.Context(), id, protocol.Answer{})
	kerneltest.OK(t, err)
	if done.State != protocol.ApprovalDenied {
		t.Errorf("it is %s", done.State)
	}
}

// Who asks through a node answers its own question nowhere.
func TestAskerDoesNotAnswerElsewhere(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "abc", risky(t))
	a, b := all[0], all[1]
	agent := b.client(b.withKey, at("host-a"))
	s := b.open(agent, a.workspace)
	id := b.ask(s)
	if _, err := agent.Challenge(t.Context(), id); tool.KindOf(err) != tool.Denied {
		t.Fatalf("it is given a code: %v", err)
	}
	if _, err := agent.Answer(t.Context(), id, protocol.Answer{Approve: true}); tool.KindOf(err) != tool.Denied {
		t.Fatalf("it says yes: %v", err)
	}
	// When the session is closed its node does not know any more who asked.
	kerneltest.OK(t, s.Close(t.Context()))
	later := b.client(b.withKey)
	if ch, err := later.Challenge(t.Context(), id); err == nil {
		later.ShowCode(ch.Code)
	}
	if _, err := later.Answer(t.Context(), id, protocol.Answer{Approve: true}); tool.KindOf(err) != tool.Denied {
		t.Errorf("it says yes when its session is closed: %v", err)
	}
	got, err := agent.Approval(t.Context(), id)
	kerneltest.OK(t, err)
	if got.State != protocol.ApprovalPending {
		t.Errorf("it is %s", got.State)
	}
}

// A list is that of all nodes, in its order; each line says its node, and a node can be named.
func TestLists(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "abc", risky(t))
	var want []string
	for _, n := range []*node{all[0], all[1], all[0]} {
		want = append(want, n.ask(n.open(n.client(), n.workspace)))
	}
	c := all[2]
	list, err := c.client().Approvals(t.Context(), "")
	kerneltest.OK(t, err)
	var ids, nodes []string
	for _, one := range list {
		ids, nodes = append(ids, one.ID), append(nodes, one.Node)
	}
	if !slices.Equal(ids, want) || !slices.Equal(nodes, []string{"host-a", "host-b", "host-a"}) {
		t.Errorf("got %v of %v, want %v", ids, nodes, want)
	}
	list, err = c.client(at("host-b")).Approvals(t.Context(), "")
	kerneltest.OK(t, err)
	if len(list) != 1 || list[0].ID != want[1] {
		t.Errorf("of one node: %v", list)
	}
}

// A node that does not answer is named, and the others' part is given.
func TestListWithoutANode(t *testing.T) {
	t.Parallel()
	all := newWorld(t, "abc", risky(t))
	a, b, c := all[0], all[1], all[2]
	want := a.ask(a.open(a.client(), a.workspace))
	forward.Cut(b.forwarder)
	var said []string
	list, err := c.client(func(o *client.Options) { o.Say = func(s string) { said = append(said, s) } }).
		Approvals(t.Context(), "")
	kerneltest.OK(t, err)
	if len(list) != 1 || list[0].ID != want {
		t.Errorf("got %v", list)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "host-b") || strings.Contains(text, "host-a") {
		t.Errorf("said %q", text)
	}
}

// converse opens a conversation at another node, in a folder whose agent has a scripted model.
func (n *node) converse(with *node, model *kerneltest.Model) *client.Conversation {
	n.Helper()
	kerneltest.Write(n, filepath.Join(with.workspace, "callgate.yaml"),
		"agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	kerneltest.OpenAccepted(n, with.kernel, with.workspace).Close()
	conv, err := n.client(at("host-"+with.id)).OpenConversation(n.Context(),
		protocol.OpenConversation{OpenSession: protocol.OpenSession{Workspace: with.workspace}})
	kerneltest.OK(n, err)
	return conv
}

// The turns of a conversation come event by event through another node, and end when they are cancelled there.
func TestTurnElsewhere(t *testing.T) {
	t.Parallel()
	reached, after := make(chan struct{}), make(chan struct{})
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "hello"}, kerneltest.Answer{Reached: reached, After: after})
	t.Cleanup(func() { close(after) })
	all := newWorld(t, "ab")
	a, b := all[0], all[1]
	conv := b.converse(a, model)
	var text strings.Builder
	for m, err := range conv.Send(t.Context(), "hi") {
		kerneltest.OK(t, err)
		if m.Delta != nil {
			text.WriteString(m.Delta.Text)
		}
		if m.End != nil && m.End.Reason != protocol.EndDone {
			t.Errorf("it ended %s", m.End.Reason)
		}
	}
	if text.String() != "hello" {
		t.Errorf("it said %q", text.String())
	}
	ended := make(chan protocol.EndReason, 1)
	go func() {
		var last protocol.EndReason
		for m, err := range conv.Send(t.Context(), "again") {
			if err == nil && m.End != nil {
				last = m.End.Reason
			}
		}
		ended <- last
	}()
	<-reached
	stopped, err := b.client().CancelTurn(t.Context(), conv.ID)
	kerneltest.OK(t, err)
	if reason := <-ended; !stopped || reason != protocol.EndCancelled {
		t.Errorf("stopped is %v, and the turn ended %q", stopped, reason)
	}
	kerneltest.OK(t, conv.Close(t.Context()))
	again, err := b.client().OpenConversation(t.Context(), protocol.OpenConversation{
		OpenSession: protocol.OpenSession{Workspace: b.workspace}, Resume: conv.ID, // the folder that its sender is in
	})
	kerneltest.OK(t, err)
	if again.ID != conv.ID || again.Workspace != a.workspace {
		t.Errorf("it goes on as %s in %s", again.ID, again.Workspace)
	}
	list, err := b.client().Conversations(t.Context(), 10)
	kerneltest.OK(t, err)
	if len(list) != 1 || list[0].ID != conv.ID || list[0].Node != "host-a" {
		t.Errorf("listed: %+v", list)
	}
}

func body(t testing.TB, resp *http.Response) (text string, e tool.Error) {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	kerneltest.OK(t, err)
	kerneltest.OK(t, resp.Body.Close())
	_ = json.Unmarshal(data, &e)
	return string(data), e
}

//lint:file-ignore SA1019 servers still ask for roots

package question_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/question"
)

// approvalAnswer answers the form of an approval.
func approvalAnswer(action string) question.Answer {
	return question.Answer{Parts: sdk.InputResponseMap{question.ApprovalKey: &sdk.ElicitResult{Action: action}}}
}

func TestUndecided(t *testing.T) {
	for _, test := range []struct {
		name     string
		approval bool
		answer   question.Answer
		want     bool
	}{
		{"accepted", true, approvalAnswer("accept"), false},
		{"declined", true, approvalAnswer("decline"), false},
		{"dismissed", true, approvalAnswer("cancel"), true},
		{"not answered", true, question.Answer{}, true},
		{"no approval", false, question.Answer{}, false},
	} {
		if got := question.New(nil, test.approval).Undecided(test.answer); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestPick(t *testing.T) {
	q := question.New(sdk.InputRequestMap{"a": &sdk.ElicitParams{}, "b": &sdk.ElicitParams{}}, false)
	a := &sdk.ElicitResult{Action: "accept"}
	got := q.Pick(sdk.InputResponseMap{"a": a, "b": nil, "c": &sdk.ElicitResult{}})
	if diff := cmp.Diff(sdk.InputResponseMap{"a": a}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSupportsForms(t *testing.T) {
	form, url := &sdk.FormElicitationCapabilities{}, &sdk.URLElicitationCapabilities{}
	for _, test := range []struct {
		name string
		caps *sdk.ClientCapabilities
		want bool
	}{
		{"no capabilities", nil, false},
		{"no elicitation", &sdk.ClientCapabilities{}, false},
		{"elicitation of an older protocol", &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}, true},
		{"forms", &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: form}}, true},
		{"only addresses", &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: url}}, false},
	} {
		if got := question.SupportsForms(test.caps); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// connect connects a client that answers forms to a server with an asker.
func connect(
	t *testing.T, asker *question.Asker, answer func(*sdk.ElicitParams) (sdk.Result, error),
) *sdk.ServerSession {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "server", Version: "1"}, nil)
	server.AddSendingMiddleware(asker.Middleware)
	client := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}},
	})
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler { // which checks no schema
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if p, ok := r.GetParams().(*sdk.ElicitParams); ok {
				return answer(p)
			}
			return next(ctx, method, r)
		}
	})
	ours, theirs := sdk.NewInMemoryTransports()
	session, err := server.Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Connect(t.Context(), theirs, &sdk.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(); _ = session.Wait() })
	return session
}

const schema = `{"type":"object","properties":{"many":{"type":"array","items":{"anyOf":[{"const":"a"}]}}}}`

func approvalForm() *question.Question {
	form := &sdk.ElicitParams{Message: "may it run?", RequestedSchema: json.RawMessage(schema)}
	return question.New(sdk.InputRequestMap{question.ApprovalKey: form}, true)
}

// TestAsk asks with a form whose schema the SDK does not know: the client gets it
// whole, and its answer comes back.
func TestAsk(t *testing.T) {
	var asker question.Asker
	var got []byte
	session := connect(t, &asker, func(p *sdk.ElicitParams) (sdk.Result, error) {
		got, _ = json.Marshal(p.RequestedSchema)
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"many": []any{"a"}}}, nil
	})
	replies := make(chan question.Reply, 1)
	q := approvalForm()
	asker.Ask(t.Context(), session, q, time.Hour, replies)
	reply := <-replies
	if reply.Question != q || reply.Answer.Automatic || reply.Answer.Form().Action != "accept" {
		t.Errorf("the reply is %+v", reply)
	}
	var sent, want any
	if json.Unmarshal(got, &sent) != nil || json.Unmarshal([]byte(schema), &want) != nil || !cmp.Equal(want, sent) {
		t.Errorf("the client got the schema %s", got)
	}
}

func TestAutomatic(t *testing.T) {
	for _, test := range []struct {
		name     string
		approval bool
		action   string
		within   time.Duration
		want     bool
	}{
		{"declined at once", true, "decline", time.Hour, true},
		{"dismissed at once", true, "cancel", time.Hour, true},
		{"accepted at once", true, "accept", time.Hour, false},
		{"declined in time", true, "decline", 0, false},
		{"no approval", false, "decline", time.Hour, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asker question.Asker
			session := connect(t, &asker, func(*sdk.ElicitParams) (sdk.Result, error) {
				return &sdk.ElicitResult{Action: test.action}, nil
			})
			replies := make(chan question.Reply, 1)
			q := approvalForm()
			q.Approval = test.approval
			asker.Ask(t.Context(), session, q, test.within, replies)
			if got := (<-replies).Answer.Automatic; got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestFormWithoutAnswer has a client fail: a form is then not answered, which is no
// error.
func TestFormWithoutAnswer(t *testing.T) {
	var asker question.Asker
	session := connect(t, &asker, func(*sdk.ElicitParams) (sdk.Result, error) { return nil, errors.New("broken") })
	replies := make(chan question.Reply, 1)
	asker.Ask(t.Context(), session, approvalForm(), 0, replies)
	if a := (<-replies).Answer; a.Err != nil || a.Form() != nil {
		t.Errorf("the answer is %+v", a)
	}
}

// TestRootsWithoutAnswer asks for something else than a form: an error is passed on.
func TestRootsWithoutAnswer(t *testing.T) {
	var asker question.Asker
	session := connect(t, &asker, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := question.New(sdk.InputRequestMap{"roots": &sdk.ListRootsParams{}}, false)
	asker.Ask(ctx, session, q, 0, nil) // no request waits for the reply any more
	if a := <-q.Answered(); a.Err == nil {
		t.Errorf("the answer is %+v", a)
	}
}

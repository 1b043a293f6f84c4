package mcpserver_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/tool"
)

// human is the person at a client: what they say to each form, in order.
type human struct {
	answers []sdk.ElicitResult
	saw     []*sdk.ElicitParams
}

func (h *human) options() *sdk.ClientOptions {
	answer := func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		h.saw = append(h.saw, r.Params)
		said := h.answers[min(len(h.saw), len(h.answers))-1]
		said.Content = maps.Clone(said.Content) // the SDK adds the form's defaults to it
		return &said, nil
	}
	return &sdk.ClientOptions{ElicitationHandler: answer}
}

func inOrder(all ...sdk.ElicitResult) []sdk.ElicitResult { return all }

// edits approves a call with other arguments.
func edits(args string) sdk.ElicitResult { return says("accept", "approve", true, "arguments", args) }

func says(action string, fields ...any) sdk.ElicitResult {
	r := sdk.ElicitResult{Action: action}
	for i := 0; i < len(fields); i += 2 {
		if r.Content == nil {
			r.Content = map[string]any{}
		}
		r.Content[fields[i].(string)] = fields[i+1]
	}
	return r
}

func TestApprovalAtTheClient(t *testing.T) {
	tests := []struct {
		name    string
		answers []sdk.ElicitResult
		forms   int
		has     []string // the answer says so
		failed  bool
		wiped   int64
	}{
		{"as it is", inOrder(says("accept", "approve", true)), 1, []string{`{"what":"disk"}`}, false, 1},
		{
			"shown and unchanged", inOrder(edits("{ \"what\" : \"disk\" }")),
			1, []string{`{"what":"disk"}`}, false, 1,
		},
		{
			"edited", inOrder(edits(`{"what":"cache"}`)),
			1, []string{`{"what":"cache"}`, "a human edited"}, false, 1,
		},
		{
			"edited badly, then well", inOrder(edits(`{"what":`), edits(`{"waht":1}`), edits(`{"what":"cache"}`)),
			3, []string{`{"what":"cache"}`}, false, 1,
		},
		{
			"edited badly for ever", inOrder(edits(`[]`)),
			3, []string{"waiting for approval", "A human must answer it"}, false, 0,
		},
		{
			"refused", inOrder(says("accept", "approve", false, "feedback", "use the other one")),
			1, []string{"denied: ", "«use the other one»"}, true, 0,
		},
		{"declined", inOrder(says("decline")), 1, []string{"denied: "}, true, 0},
		{
			"dismissed", inOrder(says("cancel")),
			1, []string{"waiting for approval", "A human must answer it"}, false, 0,
		},
	}
	each(t, func(t *testing.T, w way) {
		for _, test := range tests {
			s := newFixture(t, kernel.Config{})
			h := &human{answers: test.answers}
			c := s.connect(t, w, "tester", h.options())
			res, said := call(t, c, "demo.wipe", `{"what":"disk"}`)
			for _, want := range test.has {
				if !strings.Contains(said, want) {
					t.Errorf("%s: %s lacks %q", test.name, said, want)
				}
			}
			if res.IsError != test.failed || s.wiped.Load() != test.wiped || len(h.saw) != test.forms {
				t.Errorf("%s: failed %v, ran %d times, %d forms: %s", test.name, res.IsError, s.wiped.Load(), len(h.saw), said)
			}
			if m := h.saw[0].Message; !containsAll(m, "tester", "demo.wipe", "what: disk") {
				t.Errorf("%s: the form says %s", test.name, m)
			}
			if test.wiped == 1 {
				s.answeredBy(t, "the human at tester")
			}
		}
	})
}

// A yes in a form may last: as the exact call or the pattern that the form showed.
func TestApprovalThatLasts(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		run := define("demo.run", tool.Runtime{Risk: tool.High, SideEffect: tool.Write},
			`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`,
			func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return tool.OK("it ran", nil) })
		s := newFixture(t, kernel.Config{}, run)
		const pattern = "from now on: calls like command: git log *, in this folder"
		h := &human{answers: inOrder(
			says("accept", "approve", true, "arguments", `{"command":"git log -9"}`, "remember", pattern), // not what was shown
			says("accept", "approve", true, "remember", pattern),
			says("accept", "approve", true, "remember", "once"),
			says("decline"),
		)}
		c := s.connect(t, w, "tester", h.options())
		if _, said := call(t, c, "demo.run", `{"command":"git log -1"}`); !strings.Contains(said, "it ran") || len(h.saw) != 2 {
			t.Fatalf("%d forms: %s", len(h.saw), said)
		}
		schema, err := json.Marshal(h.saw[0].RequestedSchema)
		if err != nil || !containsAll(string(schema), `"once"`, "from now on: this exact call, in this folder", pattern) {
			t.Errorf("the form asks %s: %v", schema, err)
		}
		other := s.connect(t, w, "another", h.options()) // a new session
		if _, said := call(t, other, "demo.run", `{"command":"git log -2"}`); !strings.Contains(said, "it ran") || len(h.saw) != 2 {
			t.Errorf("it asked again: %d forms: %s", len(h.saw), said)
		}
		for n, want := range []string{"it ran", "denied"} { // a yes for once is for once
			if _, said := call(t, c, "demo.run", `{"command":"git push"}`); !strings.Contains(said, want) || len(h.saw) != 3+n {
				t.Errorf("%d forms: %s", len(h.saw), said)
			}
		}
		list := s.kernel.Grants.List()
		if len(list) != 1 || list[0].By != "the human at tester" || list[0].Uses.Count != 1 {
			t.Errorf("grants: %+v", list)
		}
	})
}

// answeredBy holds the journal's only answer against who gave it.
func (s *fixture) answeredBy(t *testing.T, who string) {
	t.Helper()
	ok(t, s.kernel.Journal.Flush(t.Context()))
	list, err := s.kernel.Journal.Read(t.Context(), journal.Query{Kind: journal.Answered})
	ok(t, err)
	if len(list) != 1 || list[0].Answer.By != who {
		t.Errorf("answers: %+v", list)
	}
}

// A client that cannot ask its human gets an answer that says so, and the result by
// repeating the call, however it writes it.
func TestApprovalElsewhere(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		c := s.connect(t, w, "tester", nil)
		for range 3 {
			res, said := call(t, c, "demo.wipe", `{"what":"disk"}`)
			list := s.pending(t)
			if len(list) != 1 || res.IsError || !containsAll(said,
				"waiting for approval", "it waits, as "+list[0].ID, "repeat the same call") ||
				strings.Contains(said, "callgate approvals") {
				t.Fatalf("%d pending: %s", len(list), said)
			}
		}
		first := s.pending(t)[0].ID
		call(t, c, "demo.wipe", `{"what":"other"}`)
		if n := len(s.pending(t)); n != 2 {
			t.Errorf("%d pending after another call", n)
		}
		s.approve(t, first)
		res, said := call(t, c, "demo__wipe", `{ "what" : "disk" }`)
		if res.IsError || !strings.Contains(said, `{"what":"disk"}`) || s.wiped.Load() != 1 {
			t.Errorf("ran %d times: %s", s.wiped.Load(), said)
		}
		_, said = call(t, c, "demo.wipe", `{"what":"disk"}`) // it was collected: this is another
		if n := len(s.pending(t)); n != 2 || !strings.Contains(said, "waiting for approval") {
			t.Errorf("%d pending: %s", n, said)
		}
	})
}

// The first answer counts, and then the client's form is cancelled.
func TestFirstAnswerCounts(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	gone := make(chan struct{})
	elsewhere := func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		s.approve(t, s.pending(t)[0].ID)
		<-ctx.Done()
		close(gone)
		return nil, ctx.Err()
	}
	c := s.connect(t, ways[0], "tester", &sdk.ClientOptions{ElicitationHandler: elsewhere})
	if res, said := call(t, c, "demo.wipe", `{"what":"disk"}`); res.IsError || s.wiped.Load() != 1 {
		t.Errorf("ran %d times: %s", s.wiped.Load(), said)
	}
	<-gone
	s.answeredBy(t, "ada")
}

// A client answers for its own session, and for no other.
func TestOnlyOwnCallsAreAnswered(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	call(t, s.connect(t, ways[0], "tester", nil), "demo.wipe", `{"what":"disk"}`)
	other, err := s.kernel.OpenSession(t.Context(), s.opt.Session)
	ok(t, err)
	id := s.pending(t)[0].ID
	by := approval.Voucher{By: "tester", Session: other.ID()}
	err = s.kernel.Approvals.AnswerVouched(t.Context(), by, id, approval.Answer{Approve: true})
	if err == nil || len(s.pending(t)) != 1 {
		t.Errorf("another session answered: %v", err)
	}
}

// A client without a human declines before anyone could have read the form. That is
// no answer: the call waits for one from elsewhere.
func TestAutomaticRefusalIsNoAnswer(t *testing.T) {
	for _, w := range ways {
		if strings.Contains(w.name, "new") {
			continue // there the question goes back with the request
		}
		for _, action := range []string{"decline", "cancel"} {
			s := newFixture(t, kernel.Config{})
			s.opt.AutoDeclineWithin = time.Hour
			h := &human{answers: []sdk.ElicitResult{says(action), says(action)}}
			c := s.connect(t, w, "headless", h.options())
			_, said := call(t, c, "demo.wipe", `{"what":"disk"}`)
			if !strings.Contains(said, "waiting for approval") || len(h.saw) != 1 {
				t.Fatalf("%s, %s: %d forms: %s", w.name, action, len(h.saw), said)
			}
			s.approve(t, s.pending(t)[0].ID)
			if _, said := call(t, c, "demo.wipe", `{"what":"disk"}`); s.wiped.Load() != 1 {
				t.Errorf("%s, %s: ran %d times: %s", w.name, action, s.wiped.Load(), said)
			}
		}
	}
}

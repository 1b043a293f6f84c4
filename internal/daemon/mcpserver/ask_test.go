package mcpserver_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/questions"
	"callgate/internal/question"
)

// An agent behind an MCP client asks: the client's human gets a form, by the old protocol
// and by the new one, and what they say is checked and typed.
func TestAskUserAtTheClient(t *testing.T) {
	form := `{"question":"Where to?","form":[{"name":"port","type":"integer","min":1,"max":9,"required":true},
		{"name":"tags","type":"multiselect","options":["a","b","c"]},{"name":"day","type":"date"},{"label":"TLS","type":"toggle"}]}`
	for name, test := range map[string]struct {
		args    string
		answers []sdk.ElicitResult
		forms   int
		has     []string
	}{
		"words":  {`{"question":"Who?"}`, inOrder(says("accept", "answer", "Ada")), 1, []string{`"approved"`, `"user_response":"Ada"`}},
		"choice": {`{"question":"Which?","choices":["x","y"]}`, inOrder(says("accept", "choice", "y")), 1, []string{`"user_response":"y"`}},
		"several": {
			`{"question":"Which?","choices":["x","y","z"],"allow_multiple":true}`,
			inOrder(says("accept", "choice_1", true, "choice_2", false, "choice_3", true)), 1,
			[]string{`"selected x, z"`, `["x","z"]`},
		},
		"a form, wrong at first": {
			form, inOrder(says("accept", "port", 9, "day", "soon"), says("accept", "port", 8, "tags_2", true, "tls", true)), 2,
			[]string{`"port":8`, `"tags":["b"]`, `"tls":true`},
		},
		"declined": {`{"question":"Who?"}`, inOrder(says("decline")), 1, []string{`"denied"`}},
		"a no":     {`{"question":"Who?"}`, inOrder(says("accept", "answer", "x", "feedback", "ask Bob")), 1, []string{`"denied"`, `"user_feedback":"ask Bob"`}},
		"content": {
			`{"question":"This?","content":"one"}`, inOrder(says("accept", "content", "two")), 1,
			[]string{`"content_was_edited":true`, `"edited_content":"two"`},
		},
		"approval": {`{"question":"Go?","response_type":"approval"}`, inOrder(says("accept", "approve", true)), 1, []string{`"approved"`}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w way) {
				s := newFixture(t, kernel.Config{})
				h := &human{answers: test.answers}
				res, said := call(t, s.connect(t, w, "tester", h.options()), "ask_user", test.args)
				if res.IsError || len(h.saw) != test.forms {
					t.Fatalf("%d forms: %s", len(h.saw), said)
				}
				data, _ := json.Marshal(res)
				for _, part := range test.has {
					if !strings.Contains(said+strings.ReplaceAll(string(data), `\"`, `"`), part) {
						t.Errorf("%q is not in %s", part, said)
					}
				}
			})
		})
	}
}

// A client without forms is told that the call waits; a human answers elsewhere, and the
// client collects the answer. So it is with a password, for which no form may ask.
func TestAskUserWithoutForms(t *testing.T) {
	id := regexp.MustCompile(`"approval":"(q[0-9a-f]+)"`)
	for name, args := range map[string]string{
		"no forms": `{"question":"Who?"}`, "a password": `{"question":"Who?","form":[{"name":"pw","type":"password"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t, kernel.Config{})
			var opt *sdk.ClientOptions
			if name == "a password" {
				h := &human{answers: inOrder(says("accept", "pw", "leaked"))}
				opt = h.options()
				defer func() {
					if len(h.saw) > 0 {
						t.Error("a form asks for a password")
					}
				}()
			}
			c := s.connect(t, ways[0], "mute", opt)
			_, said := call(t, c, "ask_user", args)
			found := id.FindStringSubmatch(strings.ReplaceAll(said, `\"`, `"`))
			if found == nil || !strings.Contains(said, "waiting for an answer") {
				t.Fatal(said)
			}
			pending, err := s.kernel.Questions.List(t.Context(), questions.Pending)
			ok(t, err)
			if len(pending) != 1 || pending[0].ID != found[1] {
				t.Fatalf("%+v waits", pending)
			}
			reply := question.Reply{Approve: true, Text: "Ada"}
			if name == "a password" {
				reply = question.Reply{Approve: true, Fields: map[string]any{"pw": "a-long-password"}}
			}
			_, err = s.kernel.Questions.AnswerVouched(t.Context(), approval.Voucher{By: "ann"}, found[1], reply)
			ok(t, err)
			_, said = call(t, c, "approvals.collect", `{"approval":"`+found[1]+`"}`)
			if !strings.Contains(said, "approved") || strings.Contains(said, "a-long-password") {
				t.Errorf("collected is %s", said)
			}
		})
	}
}

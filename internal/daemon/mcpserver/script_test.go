package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel"
)

// wipes is a script that makes calls which a human approves.
const wipes = `names = []
for n in ["a", "b", "c"]:
    names.append(demo.wipe(what=n))
names.append(demo.wipe(what="d" + names[0]["what"]))
result = [n["what"] for n in names]`

func scriptArgs(program string) string {
	args, err := json.Marshal(map[string]string{"program": program})
	if err != nil {
		panic(err)
	}
	return string(args)
}

// The calls of a script are put to the client's human in one form, by the old protocol and
// by the new one; what they say counts for all of them, or ends the script.
func TestScriptAtTheClient(t *testing.T) {
	const yes, stop = "approve these calls", "stop the script"
	decide := func(what string, more ...any) sdk.ElicitResult {
		return says("accept", append([]any{"decision", what}, more...)...)
	}
	for name, test := range map[string]struct {
		answers []sdk.ElicitResult
		forms   int
		has     []string
		wiped   int64
	}{
		"each batch": {inOrder(decide(yes), decide(yes)), 2, []string{`["a","b","c","da"]`}, 4},
		"edited":     {inOrder(decide(yes, "arguments_1", `{"what":"a"}`, "arguments_2", `{"what":"B"}`), decide(yes)), 2, []string{`["a","B","c","da"]`}, 4},
		"wrong at first": {
			inOrder(decide(yes, "arguments_1", `{"waht":1}`), decide(yes), decide(yes)), 3, []string{`["a","b","c","da"]`}, 4,
		},
		"declined": {inOrder(says("decline")), 1, []string{"line 3", "demo.wipe"}, 0},
		"denied":   {inOrder(decide("deny", "feedback", "not today")), 1, []string{"line 3", "not today"}, 0},
		"stopped":  {inOrder(decide(yes), decide(stop, "feedback", "enough")), 2, []string{"the user stopped the script: enough", "3 calls were made"}, 3},
		"elsewhere": {inOrder(says("cancel")), 1, []string{
			"waiting for approval: the script waits for a human, for 3 calls of it: demo.wipe", "What the script did before that stays done",
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w way) {
				s := newFixture(t, kernel.Config{})
				h := &human{answers: test.answers}
				res, said := call(t, s.connect(t, w, "tester", h.options()), "run_script", scriptArgs(wipes))
				data, err := json.Marshal(res)
				ok(t, err)
				all := said + strings.ReplaceAll(string(data), `\"`, `"`)
				if !containsAll(all, test.has...) || len(h.saw) != test.forms || s.wiped.Load() != test.wiped {
					t.Fatalf("%d forms, %d wiped: %s", len(h.saw), s.wiped.Load(), all)
				}
				if m := h.saw[0].Message; !containsAll(m, "A script of tester wants to make 3 calls", "1. demo.wipe, line 3", "what: a", "what: c") {
					t.Errorf("the form says %s", m)
				}
			})
		})
	}
}

// A client without forms is told that its script waits; humans answer its calls elsewhere,
// and the same call goes on where the script is.
func TestScriptWithoutForms(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	c := s.connect(t, ways[0], "mute", nil)
	_, said := call(t, c, "run_script", scriptArgs(wipes))
	if !strings.Contains(said, "waiting for approval: the script waits") {
		t.Fatal(said)
	}
	for _, n := range []int{3, 1} {
		eventually(t, "the batch waits", func() bool { return len(s.pending(t)) == n })
		for _, r := range s.pending(t) {
			s.approve(t, r.ID)
		}
	}
	eventually(t, "all are made", func() bool { return s.wiped.Load() == 4 })
	if _, said = call(t, c, "run_script", scriptArgs(wipes)); !strings.Contains(said, `["a","b","c","da"]`) || s.wiped.Load() != 4 {
		t.Errorf("it goes on with %s", said)
	}
}

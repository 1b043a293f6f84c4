package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/tool"
)

// repeated returns answers that make the calls of make, one after the other.
func repeated(n int, call func(i int) []string) []answer {
	var answers []answer
	for i := range n {
		answers = append(answers, says("", call(i)...))
	}
	return append(answers, says("enough"))
}

func failed(text string) *tool.Result {
	return &tool.Result{Status: tool.Failure, Summary: text, Content: []tool.Content{tool.Text(text)}}
}

// What repeats is the same call with the same result; a change that succeeded begins anew.
func TestLoopGuard(t *testing.T) {
	t.Parallel()
	test := func(context.Context, history.Call) *tool.Result { return failed("FAIL in 0.1s") }
	n := 0
	for name, c := range map[string]struct {
		call  func(i int) []string
		run   func(context.Context, history.Call) *tool.Result
		end   history.Reason
		calls int    // made until the end; 0: all
		note  string // the model is told; "": nothing
		why   string
	}{
		"the same call fails in the same way": {
			call: func(int) []string { return []string{`shell {"command":"go test"}`} }, run: test,
			end: history.Stuck, calls: 12, note: "called shell 5 times with the same arguments",
			why: "shell was called 12 times with the same arguments and the same result",
		},
		"it takes another time to fail": {
			call: func(int) []string { return []string{`shell {"command":"go test"}`} },
			run: func(context.Context, history.Call) *tool.Result {
				n++
				return failed(fmt.Sprintf("FAIL in 0.%ds", n))
			},
			end: history.Stuck, calls: 12, note: "called shell 5 times",
		},
		"neither spaces nor the order of keys count": {
			call: func(i int) []string {
				return []string{[]string{`look {"a":1,"b":2}`, `look { "b": 2, "a": 1 }`}[i%2]}
			},
			end: history.Stuck, calls: 12, note: "called look 5 times",
		},
		"different edits, and the test fails": {
			call: func(i int) []string {
				if i%2 == 0 {
					return []string{fmt.Sprintf(`fs__edit {"new":%d}`, i)}
				}
				return []string{`shell {"command":"go test"}`}
			},
			run: func(ctx context.Context, c history.Call) *tool.Result {
				if c.Name == "shell" {
					return test(ctx, c)
				}
				return &tool.Result{Status: tool.Success, Summary: "edited"}
			},
			end: history.Done,
		},
		"two calls in turn with the same results": {
			call: func(i int) []string { return []string{[]string{`fs__write {"t":1}`, `fs__write {"t":2}`}[i%2]} },
			end:  history.Stuck, calls: 20, note: "called fs__write 5 times",
			why: "the last 18 calls (fs__write) repeated earlier ones",
		},
		"reads between the same failures change nothing": {
			call: func(i int) []string {
				return []string{[]string{`shell {"command":"go test"}`, fmt.Sprintf(`fs__read {"n":%d}`, i)}[i%2]}
			},
			run: func(ctx context.Context, c history.Call) *tool.Result {
				if c.Name == "shell" {
					return test(ctx, c)
				}
				return &tool.Result{Status: tool.Success, Summary: "text"}
			},
			end: history.Stuck, calls: 23, note: "called shell 5 times",
		},
		"a status that changes": {
			call: func(int) []string { return []string{`shell {"command":"status"}`} },
			run: func(context.Context, history.Call) *tool.Result {
				n++
				return &tool.Result{Status: tool.Success, Summary: "s", Content: []tool.Content{tool.Text(fmt.Sprint(n, "%"))}}
			},
			end: history.Done,
		},
		"other calls that fail": {
			call: func(i int) []string { return []string{fmt.Sprintf(`shell {"command":"try %d"}`, i)} }, run: test,
			end: history.Done, note: "shell has failed 8 times in a row",
		},
		"many calls of one tool": {
			call: func(i int) []string { return []string{fmt.Sprintf(`write {"n":%d}`, i)} }, end: history.Done,
		},
		"twins of one answer count once": {
			call: func(i int) []string {
				if i > 0 {
					return []string{fmt.Sprintf(`look {"n":%d}`, i)}
				}
				return strings.Split(strings.Repeat(`look {}|`, 13)+`look {}`, "|")
			},
			end: history.Done,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n = 0
			f := setup(t, nil, repeated(40, c.call)...)
			f.tools.run = c.run
			end := f.say(t, "go")
			text := transcript(f.log)
			if end.Reason != c.end || c.calls > 0 && len(f.tools.made) != c.calls || !strings.Contains(end.Error, c.why) {
				t.Errorf("%+v after %d calls\n%s", end, len(f.tools.made), text)
			}
			if got := strings.Contains(text, "<note>"); got != (c.note != "") || !strings.Contains(text, c.note) {
				t.Errorf("the notes are wrong:\n%s", text)
			}
		})
	}
}

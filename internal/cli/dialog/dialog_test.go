package dialog_test

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/cli/dialog"
	"callgate/internal/protocol"
	"callgate/tool"
)

func request() protocol.Approval {
	return protocol.Approval{
		ID: "a1", State: protocol.ApprovalPending, Risk: tool.High, Reason: "it is risky",
		Call:    tool.Call{Tool: tool.ID{Namespace: "files", Name: "delete"}, Args: json.RawMessage(`{"path":"x"}`)},
		Choices: []protocol.Choice{{Text: "this exact call, in this folder", Exact: true}, {Text: "calls like x*, in this folder"}},
		Session: &protocol.Choice{Text: "files.delete with path: x*"},
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		edits       []string // what the person makes of the text, one by one
		refuse      int      // how many answers are found invalid
		want        []protocol.Answer
		left        bool
		says        string
	}{
		{name: "yes", typed: "a\n", want: []protocol.Answer{{Approve: true, By: "ada"}}},
		{name: "yes in a word", typed: " Yes \n", want: []protocol.Answer{{Approve: true, By: "ada"}}},
		{name: "for the session", typed: "s\n", want: []protocol.Answer{{Approve: true, Always: true, By: "ada"}},
			says: "[s]ession: approve, and allow files.delete with path: x* in this conversation"},
		{name: "for good", typed: "2\n", want: []protocol.Answer{{Approve: true, Remember: &protocol.Remember{Choice: 2}, By: "ada"}}, says: "2  calls like x*"},
		{name: "a choice that is not there, then no", typed: "3\nd\n\n", want: []protocol.Answer{{By: "ada"}}, says: "there is no choice 3"},
		{name: "no, and why", typed: "d\nnot that one\n", want: []protocol.Answer{{By: "ada", Feedback: "not that one"}}},
		{name: "no, without a why", typed: "n\n\n", want: []protocol.Answer{{By: "ada"}}},
		{name: "no, and the input ends", typed: "d\n", want: []protocol.Answer{{By: "ada"}}},
		{name: "left", typed: "q\n", left: true},
		{name: "the input ends", typed: "", left: true},
		{name: "nothing that counts, then yes", typed: "\nwhat\napproved\na\n", want: []protocol.Answer{{Approve: true, By: "ada"}}},
		{name: "edited", typed: "e\n", edits: []string{`{"path":"y"}`},
			want: []protocol.Answer{{Approve: true, By: "ada", Args: json.RawMessage(`{"path":"y"}`)}}},
		{name: "edited to nothing new", typed: "e\nq\n", edits: []string{"{\n  \"path\": \"x\"\n}\n"}, left: true, says: "nothing was changed"},
		{name: "edited to no JSON, then mended", typed: "e\ne\n", edits: []string{`{"path"`, `{"path":"y"}`}, says: "not one JSON object",
			want: []protocol.Answer{{Approve: true, By: "ada", Args: json.RawMessage(`{"path":"y"}`)}}},
		{name: "edited to something invalid, then left", typed: "e\nq\n", edits: []string{`{"pth":"y"}`}, refuse: 1, left: true, says: "pth is not known",
			want: []protocol.Answer{{Approve: true, By: "ada", Args: json.RawMessage(`{"pth":"y"}`)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			var got []protocol.Answer
			var shown []string
			d := dialog.Dialog{
				In: strings.NewReader(c.typed), Out: &out, By: "ada",
				Edit: func(text []byte) ([]byte, error) {
					shown = append(shown, string(text))
					return []byte(c.edits[len(shown)-1]), nil
				},
				Answer: func(a protocol.Answer) error {
					got = append(got, a)
					if len(got) <= c.refuse {
						return tool.Errorf("test", tool.Invalid, "pth is not known")
					}
					return nil
				},
			}
			left, err := d.Run(t.Context(), request())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if left != c.left {
				t.Errorf("left is %v, want %v", left, c.left)
			}
			for _, want := range []string{"files.delete", "high risk", "it is risky", "path: x", c.says} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, out.String())
				}
			}
			if len(shown) == 2 && shown[1] != c.edits[0] {
				t.Errorf("the second edit begins with %q, not with what was written before", shown[1])
			}
		})
	}
}

func TestRunEndsWhenAnsweredElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, answered := context.WithCancel(t.Context())
		in, typing := io.Pipe()
		ended := make(chan error)
		d := dialog.Dialog{In: in, Out: io.Discard, Answer: func(protocol.Answer) error { return nil }}
		go func() {
			_, err := d.Run(ctx, request())
			ended <- err
		}()
		synctest.Wait() // it waits for a line
		answered()
		if err := <-ended; tool.KindOf(err) != tool.Cancelled {
			t.Errorf("it ended with %v", err)
		}
		typing.Close()
	})
}

func TestRunStopsAtOtherErrors(t *testing.T) {
	for _, kind := range []tool.Kind{tool.Conflict, tool.Denied, tool.Unavailable} {
		d := dialog.Dialog{
			In:     strings.NewReader("a\na\n"),
			Out:    io.Discard,
			Answer: func(protocol.Answer) error { return tool.Errorf("test", kind, "no") },
		}
		if _, err := d.Run(t.Context(), request()); tool.KindOf(err) != kind {
			t.Errorf("it ended with %v, want one of kind %s", err, kind)
		}
	}
}

func TestEditor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	for _, c := range []struct {
		command, want string
		fails         tool.Kind
	}{
		{command: "true", want: "one\n"},
		{command: `sed -i.bak -e s/one/two/`, want: "two\n"},
		{command: `f() { printf 'three' > "$1"; }; f`, want: "three"},
		{command: "false", fails: tool.Failed},
		{command: "rm", fails: tool.Failed},
		{command: "callgate-has-no-such-editor", fails: tool.Failed},
	} {
		got, err := dialog.Editor{Command: c.command, Stderr: io.Discard}.Edit(t.Context(), []byte("one\n"))
		if tool.KindOf(err) != c.fails || string(got) != c.want {
			t.Errorf("%q made %q of it, and ended with %v", c.command, got, err)
		}
	}
}

// A command is shown as a person reads it, a long one in part, with how to see the rest;
// a call that is asked about each time offers no yes for the session.
func TestQuestionShowsACommandAsTyped(t *testing.T) {
	t.Parallel()
	r := request()
	r.Session = nil
	r.Call.Args = json.RawMessage(`{"command":"cat \u003e a \u003c\u003cEOF 2\u003e\u00261\nhello\u001b[2J\nEOF` +
		strings.Repeat(`\nx`, 200) + `","description":"write"}`)
	var out strings.Builder
	d := dialog.Dialog{In: strings.NewReader("s\nq\n"), Out: &out, By: "ada"}
	if left, err := d.Run(t.Context(), r); err != nil || !left {
		t.Errorf("%v, %v", left, err)
	}
	for _, want := range []string{
		"    command:\n      cat > a <<EOF 2>&1\n      hello⟨U+001B⟩[2J\n      EOF\n", "more lines: callgate approvals show a1",
		"a yes to this is for once",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "[s]ession") || strings.Contains(out.String(), `\u00`) || strings.Count(out.String(), "\n") > 90 {
		t.Errorf("it says\n%s", out.String())
	}
}

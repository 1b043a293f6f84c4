package tui

import (
	"errors"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/protocol"
	"callgate/tool"
)

const writeArgs = `{"path":"a.txt","content":"one\nTWO\nthree\n","mode":"overwrite"}`

// withApproval runs a test in which a call waits for a human.
func withApproval(t *testing.T, script func(*scriptedKernel, *Options), test func(*harness)) {
	t.Helper()
	runChat(t, func(k *scriptedKernel, o *Options) {
		o.ReadFile = func(path string) ([]byte, error) {
			if path != "/w/a.txt" {
				return nil, errors.New("there is no such file")
			}
			return []byte("one\ntwo\nthree\n"), nil
		}
		if script != nil {
			script(k, o)
		}
	}, func(h *harness) {
		h.typeText("write it\n")
		call := agentCall("c1", "filesystem__write", writeArgs)
		h.emit(callEvent(call), approvalEvent(call, writeArgs, tool.Claim{Resource: "file:/w/a.txt", Mode: tool.U}))
		test(h)
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(*harness)
		want []protocol.Answer
	}{
		{"yes", func(h *harness) { h.typeText("a\n") }, []protocol.Answer{{Approve: true, By: "me"}}},
		{"for the session", func(h *harness) { h.typeText("session\n") },
			[]protocol.Answer{{Approve: true, Always: true, By: "me"}}},
		{"for good", func(h *harness) {
			h.typeText("k\n")
			h.wantShown("[1] this exact call, in this folder", "[2] calls like src/**")
			h.typeText("2")
			h.wantShown("enter: approve, and keep 2")
			h.press("enter")
		}, []protocol.Answer{{Approve: true, Remember: &protocol.Remember{Choice: 2}, By: "me"}}},
		{"a number of what is not shown", func(h *harness) {
			h.typeText("1\n")
			h.wantShown("that is no answer")
		}, nil},
		{"no such choice", func(h *harness) {
			h.typeText("keep\n3\n")
			h.wantShown("there is no choice 3")
			h.typeText("1 soon\n")
			h.wantShown("is not an end date")
		}, nil},
		{"no", func(h *harness) { h.typeText("d\nnot today\n") }, []protocol.Answer{{Feedback: "not today", By: "me"}}},
		{"no, after all yes", func(h *harness) {
			h.typeText("d\n")
			h.press("esc")
			h.typeText("y\n")
		}, []protocol.Answer{{Approve: true, By: "me"}}},
		{"a key is no answer", func(h *harness) {
			h.typeText("a")
			h.wantShown("enter: approve")
			h.press("backspace", "a", "d", "s")
		}, nil},
		{"words are no answer", func(h *harness) {
			h.typeText("banana\n")
			h.wantShown("that is no answer")
			h.press("enter")
		}, nil},
		{"nor is a paste", func(h *harness) { h.do(tea.PasteMsg{Content: "a\n"}) }, nil},
		{"left", func(h *harness) {
			h.typeText("q\n")
			h.wantShown("filesystem.write waits for your answer: tab", "left waiting")
			h.typeText("a")
			h.wantShown("> a")
			h.press("tab")
			h.wantShown("A human must decide")
		}, nil},
		{"edited", func(h *harness) {
			h.typeText("e\n")
			h.press("down", "end", "left", "left")
			h.typeText("!")
			h.press("ctrl+s")
		}, []protocol.Answer{{Approve: true, By: "me",
			Args: []byte("{\n  \"path\": \"a.txt!\",\n  \"content\": \"one\\nTWO\\nthree\\n\",\n" +
				"  \"mode\": \"overwrite\"\n}")}}},
		{"edited, and not changed", func(h *harness) {
			h.typeText("e\n")
			h.press("ctrl+s")
			h.wantShown("nothing was changed")
		}, nil},
		{"edited into nonsense", func(h *harness) {
			h.typeText("e\n[")
			h.press("ctrl+s")
			h.wantShown("not one JSON object", "ctrl+s approves it as edited")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			withApproval(t, nil, func(h *harness) {
				h.wantShown("A human must decide", "filesystem.write  medium risk", "5 min left", "why: a rule says so",
					"changes: file:/w/a.txt",
					"-two", "+TWO", "[a]pprove  [d]eny  [e]dit")
				c.do(h)
				if d := cmp.Diff(c.want, h.kernel.answers); d != "" {
					t.Error(d)
				}
				if c.want != nil {
					h.wantHidden("A human must decide")
				}
			})
		})
	}
}

func TestEditRefusedByTheKernel(t *testing.T) {
	t.Parallel()
	withApproval(t, func(k *scriptedKernel, _ *Options) {
		k.refuse = func(a protocol.Answer) error {
			if string(a.Args[:3]) == "{ \n" {
				return nil
			}
			return tool.Errorf("arbiter", tool.Invalid, "filesystem.write has no parameter pth")
		}
	}, func(h *harness) {
		h.typeText("e\n")
		h.press("end")
		h.typeText("\n")
		h.press("ctrl+s")
		h.wantShown("filesystem.write has no parameter pth", "ctrl+s approves it as edited")
		if h.kernel.answers != nil {
			t.Fatal("it was answered")
		}
		h.press("esc")
		h.wantShown("[a]pprove")
		h.typeText("e\n") // the draft is where it was
		h.press("end")
		h.typeText(" ")
		h.press("ctrl+s")
		h.wantHidden("A human must decide")
		h.wantShown(`→ filesystem.write a.txt, content: `)
	})
}

// The pane shows the arguments that "a" approves, whatever is in the editor.
func TestDraftIsNotShownAsTheArguments(t *testing.T) {
	t.Parallel()
	withApproval(t, nil, func(h *harness) {
		h.do(tea.WindowSizeMsg{Width: 80, Height: 50})
		h.typeText("e\n")
		h.press("down", "end", "left", "left")
		h.typeText("DRAFT")
		h.wantShown("DRAFT")
		h.press("esc")
		h.wantHidden("DRAFT")
		h.typeText("a\n")
		if got := h.kernel.answers; len(got) != 1 || got[0].Args != nil {
			t.Errorf("answered %+v", got)
		}
	})
}

func TestApprovalLeavesTheKeyboardToAWriter(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("write it\nand then ")
		call := agentCall("c1", "filesystem__write", writeArgs)
		h.emit(callEvent(call), approvalEvent(call, writeArgs))
		h.typeText("a\n")
		h.wantShown("waits for your answer: tab", "and then a")
		if h.kernel.answers != nil {
			t.Fatal("somebody who wrote something else has answered")
		}
		h.press("tab")
		h.typeText("a\n")
		if len(h.kernel.answers) != 1 {
			t.Error("it was not answered")
		}
		h.wantShown("and then a")
	})
}

func TestApprovalIsRemoved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(*harness)
		says string
	}{
		{"the call has ended", func(h *harness) {
			h.emit(resultEvent(agentCall("c1", "filesystem__write", writeArgs), tool.Failure, "refused elsewhere"))
		}, "refused elsewhere"},
		{"the turn has", func(h *harness) { h.emit(endEvent(protocol.EndCancelled)) }, "stopped"},
		{"its time is up", func(h *harness) { h.advance(6 * time.Minute) }, "filesystem.write"},
		{"somebody was faster", func(h *harness) {
			h.kernel.refuse = func(protocol.Answer) error {
				return tool.Errorf("approval", tool.Conflict, "it was approved already")
			}
			h.typeText("a\n")
		}, "answered elsewhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			withApproval(t, nil, func(h *harness) {
				c.do(h)
				h.wantHidden("A human must decide")
				h.wantShown(c.says)
				h.typeText("next")
				h.wantShown("> next")
			})
		})
	}
}

func TestApprovalAnsweredElsewhereOnly(t *testing.T) {
	t.Parallel()
	withApproval(t, func(k *scriptedKernel, _ *Options) { k.about.Human = false }, func(h *harness) {
		h.wantHidden("[a]pprove")
		h.wantShown("filesystem.write waits for a human", "callgate approvals approve a1")
	})
}

func TestInterruptDuringAnApproval(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"", "e\n", "d\n", "q\n"} {
		withApproval(t, nil, func(h *harness) {
			h.typeText(typed)
			h.press("ctrl+c")
			h.emit(endEvent(protocol.EndCancelled))
			if h.kernel.halts != 1 || h.kernel.answers != nil {
				t.Errorf("after %q: %d turns were stopped, answered %v", typed, h.kernel.halts, h.kernel.answers)
			}
			h.wantHidden("A human must decide")
			h.wantShown("stopped")
		})
	}
}

// A shell command stands on the screen as a person types it, and what a yes for the
// conversation covers stands beside it.
func TestCommandIsShownAsTyped(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("test it\n")
		args := `{"command":"go test ./... 2\u003e\u00261 \u003c\u003cEOF\nline two\nEOF","description":"run the tests"}`
		call := agentCall("c1", "shell__bash", args)
		event := approvalEvent(call, args)
		event.Approval.Call.Tool = tool.ID{Namespace: "shell", Name: "bash", Version: tool.Version{Major: 1}}
		event.Approval.Session = &protocol.Choice{Text: "`go test *`"}
		h.emit(callEvent(call), event)
		h.wantShown("command:", "  go test ./... 2>&1 <<EOF", "  line two", "description: run the tests", "`go test *`")
	})
}

// Several calls are answered at once, when all of them are on the screen.
func TestAllAreAnsweredTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed string
		want  []protocol.Answer
	}{
		{"a\n", []protocol.Answer{{Approve: true, By: "me"}, {Approve: true, By: "me"}}},
		{"d\nnot these\n", []protocol.Answer{{Feedback: "not these", By: "me"}, {Feedback: "not these", By: "me"}}},
		{"s\n", nil},
	} {
		withApproval(t, nil, func(h *harness) {
			call := agentCall("c2", "filesystem__write", `{"path":"b.txt","content":"x"}`)
			second := approvalEvent(call, `{"path":"b.txt","content":"x"}`)
			second.Approval.ID = "a2"
			h.emit(callEvent(call), second)
			h.wantShown("and 1 more")
			h.typeText("all\n")
			h.wantShown("A human must decide: 2 calls", "path: a.txt", "path: b.txt", "[a]pprove all 2")
			h.typeText(c.typed)
			if d := cmp.Diff(c.want, h.kernel.answers); d != "" {
				t.Errorf("%q: %s", c.typed, d)
			}
		})
	}
}

// The calls of a script are answered together, for its rest too, or end it.
func TestScriptIsAnsweredTogether(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]protocol.Answer{
		"script\n":      {Approve: true, Script: true, By: "me"},
		"all\nscript\n": {Approve: true, Script: true, With: []string{"a2"}, By: "me"},
		"all\nstop\n":   {Script: true, By: "me"},
		"stop\n":        {Script: true, By: "me"},
	} {
		runChat(t, nil, func(h *harness) {
			h.typeText("go\n")
			for i, id := range []string{"a1", "a2"} {
				call := agentCall("c1.s"+id, "filesystem__write", `{"path":"out/1.txt"}`)
				asked := approvalEvent(call, `{"path":"out/1.txt"}`)
				asked.Approval.ID = id
				asked.Approval.Script = &protocol.ScriptPlace{
					Call: "c1", Program: "a\nb", Line: i + 1, Batch: 1, Offer: &protocol.Choice{Text: "path: out/*.txt"},
				}
				h.emit(asked)
			}
			h.wantShown("line 1 of a script: a", "[script]: approve, and allow path: out/*.txt for the rest", "[stop]")
			h.typeText(typed)
			if d := cmp.Diff([]protocol.Answer{want}, h.kernel.answers); d != "" {
				t.Errorf("%q: %s", typed, d)
			}
			h.emit(endEvent(protocol.EndDone))
		})
	}
}

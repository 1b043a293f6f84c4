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

// asking has a call wait for a human.
func asking(t *testing.T, script func(*scripted, *Options), test func(*stage)) {
	t.Helper()
	onStage(t, func(k *scripted, o *Options) {
		o.ReadFile = func(path string) ([]byte, error) {
			if path != "/w/a.txt" {
				return nil, errors.New("there is no such file")
			}
			return []byte("one\ntwo\nthree\n"), nil
		}
		if script != nil {
			script(k, o)
		}
	}, func(s *stage) {
		s.types("write it\n")
		call := made("c1", "filesystem__write", writeArgs)
		s.tell(callMoment(call), question1(call, writeArgs, tool.Claim{Resource: "file:/w/a.txt", Mode: tool.U}))
		test(s)
	})
}

func TestQuestion(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*stage)
		want []protocol.Answer
	}{
		{"yes", func(s *stage) { s.types("a\n") }, []protocol.Answer{{Approve: true, By: "me"}}},
		{"for the session", func(s *stage) { s.types("session\n") }, []protocol.Answer{{Approve: true, Always: true, By: "me"}}},
		{"no", func(s *stage) { s.types("d\nnot today\n") }, []protocol.Answer{{Feedback: "not today", By: "me"}}},
		{"no, after all yes", func(s *stage) {
			s.types("d\n")
			s.press("esc")
			s.types("y\n")
		}, []protocol.Answer{{Approve: true, By: "me"}}},
		{"a key is no answer", func(s *stage) {
			s.types("a")
			s.sees("enter: approve")
			s.press("backspace", "a", "d", "s")
		}, nil},
		{"words are no answer", func(s *stage) {
			s.types("banana\n")
			s.sees("that is no answer")
			s.press("enter")
		}, nil},
		{"nor is a paste", func(s *stage) { s.do(tea.PasteMsg{Content: "a\n"}) }, nil},
		{"left", func(s *stage) {
			s.types("q\n")
			s.sees("filesystem.write waits for your answer: tab", "left waiting")
			s.types("a")
			s.sees("> a")
			s.press("tab")
			s.sees("A human must decide")
		}, nil},
		{"edited", func(s *stage) {
			s.types("e\n")
			s.press("down", "end", "left", "left")
			s.types("!")
			s.press("ctrl+s")
		}, []protocol.Answer{{Approve: true, By: "me", Args: []byte("{\n  \"path\": \"a.txt!\",\n  \"content\": \"one\\nTWO\\nthree\\n\",\n  \"mode\": \"overwrite\"\n}")}}},
		{"edited, and not changed", func(s *stage) {
			s.types("e\n")
			s.press("ctrl+s")
			s.sees("nothing was changed")
		}, nil},
		{"edited into nonsense", func(s *stage) {
			s.types("e\n[")
			s.press("ctrl+s")
			s.sees("not one JSON object", "ctrl+s approves it as edited")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			asking(t, nil, func(s *stage) {
				s.sees("A human must decide", "filesystem.write  medium risk", "5 min left", "why: a rule says so", "touches: file:/w/a.txt (U)",
					"-two", "+TWO", "[a]pprove  [d]eny  [e]dit")
				c.do(s)
				if d := cmp.Diff(c.want, s.kernel.answers); d != "" {
					t.Error(d)
				}
				if c.want != nil {
					s.seesNot("A human must decide")
				}
			})
		})
	}
}

func TestEditThatTheKernelRefuses(t *testing.T) {
	asking(t, func(k *scripted, _ *Options) {
		k.refuse = func(a protocol.Answer) error {
			if string(a.Args[:3]) == "{ \n" {
				return nil
			}
			return tool.Errorf("arbiter", tool.Invalid, "filesystem.write has no parameter pth")
		}
	}, func(s *stage) {
		s.types("e\n")
		s.press("end")
		s.types("\n")
		s.press("ctrl+s")
		s.sees("filesystem.write has no parameter pth", "ctrl+s approves it as edited")
		if s.kernel.answers != nil {
			t.Fatal("it was answered")
		}
		s.press("esc")
		s.sees("[a]pprove")
		s.types("e\n") // the draft is where it was
		s.press("end")
		s.types(" ")
		s.press("ctrl+s")
		s.seesNot("A human must decide")
		s.sees(`→ filesystem.write {"path":"a.txt"`)
	})
}

// What is shown is what "a" approves, whatever was tried in the editor.
func TestDraftIsNotShownAsTheArguments(t *testing.T) {
	asking(t, nil, func(s *stage) {
		s.do(tea.WindowSizeMsg{Width: 80, Height: 50})
		s.types("e\n")
		s.press("down", "end", "left", "left")
		s.types("DRAFT")
		s.sees("DRAFT")
		s.press("esc")
		s.seesNot("DRAFT")
		s.types("a\n")
		if got := s.kernel.answers; len(got) != 1 || got[0].Args != nil {
			t.Errorf("answered %+v", got)
		}
	})
}

func TestQuestionDoesNotTakeTheKeyboard(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		s.types("write it\nand then ")
		call := made("c1", "filesystem__write", writeArgs)
		s.tell(callMoment(call), question1(call, writeArgs))
		s.types("a\n")
		s.sees("waits for your answer: tab", "and then a")
		if s.kernel.answers != nil {
			t.Fatal("somebody who wrote something else has answered")
		}
		s.press("tab")
		s.types("a\n")
		if len(s.kernel.answers) != 1 {
			t.Error("it was not answered")
		}
		s.sees("and then a")
	})
}

func TestQuestionGoesAway(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*stage)
		says string
	}{
		{"the call has ended", func(s *stage) {
			s.tell(result(made("c1", "filesystem__write", writeArgs), tool.Failure, "refused elsewhere"))
		}, "refused elsewhere"},
		{"the turn has", func(s *stage) { s.tell(end(protocol.EndCancelled)) }, "stopped"},
		{"its time is up", func(s *stage) { s.pass(6 * time.Minute) }, "filesystem.write"},
		{"somebody was faster", func(s *stage) {
			s.kernel.refuse = func(protocol.Answer) error {
				return tool.Errorf("approval", tool.Conflict, "it was approved already")
			}
			s.types("a\n")
		}, "answered elsewhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asking(t, nil, func(s *stage) {
				c.do(s)
				s.seesNot("A human must decide")
				s.sees(c.says)
				s.types("next")
				s.sees("> next")
			})
		})
	}
}

func TestNobodyHereMayAnswer(t *testing.T) {
	asking(t, func(k *scripted, _ *Options) { k.about.Human = false }, func(s *stage) {
		s.seesNot("[a]pprove")
		s.sees("filesystem.write waits for a human", "callgate approvals approve a1")
	})
}

func TestPreview(t *testing.T) {
	file := "one\ntwo\nthree\n"
	for _, c := range []struct{ name, tool, args, want string }{
		{"write", "write", `{"content":"new"}`, "new"},
		{"append", "write", `{"content":"four\n","mode":"append"}`, "one\ntwo\nthree\nfour\n"},
		{"replace", "edit", `{"old":"two","new":"2"}`, "one\n2\nthree\n"},
		{"replace all", "edit", `{"old":"o","new":"0","all":true}`, "0ne\ntw0\nthree\n"},
		{"several", "edit", `{"edits":[{"old":"one","new":"1"},{"op":"append","new":"4\n"}]}`, "1\ntwo\nthree\n4\n"},
		{"lines", "edit", `{"op":"replace_lines","line":1,"end_line":2,"new":"x\n"}`, "x\nthree\n"},
		{"insert", "edit", `{"op":"insert","line":2,"new":"x\n"}`, "one\nx\ntwo\nthree\n"},
		{"what is not there", "edit", `{"old":"nosuch","new":"x"}`, ""},
		{"beyond the end", "edit", `{"op":"replace_lines","line":9,"end_line":12,"new":"x\n"}`, ""},
		{"before the beginning", "edit", `{"op":"insert","new":"x\n"}`, ""},
		{"another op", "edit", `{"op":"turn","new":"x\n"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := protocol.Approval{Call: tool.Call{Tool: tool.ID{Namespace: "filesystem", Name: c.tool}, Args: []byte(c.args)}}
			got, ok := changeOf(r)(file, true)
			if got != c.want || ok != (c.want != "") {
				t.Errorf("it would be %q (%v), want %q", got, ok, c.want)
			}
		})
	}
	if changeOf(protocol.Approval{Call: tool.Call{Tool: tool.ID{Namespace: "shell", Name: "bash"}}}) != nil {
		t.Error("a command has a preview")
	}
}

func TestInterruptInAQuestion(t *testing.T) {
	for _, typed := range []string{"", "e\n", "d\n", "q\n"} {
		asking(t, nil, func(s *stage) {
			s.types(typed)
			s.press("ctrl+c")
			s.tell(end(protocol.EndCancelled))
			if s.kernel.halts != 1 || s.kernel.answers != nil {
				t.Errorf("after %q: %d turns were stopped, answered %v", typed, s.kernel.halts, s.kernel.answers)
			}
			s.seesNot("A human must decide")
			s.sees("stopped")
		})
	}
}

package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

func TestAnswerAsItComes(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		s.types("hello\n")
		s.sees("> hello", "working; esc stops it")
		s.tell(text("# A head\n\nSome **bo"))
		s.sees("# A head", "Some **bo")
		s.tell(text("ld** words\n\n- one\n- t"))
		s.sees("Some bold words", "• one", "• t")
		s.tell(text("wo\n\n```go\nfunc main() {}\n```\n"), end(protocol.EndDone))
		s.sees("• two", "func main() {}", "2 calls", "$0.0123")
		s.seesNot("working", "```", "**")
		if !strings.Contains(s.View().Content, "\x1b[1mbold") {
			t.Errorf("bold words are not: %q", s.View().Content)
		}
	})
}

func TestCallAsItRuns(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		call := made("c1", "shell__bash", `{"command":"make test"}`)
		s.types("go\n")
		s.tell(callMoment(call))
		s.sees(`→ shell.bash {"command":"make test"}`, "a call runs")
		s.kernel.mu.Lock()
		s.kernel.locks.Waiting = []protocol.WaitingLock{{Resource: "file:/w/a", Holder: protocol.LockHolder{Call: "c1"}, Behind: protocol.LockBlocker{Holder: protocol.LockHolder{Call: "c9", Tool: "filesystem.write"}}}}
		s.kernel.mu.Unlock()
		s.pass(2 * time.Second)
		s.sees("waits for file:/w/a, held by call c9 (filesystem.write)", "2.0 s")
		s.kernel.mu.Lock()
		s.kernel.locks.Waiting = nil
		s.kernel.mu.Unlock()
		for _, line := range []string{"one\n", "two\n", "50%\r", "100%\r\n", "three\nfour\nfive\nsix\n"} {
			s.tell(protocol.TurnEvent{Output: &protocol.Output{Call: "c1", Stream: "stdout", Text: []byte(line)}})
		}
		s.pass(time.Second)
		s.sees("│ 100%", "│ six")
		s.seesNot("waits for", "│ one", "50%")
		s.tell(result(call, tool.Success, "exit code 0", "all of it\n"))
		s.sees("✓ shell.bash", "exit code 0", "3.0 s")
		s.seesNot("│ six", "all of it")
		s.press("ctrl+o")
		s.sees(`"command": "make test"`, "│ one", "│ six", "│ all of it")
		s.press("ctrl+o")
		s.seesNot("│ one")
		row := strings.Count(strings.Split(s.shows(), "✓ shell")[0], "\n")
		s.do(tea.MouseClickMsg{X: 3, Y: row, Button: tea.MouseLeft})
		s.sees("│ all of it")
		failed := made("c2", "execute_tool", `{"name":"filesystem.read","params":{"path":"nosuch"}}`)
		s.tell(callMoment(failed), result(failed, tool.Failure, "there is no file nosuch"), end(protocol.EndDone))
		s.sees(`✗ filesystem.read {"path":"nosuch"}`, "there is no file nosuch")
	})
}

func TestInterrupt(t *testing.T) {
	for _, key := range []string{"esc", "ctrl+c"} {
		t.Run(key, func(t *testing.T) {
			onStage(t, nil, func(s *stage) {
				s.types("go\n")
				s.press(key)
				s.sees("stopping; once more leaves")
				if s.kernel.halts != 1 || s.left {
					t.Fatalf("%d turns were stopped, left: %v", s.kernel.halts, s.left)
				}
				s.tell(end(protocol.EndCancelled))
				s.sees("stopped")
				s.types("again\n")
				s.press(key)
				s.press(key)
				if !s.left {
					t.Error("the second time does not leave")
				}
			})
		})
	}
	t.Run("where nothing is under way", func(t *testing.T) {
		onStage(t, nil, func(s *stage) {
			s.types("some words")
			s.press("ctrl+c")
			s.seesNot("some words", "again leaves")
			s.press("ctrl+c")
			s.sees("ctrl+c again leaves")
			s.press("x", "backspace", "ctrl+c")
			if s.left {
				t.Fatal("a key between does not count")
			}
			s.press("ctrl+c")
			if !s.left {
				t.Error("the second time does not leave")
			}
		})
	})
	t.Run("ctrl+d", func(t *testing.T) {
		onStage(t, nil, func(s *stage) {
			s.press("ctrl+d")
			if !s.left {
				t.Error("it does not leave")
			}
		})
	})
}

func TestWhatIsSaidWhileATurnRuns(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		s.types("one\n")
		s.types("two\n")
		s.sees("a turn is under way: esc stops it", "> two")
		s.tell(end(protocol.EndDone))
		s.press("enter")
		if d := cmp.Diff([]string{"one", "two"}, s.kernel.said); d != "" {
			t.Error(d)
		}
	})
}

func TestHistoryAndLines(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		for _, words := range []string{"first", "second"} {
			s.types(words + "\n")
			s.tell(end(protocol.EndDone))
		}
		s.types("draft")
		for _, step := range []struct{ key, want string }{{"up", "second"}, {"up", "first"}, {"up", "first"}, {"down", "second"}, {"down", "draft"}, {"down", "draft"}} {
			s.press(step.key)
			if got := s.field.Text(); got != step.want {
				t.Errorf("after %s: %q, want %q", step.key, got, step.want)
			}
		}
		s.press("ctrl+c")
		s.types("a")
		s.press("alt+enter")
		s.types("b")
		s.press("ctrl+j")
		s.do(tea.PasteMsg{Content: "c\nd"})
		s.press("up", "up", "up") // within the text
		if got := s.field.Text(); got != "a\nb\nc\nd" {
			t.Errorf("the field holds %q", got)
		}
		s.press("enter")
		if got := s.kernel.said[2]; got != "a\nb\nc\nd" {
			t.Errorf("said %q", got)
		}
		s.sees("> a\n  b\n  c\n  d")
	})
}

// busy fills a screen with everything that there is.
func busy(s *stage) {
	s.types("what is in the files of this folder, and what are they for?\n")
	call := made("c1", "filesystem__write", `{"path":"a.txt","content":"`+strings.Repeat("長い ", 40)+`"}`)
	s.tell(text("A paragraph with a link to [somewhere](https://example.com/a/very/long/path/that/goes/on/and/on) and **bold** words.\n\n| a | b |\n|---|---|\n| 1 | "+strings.Repeat("wide ", 30)+" |\n\n"),
		text("> quoted\n\n1. one\n2. two\n\n"+strings.Repeat("x", 300)+"\n"),
		callMoment(call), protocol.TurnEvent{Output: &protocol.Output{Call: "c1", Text: []byte(strings.Repeat("output ", 40) + "\n")}},
		protocol.TurnEvent{Notice: strings.Repeat("a notice ", 20)})
}

func TestEveryWidth(t *testing.T) {
	memory := protocol.Prompt{Sections: []protocol.PromptSection{{Name: "memory", Text: "<working_memory>\nGoal: " + strings.Repeat("ship it ", 20) + "\n[x] t1 tests\n[ ] t2 docs\n</working_memory>"}}}
	for _, state := range []struct {
		name string
		make func(*stage)
	}{
		{"a turn", busy},
		{"a question", func(s *stage) {
			busy(s)
			s.tell(question1(made("c1", "filesystem__write", ""), `{"path":"a.txt","content":"`+strings.Repeat("long ", 100)+`\n"}`, tool.Claim{Resource: "file:/w/" + strings.Repeat("deep/", 30) + "a.txt"}))
		}},
		{"editing", func(s *stage) {
			busy(s)
			s.tell(question1(made("c1", "filesystem__write", ""), `{"path":"a.txt","content":"`+strings.Repeat("long ", 100)+`\n"}`))
			s.types("e\n")
		}},
		{"refusing", func(s *stage) {
			busy(s)
			s.tell(question1(made("c1", "filesystem__write", ""), `{"path":"a.txt"}`))
			s.types("d\n")
		}},
		{"suggesting", func(s *stage) { s.types("/") }},
		{"choosing", func(s *stage) {
			s.kernel.list = []protocol.ConversationInfo{{ID: "t2", Title: strings.Repeat("title ", 40), Turns: 1, Updated: time.Now()}, {ID: "t3", Turns: 2}}
			s.types("/sessions\n")
			s.sees("which conversation?")
		}},
		{"many lines", func(s *stage) { s.do(tea.PasteMsg{Content: strings.Repeat("line\n", 50)}) }},
	} {
		t.Run(state.name, func(t *testing.T) {
			onStage(t, func(k *scripted, _ *Options) { k.prompt = memory }, func(s *stage) {
				state.make(s)
				for _, size := range [][2]int{{80, 24}, {40, 24}, {40, 10}, {41, 8}, {99, 30}, {100, 30}, {160, 50}, {80, 5}, {200, 3}, {40, 12}} {
					s.do(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					s.widths(size[0])
				}
			})
		})
	}
}

func TestPlanBeside(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		s.do(tea.WindowSizeMsg{Width: 100, Height: 24})
		s.seesNot("plan")
		s.kernel.mu.Lock()
		s.kernel.prompt.Sections = []protocol.PromptSection{{Name: "memory", Text: "<working_memory>\n# Working memory\nGoal: ship it\nTasks (1 of 2 completed):\n[x] t1 tests\n[ ] t2 docs  <- next\n</working_memory>"}}
		s.kernel.mu.Unlock()
		s.types("plan\n")
		call := made("c1", "memory__set_goal", `{"goal":"ship it"}`)
		s.tell(callMoment(call), result(call, tool.Success, "the goal is set"))
		s.sees("│ plan", "│ Goal: ship it", "[x] t1 tests", "[ ] t2 docs  <- next")
		s.do(tea.WindowSizeMsg{Width: 99, Height: 24})
		s.seesNot("Goal: ship it", "working_memory")
	})
}

// Nothing that a model, a tool, a file or an app says is obeyed by a terminal.
func TestNothingIsObeyed(t *testing.T) {
	const bad = "x\x1b[2J\x1b]0;owned\x07\x1b]8;;http://bad\x07y\u202ez\u009b31m\r"
	entities := "&#27;[2J &#x1b;]0;a&#7; `&#27;[8m` &amp;#27;[1A &rlm; &#8238; [a](http://b&#27;c) <b>tag</b> <!-- gone -->"
	onStage(t, func(k *scripted, o *Options) {
		k.about.Agent, k.about.Model, k.about.App, k.about.Warnings = bad, bad, bad, []string{bad}
		k.about.Skills = []protocol.Skill{{Command: "sk", Description: bad}}
		k.list = []protocol.ConversationInfo{{ID: bad, Title: bad, Turns: 1, App: bad}}
		k.prompt.Sections = []protocol.PromptSection{{Name: "memory", Text: "Goal: " + bad}, {Name: bad, Text: bad}}
		k.prompt.Text = bad
		o.ReadFile = func(string) ([]byte, error) { return []byte(bad), nil }
	}, func(s *stage) {
		s.do(tea.WindowSizeMsg{Width: 140, Height: 60})
		check := func(where string) {
			t.Helper()
			content := s.View().Content
			for _, row := range strings.Split(ansi.Strip(content), "\n") {
				for _, r := range row {
					if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200f' {
						t.Errorf("%s: %q is on the screen: %q", where, r, row)
					}
				}
			}
			if strings.Contains(content, "\x1b]") || strings.Contains(content, "\x1b[2J") || strings.Contains(content, "\x1b[8m") {
				t.Errorf("%s: commands are on the screen: %q", where, content)
			}
		}
		check("the beginning")
		s.types("go\n")
		call := made("c1", bad, `{"a":"`+"\u202e"+`"}`)
		s.tell(text(bad+"\n\n"+entities+"\n\n```\n"+bad+entities+"\n```\n\n| a |\n|---|\n| "+bad+entities+" |\n"), callMoment(call),
			protocol.TurnEvent{Output: &protocol.Output{Call: "c1", Text: []byte(bad)}}, protocol.TurnEvent{Notice: bad},
			protocol.TurnEvent{Delta: &llm.Delta{Kind: llm.DeltaReasoning, Text: bad}})
		check("a call")
		s.sees("<b>tag</b>", "<!-- gone -->")
		s.press("ctrl+o")
		check("details")
		s.tell(question1(call, `{"path":"`+"\u202e"+`","content":"a\u001b[2J"}`, tool.Claim{Resource: "file:" + bad}))
		s.sees("A human must decide")
		check("a question")
		s.types("e\n")
		check("an editor")
		s.press("esc")
		s.tell(result(call, tool.Failure, bad, bad), protocol.TurnEvent{Failure: &tool.Error{Message: bad}}, end(protocol.EndFailed))
		check("the end")
		for _, command := range []string{"/prompt\n", "/skills\n", "/model\n", "/help\n", "/sessions\n"} {
			s.types(command)
			check(command)
		}
	})
}

package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

func TestAnswerStreams(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("hello\n")
		h.wantShown("> hello", "working; esc stops it")
		h.emit(textEvent("# A head\n\nSome **bo"))
		h.wantShown("# A head", "Some **bo")
		h.emit(textEvent("ld** words\n\n- one\n- t"))
		h.wantShown("Some bold words", "• one", "• t")
		h.emit(textEvent("wo\n\n```go\nfunc main() {}\n```\n"), endEvent(protocol.EndDone))
		h.wantShown("• two", "func main() {}", "2 calls", "$0.0123")
		h.wantHidden("working", "```", "**")
		if !strings.Contains(h.View().Content, "\x1b[1mbold") {
			t.Errorf("bold words are not: %q", h.View().Content)
		}
	})
}

func TestCallShowsProgress(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		call := agentCall("c1", "shell__bash", `{"command":"make test"}`)
		h.typeText("go\n")
		h.emit(callEvent(call))
		h.wantShown(`→ shell.bash make test`, "a call runs")
		h.kernel.mu.Lock()
		h.kernel.locks.Waiting = []protocol.WaitingLock{{Resource: "file:/w/a", Holder: protocol.LockHolder{Call: "c1"},
			Behind: protocol.LockBlocker{Holder: protocol.LockHolder{Call: "c9", Tool: "filesystem.write"}}}}
		h.kernel.mu.Unlock()
		h.advance(2 * time.Second)
		h.wantShown("waits for file:/w/a, held by call c9 (filesystem.write)", "2.0 s")
		h.kernel.mu.Lock()
		h.kernel.locks.Waiting = nil
		h.kernel.mu.Unlock()
		for _, line := range []string{"one\n", "two\n", "50%\r", "100%\r\n", "three\nfour\nfive\nsix\n"} {
			h.emit(protocol.TurnEvent{Output: &protocol.Output{Call: "c1", Stream: "stdout", Text: []byte(line)}})
		}
		h.advance(time.Second)
		h.wantShown("│ 100%", "│ six")
		h.wantHidden("waits for", "│ one", "50%")
		h.emit(resultEvent(call, tool.Success, "exit code 0", "all of it\n"))
		h.wantShown("✓ shell.bash", "exit code 0", "3.0 s")
		h.wantHidden("│ six", "all of it")
		h.press("ctrl+o")
		h.wantShown(`│ command: make test`, "│ one", "│ six", "│ all of it")
		h.press("ctrl+o")
		h.wantHidden("│ one")
		row := strings.Count(strings.Split(h.screenText(), "✓ shell")[0], "\n")
		h.do(tea.MouseClickMsg{X: 3, Y: row, Button: tea.MouseLeft})
		h.wantShown("│ all of it")
		failed := agentCall("c2", "execute_tool", `{"name":"filesystem.read","params":{"path":"nosuch"}}`)
		h.emit(callEvent(failed), resultEvent(failed, tool.Failure, "there is no file nosuch"), endEvent(protocol.EndDone))
		h.wantShown(`✗ filesystem.read nosuch`, "there is no file nosuch")
	})
}

// The calls of a script stand below it, by the line of the program that made them.
func TestScriptShowsItsCalls(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		call := agentCall("c1", "run_script", `{"program":"for i in range(3):\n    filesystem.write(path=str(i), content='x')"}`)
		step := func(id string, line int, name, args string, status tool.Status) protocol.TurnEvent {
			return protocol.TurnEvent{Script: &protocol.ScriptCall{
				Script: "c1", Call: id, Line: line, Name: name, Args: args, Status: status, Summary: "it is " + string(status),
			}}
		}
		h.typeText("go\n")
		h.emit(step("c1.s1", 1, "filesystem.glob", "pattern: *", ""), callEvent(call)) // in any order
		h.emit(step("c1.s1", 1, "filesystem.glob", "pattern: *", tool.Success))
		asked := approvalEvent(agentCall("c1.s3", "filesystem__write", `{"path":"1"}`), `{"path":"1"}`)
		asked.Approval.Script = &protocol.ScriptPlace{Call: "c1", Line: 2, Program: "one\n  two"}
		h.emit(step("c1.s2", 2, "filesystem.write", "path: 0", ""), asked, step("c1.s3", 2, "filesystem.write", "path: 1", ""))
		h.wantShown("1 of the 3 calls made so far have ended, 1 wait for you",
			"✓ line 1   filesystem.glob pattern: *", "… line 2   filesystem.write ×2 path: 1 · waits for you", "line 2 of a script: two")
		h.typeText("a\n")
		h.wantHidden("waits for you", "A human must decide")
		h.emit(step("c1.s2", 2, "filesystem.write", "path: 0", tool.Success), step("c1.s3", 2, "filesystem.write", "path: 1", tool.Failure))
		h.wantShown("3 of the 3 calls", "✗ line 2   filesystem.write ×2 it is error · 1 failed")
		h.emit(resultEvent(call, tool.Success, "3 calls"))
		h.wantHidden("made so far")
		h.press("ctrl+o")
		h.wantShown("✓ line 2   filesystem.write path: 0", "✗ line 2   filesystem.write it is error")
		h.emit(endEvent(protocol.EndDone))
	})
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"esc", "ctrl+c"} {
		t.Run(key, func(t *testing.T) {
			runChat(t, nil, func(h *harness) {
				h.typeText("go\n")
				h.press(key)
				h.wantShown("stopping; once more leaves")
				if h.kernel.halts != 1 || h.quit {
					t.Fatalf("%d turns were stopped, left: %v", h.kernel.halts, h.quit)
				}
				h.emit(endEvent(protocol.EndCancelled))
				h.wantShown("stopped")
				h.typeText("again\n")
				h.press(key)
				h.press(key)
				if !h.quit {
					t.Error("the second time does not leave")
				}
			})
		})
	}
	t.Run("where nothing is under way", func(t *testing.T) {
		runChat(t, nil, func(h *harness) {
			h.typeText("some words")
			h.press("ctrl+c")
			h.wantHidden("some words", "again leaves")
			h.press("ctrl+c")
			h.wantShown("ctrl+c again leaves")
			h.press("x", "backspace", "ctrl+c")
			if h.quit {
				t.Fatal("a key between does not count")
			}
			h.press("ctrl+c")
			if !h.quit {
				t.Error("the second time does not leave")
			}
		})
	})
	t.Run("ctrl+d", func(t *testing.T) {
		runChat(t, nil, func(h *harness) {
			h.typeText("a long one\n")
			h.press("ctrl+d")
			h.wantShown("a turn is under way: esc stops it")
			if h.quit {
				t.Fatal("it leaves during a turn")
			}
			h.emit(endEvent(protocol.EndDone))
			h.press("ctrl+d")
			if !h.quit {
				t.Error("it does not leave")
			}
		})
	})
}

func TestRecallAndNewLines(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		for _, words := range []string{"first", "second"} {
			h.typeText(words + "\n")
			h.emit(endEvent(protocol.EndDone))
		}
		h.typeText("draft")
		for _, step := range []struct{ key, want string }{{"up", "second"}, {"up", "first"}, {"up", "first"},
			{"down", "second"}, {"down", "draft"}, {"down", "draft"}} {
			h.press(step.key)
			if got := h.composer.Text(); got != step.want {
				t.Errorf("after %s: %q, want %q", step.key, got, step.want)
			}
		}
		h.press("ctrl+c")
		h.typeText("a")
		h.press("alt+enter")
		h.typeText("b")
		h.press("ctrl+j")
		h.do(tea.PasteMsg{Content: "c\nd"})
		h.press("up", "up", "up") // within the text
		if got := h.composer.Text(); got != "a\nb\nc\nd" {
			t.Errorf("the field holds %q", got)
		}
		h.press("enter")
		if got := h.kernel.said[2]; got != "a\nb\nc\nd" {
			t.Errorf("said %q", got)
		}
		h.wantShown("> a\n  b\n  c\n  d")
	})
}

// fillScreen shows a bit of everything.
func fillScreen(h *harness) {
	h.typeText("what is in the files of this folder, and what are they for?\n")
	call := agentCall("c1", "filesystem__write", `{"path":"a.txt","content":"`+strings.Repeat("長い ", 40)+`"}`)
	h.emit(
		textEvent("A paragraph with a link to [somewhere](https://example.com/a/very/long/path/that/goes/on/and/on) "+
			"and **bold** words.\n\n| a | b |\n|---|---|\n| 1 | "+strings.Repeat("wide ", 30)+" |\n\n"),
		textEvent("> quoted\n\n1. one\n2. two\n\n"+strings.Repeat("x", 300)+"\n"),
		callEvent(call),
		protocol.TurnEvent{Output: &protocol.Output{Call: "c1", Text: []byte(strings.Repeat("output ", 40) + "\n")}},
		protocol.TurnEvent{Notice: strings.Repeat("a notice ", 20)})
}

func TestEveryWidth(t *testing.T) {
	t.Parallel()
	memory := protocol.Prompt{Sections: []protocol.PromptSection{{Name: "memory",
		Text: "<working_memory>\nGoal: " + strings.Repeat("ship it ", 20) +
			"\n[x] t1 tests\n[ ] t2 docs\n</working_memory>"}}}
	for _, state := range []struct {
		name string
		make func(*harness)
	}{
		{"a turn", fillScreen},
		{"a question", func(h *harness) {
			fillScreen(h)
			h.emit(approvalEvent(agentCall("c1", "filesystem__write", ""),
				`{"path":"a.txt","content":"`+strings.Repeat("long ", 100)+`\n"}`,
				tool.Claim{Resource: "file:/w/" + strings.Repeat("deep/", 30) + "a.txt"}))
		}},
		{"editing", func(h *harness) {
			fillScreen(h)
			h.emit(approvalEvent(agentCall("c1", "filesystem__write", ""),
				`{"path":"a.txt","content":"`+strings.Repeat("long ", 100)+`\n"}`))
			h.typeText("e\n")
		}},
		{"refusing", func(h *harness) {
			fillScreen(h)
			h.emit(approvalEvent(agentCall("c1", "filesystem__write", ""), `{"path":"a.txt"}`))
			h.typeText("d\n")
		}},
		{"suggesting", func(h *harness) { h.typeText("/") }},
		{"choosing", func(h *harness) {
			h.kernel.list = []protocol.ConversationInfo{{ID: "t2", Title: strings.Repeat("title ", 40), Turns: 1,
				Updated: time.Now()}, {ID: "t3", Turns: 2}}
			h.typeText("/sessions\n")
			h.wantShown("which conversation?")
		}},
		{"many lines", func(h *harness) { h.do(tea.PasteMsg{Content: strings.Repeat("line\n", 50)}) }},
	} {
		t.Run(state.name, func(t *testing.T) {
			runChat(t, func(k *scriptedKernel, _ *Options) { k.prompt = memory }, func(h *harness) {
				state.make(h)
				for _, size := range [][2]int{{80, 24}, {40, 24}, {40, 10}, {41, 8}, {99, 30}, {100, 30}, {160, 50}, {80, 5},
					{200, 3}, {40, 12}} {
					h.do(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					h.checkSize(size[0])
				}
			})
		})
	}
}

func TestSidebar(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.do(tea.WindowSizeMsg{Width: 100, Height: 24})
		h.wantHidden("plan")
		h.kernel.mu.Lock()
		h.kernel.prompt.Sections = []protocol.PromptSection{{Name: "memory",
			Text: "<working_memory>\n# Working memory\nGoal: ship it\nTasks (1 of 2 completed):\n" +
				"[x] t1 tests\n[ ] t2 docs  <- next\n</working_memory>"}}
		h.kernel.mu.Unlock()
		h.typeText("plan\n")
		call := agentCall("c1", "memory__set_goal", `{"goal":"ship it"}`)
		h.emit(callEvent(call), resultEvent(call, tool.Success, "the goal is set"))
		h.wantShown("│ plan", "│ Goal: ship it", "[x] t1 tests", "[ ] t2 docs  <- next")
		h.do(tea.WindowSizeMsg{Width: 99, Height: 24})
		h.wantHidden("Goal: ship it", "working_memory")
	})
}

// A terminal obeys nothing that a model, a tool, a file or an app writes.
func TestTextIsNotObeyed(t *testing.T) {
	t.Parallel()
	const bad = "x\x1b[2J\x1b]0;owned\x07\x1b]8;;http://bad\x07y\u202ez\u009b31m\r"
	const entities = "&#27;[2J &#x1b;]0;a&#7; `&#27;[8m` &amp;#27;[1A &rlm; &#8238; [a](http://b&#27;c) " +
		"<b>tag</b> <!-- gone -->"
	runChat(t, func(k *scriptedKernel, o *Options) {
		k.about.Agent, k.about.Model, k.about.App, k.about.Warnings = bad, bad, bad, []string{bad}
		k.about.Skills = []protocol.Skill{{Command: "sk", Description: bad}}
		k.list = []protocol.ConversationInfo{{ID: bad, Title: bad, Turns: 1, App: bad}}
		k.prompt.Sections = []protocol.PromptSection{{Name: "memory", Text: "Goal: " + bad}, {Name: bad, Text: bad}}
		k.prompt.Text = bad
		o.ReadFile = func(string) ([]byte, error) { return []byte(bad), nil }
	}, func(h *harness) {
		h.do(tea.WindowSizeMsg{Width: 140, Height: 60})
		check := func(where string) {
			t.Helper()
			content := h.View().Content
			for _, row := range strings.Split(ansi.Strip(content), "\n") {
				for _, r := range row {
					if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200f' {
						t.Errorf("%s: %q is on the screen: %q", where, r, row)
					}
				}
			}
			if strings.Contains(content, "\x1b]") || strings.Contains(content, "\x1b[2J") ||
				strings.Contains(content, "\x1b[8m") {
				t.Errorf("%s: commands are on the screen: %q", where, content)
			}
		}
		check("the beginning")
		h.typeText("go\n")
		call := agentCall("c1", bad, `{"a":"`+"\u202e"+`"}`)
		h.emit(textEvent(bad+"\n\n"+entities+"\n\n```\n"+bad+entities+"\n```\n\n| a |\n|---|\n| "+bad+entities+" |\n"),
			callEvent(call),
			protocol.TurnEvent{Output: &protocol.Output{Call: "c1", Text: []byte(bad)}}, protocol.TurnEvent{Notice: bad},
			protocol.TurnEvent{Delta: &llm.Delta{Kind: llm.DeltaReasoning, Text: bad}})
		check("a call")
		h.wantShown("<b>tag</b>", "<!-- gone -->")
		h.press("ctrl+o")
		check("details")
		h.emit(approvalEvent(call, `{"path":"`+"\u202e"+`","content":"a\u001b[2J"}`, tool.Claim{Resource: "file:" + bad}))
		h.wantShown("A human must decide")
		check("a question")
		h.typeText("e\n")
		check("an editor")
		h.press("esc")
		h.emit(resultEvent(call, tool.Failure, bad, bad), protocol.TurnEvent{Failure: &tool.Error{Message: bad}},
			endEvent(protocol.EndFailed))
		check("the end")
		for _, command := range []string{"/prompt\n", "/skills\n", "/model\n", "/help\n", "/sessions\n"} {
			h.typeText(command)
			check(command)
		}
	})
}

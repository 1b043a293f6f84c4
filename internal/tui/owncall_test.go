package tui

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/alert"
	"callgate/internal/tui/attach"
	"callgate/tool"
)

// ownShell runs the user's commands: each waits for a result of the test.
type ownShell struct {
	calls   chan protocol.CallRequest
	results chan *tool.Result
}

func (s *ownShell) Call(ctx context.Context, call protocol.CallRequest) (*tool.Result, error) {
	s.calls <- call
	select {
	case r := <-s.results:
		return r, nil
	case <-ctx.Done():
		return nil, &tool.Error{Kind: tool.Cancelled, Message: "cancelled", Err: ctx.Err()}
	}
}

func runWithShell(t *testing.T, test func(*harness, *ownShell)) {
	t.Helper()
	var shell *ownShell
	runChat(t, func(_ *scriptedKernel, o *Options) {
		shell = &ownShell{make(chan protocol.CallRequest, 8), make(chan *tool.Result, 8)}
		o.UserCalls = func(context.Context) (attach.Caller, error) { return shell, nil }
	}, func(h *harness) { test(h, shell) })
}

func TestCommandOfTheUser(t *testing.T) {
	t.Parallel()
	runWithShell(t, func(h *harness, shell *ownShell) {
		h.typeText("!go test ./...\n")
		call := <-shell.calls
		if call.Name != "shell.bash" || string(call.Args) != `{"command":"go test ./..."}` || call.ID == "" {
			t.Errorf("called %s %s", call.Name, call.Args)
		}
		h.wantShown("> !go test ./...", "→ shell.bash")
		h.kernel.mu.Lock()
		asked := approvalEvent(agentCall(call.ID, "shell__bash", "{}"), "{}").Approval
		h.kernel.pending = []protocol.Approval{*asked}
		h.kernel.mu.Unlock()
		h.advance(time.Second)
		h.wantShown("A human must decide", "waits for you")
		h.kernel.mu.Lock()
		h.kernel.pending = nil
		h.kernel.mu.Unlock()
		shell.results <- &tool.Result{Status: tool.Failure, Summary: "exit code 1",
			Content: []tool.Content{tool.Text("FAIL one\nexit code 1")}}
		h.settle()
		h.wantHidden("A human must decide")
		h.wantShown("✗ shell.bash", "│ FAIL one")
		h.typeText("mend it\n")
		if got := h.kernel.said[0]; !strings.HasPrefix(got, "mend it\n\n<user-command line=\"go test ./...\">\nFAIL one") {
			t.Errorf("the model was told %q", got)
		}
		h.wantShown("> mend it")
		h.emit(endEvent(protocol.EndDone))
		h.typeText("and?\n")
		if got := h.kernel.said[1]; got != "and?" {
			t.Errorf("the model was told it again: %q", got)
		}
	})
}

func TestCommandOfTheUserIsStopped(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"esc", "ctrl+c"} {
		runWithShell(t, func(h *harness, _ *ownShell) {
			h.typeText("!sleep 100\n")
			h.press(key)
			h.wantShown("✗ shell.bash", "stopped")
			if h.quit {
				t.Error("it left")
			}
		})
	}
	runChat(t, nil, func(h *harness) {
		h.typeText("!ls\n")
		h.wantShown("no session for commands of your own")
	})
}

// reader is a conversation in which files can be read.
type reader struct {
	*scriptedKernel
	calls []protocol.CallRequest
}

func (r *reader) Call(_ context.Context, call protocol.CallRequest) (*tool.Result, error) {
	r.calls = append(r.calls, call)
	var in struct{ Path string }
	if json.Unmarshal(call.Args, &in) == nil && in.Path == ".env" {
		return &tool.Result{Status: tool.Failure, Summary: "a rule denies it"}, nil
	}
	return &tool.Result{Status: tool.Success, Content: []tool.Content{tool.Text("alpha\nbeta\n")}}, nil
}

func TestMentionedFilesAreAttached(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{"notes.txt": "x", ".env": "x", "shot.png": "\x89PNG\r\n\x1a\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	workspace := func(k *scriptedKernel, _ *Options) { k.about.Workspace = folder }
	runChat(t, workspace, func(h *harness) {
		r := &reader{scriptedKernel: h.kernel}
		h.conv.Conversation = r
		h.typeText("what is in @not")
		h.wantShown("@notes.txt")
		h.press("tab")
		h.typeText("and @.env and @shot.png ?\n")
		h.wantShown("> what is in @notes.txt and @.env and @shot.png ?", "attached notes.txt (2 lines)",
			"only the name of .env is sent: a rule denies it", "attached shot.png (8 bytes)")
		want := "what is in @notes.txt and @.env and @shot.png ?\n\n<file path=\"notes.txt\">\nalpha\nbeta\n</file>"
		if h.kernel.said[0] != want {
			t.Errorf("the model was told %q", h.kernel.said[0])
		}
		if h.kernel.images != 1 {
			t.Errorf("%d pictures were sent", h.kernel.images)
		}
		h.emit(endEvent(protocol.EndDone))
	})
	offline := func(k *scriptedKernel, o *Options) { workspace(k, o); k.about.Offline = true }
	runChat(t, offline, func(h *harness) {
		h.typeText("read @notes.txt \n")
		if h.kernel.said[0] != "read notes.txt" {
			t.Errorf("the offline brain was told %q", h.kernel.said[0])
		}
	})
}

// The user is called when something waits, or a long turn has ended, and they look
// elsewhere.
func TestUserIsCalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		look  tea.Msg
		mode  alert.Mode
		took  time.Duration
		calls int
	}{
		{"elsewhere", tea.BlurMsg{}, "", 11 * time.Second, 2},
		{"a short turn", tea.BlurMsg{}, "", time.Second, 1},
		{"here", tea.FocusMsg{}, "", 11 * time.Second, 0},
		{"off", tea.BlurMsg{}, alert.Off, 11 * time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			runChat(t, func(_ *scriptedKernel, o *Options) { o.Alerts = c.mode }, func(h *harness) {
				h.typeText("go\n")
				h.do(c.look)
				call := agentCall("c1", "filesystem__write", "{}")
				h.emit(callEvent(call), approvalEvent(call, "{}"))
				h.advance(c.took)
				h.emit(resultEvent(call, tool.Success, "done"), endEvent(protocol.EndDone))
				if h.rung != c.calls {
					t.Errorf("called %d times, want %d", h.rung, c.calls)
				}
			})
		})
	}
}

func TestTranscriptIsLeftOnTheTerminal(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		var out strings.Builder
		h.leave(Screen{Out: &out, NoColor: true})
		if out.Len() > 0 {
			t.Errorf("nothing was said, and left is %q", out.String())
		}
		h.typeText("hello\n")
		h.emit(textEvent("# Hi\n\n- one"), endEvent(protocol.EndDone))
		h.leave(Screen{Out: &out, NoColor: true})
		if got := out.String(); got != "> hello\n\n# Hi\n\n• one\n\n" {
			t.Errorf("left is %q", got)
		}
		h.typeText("more\n")
		h.emit(textEvent(strings.Repeat("a line\n\n", 300)), endEvent(protocol.EndDone))
		out.Reset()
		h.leave(Screen{Out: &out, NoColor: true})
		if got := out.String(); strings.Count(got, "\n") > leftLines+2 || !strings.HasPrefix(got, "… all of it: callgate sessions show t1\n") {
			t.Errorf("left are %d lines: %.60q", strings.Count(got, "\n"), got)
		}
	})
}

func TestMeterRuns(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("go\n")
		h.emit(textEvent(strings.Repeat("word ", 80)))
		h.advance(3 * time.Second)
		h.wantShown("working; esc stops it · 3 s · 100 out")
	})
}

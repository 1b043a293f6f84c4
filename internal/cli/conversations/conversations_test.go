package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

func TestCodeOfTurn(t *testing.T) {
	t.Parallel()
	for reason, want := range map[protocol.EndReason]int{
		protocol.EndDone: 0, protocol.EndCancelled: command.ExitCancelled, protocol.EndTimedOut: command.ExitBusy,
		protocol.EndStuck: command.ExitFailed, protocol.EndMaxTurns: command.ExitFailed, protocol.EndFailed: command.ExitFailed,
	} {
		if got := codeOfTurn(reason); got != want {
			t.Errorf("%s ends with %d, want %d", reason, got, want)
		}
	}
}

func TestClipArgs(t *testing.T) {
	t.Parallel()
	if got := clipArgs(json.RawMessage(`{}`)); got != "" {
		t.Errorf("no arguments: %q", got)
	}
	if got := clipArgs(json.RawMessage(`{"a":1}`)); got != `{"a":1}` {
		t.Errorf("few arguments: %q", got)
	}
	long := json.RawMessage(`{"a":"` + strings.Repeat("é", 500) + `"}`)
	if got := clipArgs(long); len(got) > 170 || !strings.HasPrefix(string(long), got[:150]) {
		t.Errorf("long arguments: %q", got)
	}
}

// A line is read byte by byte: what follows is left for the next reader.
func TestReadLine(t *testing.T) {
	t.Parallel()
	in := strings.NewReader("first\n\nthird")
	for _, want := range []string{"first", ""} {
		if got, err := readLine(t.Context(), in); err != nil || got != want {
			t.Errorf("got %q, want %q: %v", got, want, err)
		}
	}
	if rest, err := io.ReadAll(in); err != nil || string(rest) != "third" {
		t.Errorf("left %q: %v", rest, err)
	}
	got, err := readLine(t.Context(), strings.NewReader("no end"))
	if got != "no end" || !errors.Is(err, io.EOF) {
		t.Errorf("a line without an end: %q %v", got, err)
	}
	silent, speaker := io.Pipe()
	t.Cleanup(func() { speaker.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readLine(ctx, silent); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestReadSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, err := readSmall(write("small", 1<<20)); err != nil || len(got) != 1<<20 {
		t.Errorf("the largest small file: %d bytes, %v", len(got), err)
	}
	for name, path := range map[string]string{"a large file": write("large", 1<<20+1), "a folder": dir} {
		if _, err := readSmall(path); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readSmall(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	says := func(kind protocol.EventType, role llm.Role, words string) protocol.HistoryEvent {
		m := llm.TextMessage(role, words)
		return protocol.HistoryEvent{Type: kind, Message: &m}
	}
	h := protocol.History{
		ConversationInfo: protocol.ConversationInfo{
			ID: "v1", App: "demo", Agent: "ada", Created: time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC),
		},
		Log: []protocol.HistoryEvent{
			says(protocol.EventUser, llm.User, "read it"),
			says(protocol.EventAssistant, llm.Assistant, " \n"), // only calls
			{Type: protocol.EventCallMade, Call: &protocol.AgentCall{Name: "filesystem__read", Args: json.RawMessage(`{"path":"x"}`)}},
			{Type: protocol.EventCallEnded, Result: &protocol.HistoryResult{Status: tool.Success, Summary: "two\nlines"}},
			says(protocol.EventNote, llm.User, "one\ntwo"),
			says(protocol.EventAssistant, llm.Assistant, "It says x."),
			{Type: protocol.EventTurnEnded, End: &protocol.HistoryEnd{Reason: protocol.EndDone}},
			{Type: protocol.EventTurnEnded, End: &protocol.HistoryEnd{Reason: protocol.EndStuck, Error: "again and again"}},
		},
	}
	const want = "# v1\n\ndemo · agent ada · 2026-03-04 05:06\n" +
		"\n## User\n\nread it\n" +
		"\n- called `filesystem.read` with `{\"path\":\"x\"}`\n  - success: two lines\n" +
		"\n> one\n> two\n" +
		"\n## ada\n\nIt says x.\n" +
		"\n*the turn ended early: stuck again and again*\n"
	if got := markdown(h); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	h.Title, h.Log = "A title", nil
	if got := markdown(h); !strings.HasPrefix(got, "# A title\n") {
		t.Errorf("with a title:\n%s", got)
	}
}

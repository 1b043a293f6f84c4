package recovery_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

type pathAndText struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A call that does not say what it touches may write what a retry writes: it comes after
// it, so that no old data comes over its newer.
func TestCallThatDoesNotSayWhatItTouchesComesAfterRetries(t *testing.T) {
	t.Parallel()
	for name, effects := range map[string][]tool.Effect{
		"nothing": nil, "its server": {{Resource: "server:user/other", Mode: tool.IX}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workspace, p := t.TempDir(), &putter{}
			file := filepath.Join(workspace, "x")
			write(t, file, "BEFORE")
			left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)

			began, goOn := make(chan struct{}), make(chan struct{})
			slow, err := tool.Func("team.put", "Writes a file.", tool.Runtime{
				Risk: tool.Low, SideEffect: tool.Write, Idempotent: true,
				Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
			}, func(ctx context.Context, in pathAndText) (string, error) {
				close(began)
				<-goOn
				return "written", os.WriteFile(file, []byte(in.Text), 0o600)
			})
			ok(t, err)
			other, err := tool.Func("other.put", "Writes a file, and does not say which.",
				tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, Effects: effects},
				func(_ context.Context, in pathAndText) (string, error) {
					return "written", os.WriteFile(file, []byte(in.Text), 0o600)
				})
			ok(t, err)
			k := kerneltest.Open(t, left, slow, other)
			s := kerneltest.OpenSession(t, k, workspace)
			kerneltest.Eventually(t, func() bool { return isClosed(began) })
			printed := k.Output.Subscribe(t.Context())
			answer := make(chan *tool.Result, 1)
			go func() {
				answer <- s.Call(t.Context(), session.CallRequest{
					Name: "other.put", Args: json.RawMessage(`{"path":"x","text":"NEW"}`),
				})
			}()
			select {
			case r := <-answer:
				t.Fatalf("it did not wait: %+v", r)
			case <-printed.Ready():
				if out := printed.Take()[0]; !strings.Contains(string(out.Text), "is being made again") {
					t.Errorf("while it waits it says %q", out.Text)
				}
			}
			if got := read(t, file); got != "BEFORE" {
				t.Errorf("while the retry runs the file holds %q", got)
			}
			close(goOn)
			if r := <-answer; r.Status != tool.Success {
				t.Errorf("%+v", r)
			}
			await(t, k, journal.Resolved, 1)
			if got := read(t, file); got != "NEW" {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

// starting is a handler that takes its time to start, as a server does: a person edits
// meanwhile.
type starting struct {
	tool.Handler
	meanwhile func()
}

func (s starting) Ready(context.Context) error {
	s.meanwhile()
	return nil
}

// What a call needs is started before its files are looked at: a person who edits one
// while a server starts heeds no lock.
func TestCallInDoubtIsNotMadeAgainOverAnEditWhileItsServerStarts(t *testing.T) {
	t.Parallel()
	workspace, p := t.TempDir(), &putter{}
	file := filepath.Join(workspace, "x")
	write(t, file, "BEFORE")
	left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	slow := *p.tool(t, workspace)
	slow.Handler = starting{slow.Handler, func() { write(t, file, "NEW") }}
	k := kerneltest.Open(t, left, &slow)
	await(t, k, journal.Judged, 1)
	if note := records(t, k, journal.Judged)[0].Note; !strings.Contains(note, "is not as it was") {
		t.Errorf("it is not made again because %q", note)
	}
	if got := read(t, file); got != "NEW" || p.ran() != 0 {
		t.Errorf("the file holds %q after %d more runs", got, p.ran())
	}
}

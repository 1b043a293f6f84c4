package agents_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// secretGuard is a hook of an agent, which refuses what is written into one folder.
const secretGuard = `
  hooks:
  - {id: guard, on: tool_start, condition: {type: expression, expr: tool.params.path startswith "src/"}, action: {type: block, reason: no}}`

// helped is a folder with an app whose agent lead, with more lines of the file, starts the
// agent helper.
func helped(t *testing.T, brain, more, rules string) (folder string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `
agents:
- id: lead
  role: coordinator
  brain: {provider: offline}`+more+`
- {id: helper, brain: `+brain+`}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto`+rules+`}
`)
	kerneltest.OK(t, os.Mkdir(filepath.Join(folder, "src"), 0o700))
	return folder
}

// held is the brain of an agent that works until its test ends.
func held(t *testing.T) string {
	never := make(chan struct{})
	model := kerneltest.NewModelOf(t, func(json.RawMessage) kerneltest.Answer {
		return kerneltest.Answer{Text: "done", After: never}
	})
	t.Cleanup(func() { close(never) }) // before its server closes
	return model.Brain("openai", "gpt-4o")
}

// A call that a human edits and approves when nobody waits for it any more stays within what
// its asker's parent, or caller, may do.
func TestAnsweredCallStaysWithinItsCaller(t *testing.T) {
	t.Parallel()
	const asks = ", approve: [{module: filesystem, actions: [write]}]"
	agent := func(t *testing.T, k *kernel.Kernel) (*session.Session, string) {
		folder := helped(t, held(t), secretGuard, asks)
		kerneltest.OpenAccepted(t, k, folder).Close()
		return spawned(t, k, kerneltest.OpenConversation(t, k, folder).Session()), folder
	}
	app := func(t *testing.T, k *kernel.Kernel) (*session.Session, string) {
		_, child, folder := working(t, k, asks+
			`, deny: [{module: filesystem, actions: [write], match: {path: "src/**"}}]`, "", "")
		return child, folder
	}
	for name, open := range map[string]func(*testing.T, *kernel.Kernel) (*session.Session, string){
		"agent": agent, "app": app,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			child, folder := open(t, k)
			for args, want := range map[string]tool.Status{ // by the edited arguments
				`{"path":"src/c.txt","content":"c"}`: tool.Refused, `{"path":"d.txt","content":"d"}`: tool.Success,
			} {
				r := make1(t, child, "filesystem.write", `{"path":"b.txt","content":"b"}`)
				if r.Status != tool.Waiting {
					t.Fatalf("%+v", r)
				}
				kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true, Args: []byte(args)})
				ended, err := k.Collect(t.Context(), r.Call)
				kerneltest.OK(t, err)
				if ended.Status != want {
					t.Errorf("%s ended as %s, want %s: %s", args, ended.Status, want, ended.Summary)
				}
			}
			unwritten(t, filepath.Join(folder, "src", "c.txt"))
		})
	}
}

// put writes a file, and says that twice is once. While it is held, it waits before.
func put(t *testing.T, folder string, runs *atomic.Int64, held bool) *tool.Tool {
	made, err := tool.Func("team.put", "Writes a file.", tool.Runtime{
		Risk: tool.Low, SideEffect: tool.Write, Idempotent: true,
		Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
	}, func(ctx context.Context, in struct {
		Path string `json:"path"`
	}) (string, error) {
		runs.Add(1)
		if held {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "written", os.WriteFile(filepath.Join(folder, in.Path), []byte("x"), 0o600)
	})
	kerneltest.OK(t, err)
	return made
}

// left copies a state directory as a killed kernel would leave it.
func left(t *testing.T, state string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "state")
	kerneltest.OK(t, os.CopyFS(to, os.DirFS(state)))
	for _, name := range []string{"human.key", "journal.key"} {
		if _, err := os.Stat(filepath.Join(to, name)); err == nil {
			kerneltest.OK(t, os.Chmod(filepath.Join(to, name), 0o600))
		}
	}
	return to
}

// A call in doubt of an agent, or of an app that was called, is made again only as far as
// those for whom it works let it: a guard that they have by now keeps it from that, and the
// call of an app whose caller is closed is not made again at all.
func TestCallInDoubtStaysWithinItsCaller(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		guard bool // one is added before the kernel is killed
		app   bool
		again bool
	}{
		{name: "agent", again: true},
		{name: "agent with a guard above it", guard: true},
		{name: "app", app: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var runs atomic.Int64
			state := kerneltest.StateDir(t)
			folder := helped(t, held(t), "", "")
			k := kerneltest.Open(t, state, put(t, folder, &runs, true))
			var child *session.Session
			if test.app {
				_, child, folder = working(t, k, "", "", "")
				kerneltest.OK(t, os.Mkdir(filepath.Join(folder, "src"), 0o700))
			} else {
				kerneltest.OpenAccepted(t, k, folder).Close()
				child = spawned(t, k, kerneltest.OpenConversation(t, k, folder).Session())
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				make2(ctx, child, "team.put", `{"path":"src/x"}`)
			}()
			kerneltest.Eventually(t, func() bool { return runs.Load() == 1 })
			if test.guard {
				file := filepath.Join(folder, "callgate.yaml")
				text, err := os.ReadFile(file)
				kerneltest.OK(t, err)
				kerneltest.Write(t, file, strings.Replace(string(text), "provider: offline}", "provider: offline}"+secretGuard, 1))
				kerneltest.OpenAccepted(t, k, folder).Close()
			}
			killed := left(t, state)
			stop()
			<-ended
			kerneltest.OK(t, k.Close())

			k = kerneltest.Open(t, killed, put(t, folder, &runs, false))
			kerneltest.Eventually(t, func() bool {
				undecided, err := k.Journal.OpenDoubts(t.Context(), doubt.Query{State: doubt.New})
				return err == nil && len(undecided) == 0
			})
			_, err := os.Stat(filepath.Join(folder, "src", "x"))
			if again := err == nil; again != test.again {
				t.Errorf("made again: %v, want %v", again, test.again)
			}
		})
	}
}

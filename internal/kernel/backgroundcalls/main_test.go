package backgroundcalls_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/backgroundcalls"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

func TestMain(m *testing.M) { kerneltest.Main(m, parts) }

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)

// free lets every tool run.
const free = "tools:\n  capabilities: {default_policy: auto}\n"

func inFolder(t testing.TB, app string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	write(t, filepath.Join(folder, "callgate.yaml"), app)
	return folder
}

// run calls background_run, and returns the result and what it says of a task.
func run(t testing.TB, s *session.Session, args string) (*tool.Result, backgroundcalls.Summary) {
	t.Helper()
	r := s.Call(t.Context(), session.CallRequest{Name: "background_run", Args: json.RawMessage(args)})
	var told backgroundcalls.Summary
	if len(r.Data) > 0 {
		ok(t, json.Unmarshal(r.Data, &told))
	}
	return r, told
}

// of writes arguments about a task.
func of(id, more string) string {
	if more != "" {
		more = "," + more
	}
	return `{"task_id":"` + id + `"` + more + `}`
}

// text is all that a model reads of a result.
func text(r *tool.Result) string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

func stored(t testing.TB, k *kernel.Kernel, id string) task.Task {
	t.Helper()
	got, err := k.Tasks.Store().Get(t.Context(), id)
	ok(t, err)
	return got
}

// ended waits until a task has ended.
func ended(t testing.TB, k *kernel.Kernel, id string) task.Task {
	t.Helper()
	kerneltest.Eventually(t, func() bool { return stored(t, k, id).State.Final() })
	return stored(t, k, id)
}

// gated is the tool demo.work: it says that it began, and ends when it is let.
type gated struct {
	began chan struct{}
	leave chan struct{}
}

func newGated() *gated { return &gated{make(chan struct{}, 100), make(chan struct{})} }

func (g *gated) tool(t testing.TB, r tool.Runtime) *tool.Tool {
	return kerneltest.NewTool(t, "demo.work", r, func(ctx context.Context) (any, error) {
		g.began <- struct{}{}
		select {
		case <-g.leave:
			return map[string]any{"done": true}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

var writes = tool.Runtime{Risk: tool.Low, SideEffect: tool.Write}

// asked waits until a human is asked.
func asked(t testing.TB, k *kernel.Kernel) approval.Request {
	t.Helper()
	var list []approval.Request
	kerneltest.Eventually(t, func() bool {
		var err error
		list, err = k.Approvals.List(t.Context(), approval.Pending, 0)
		ok(t, err)
		return len(list) > 0
	})
	return list[0]
}

// crash ends a kernel and leaves its state directory as one that was killed would.
func crash(t testing.TB, k *kernel.Kernel, state string) {
	t.Helper()
	ok(t, k.Journal.Flush(t.Context()))
	left := filepath.Join(t.TempDir(), "state")
	ok(t, os.CopyFS(left, os.DirFS(state)))
	ok(t, k.Close())
	names, err := os.ReadDir(state)
	ok(t, err)
	for _, name := range names {
		ok(t, os.RemoveAll(filepath.Join(state, name.Name())))
	}
	ok(t, os.CopyFS(state, os.DirFS(left)))
	for _, name := range []string{"human.key", "journal.key"} {
		_ = os.Chmod(filepath.Join(state, name), 0o600)
	}
}

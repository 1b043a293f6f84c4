package deferred_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync/atomic"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)

// counted is the tool demo.run, which changes something and counts its runs.
type counted struct{ runs atomic.Int32 }

func (c *counted) tool(t testing.TB) *tool.Tool {
	return kerneltest.NewTool(t, "demo.run", tool.Runtime{Risk: tool.Medium, SideEffect: tool.Write},
		func(context.Context) (any, error) { return map[string]any{"run": c.runs.Add(1)}, nil })
}

// free lets every tool run.
const free = "tools:\n  capabilities: {default_policy: auto}\n"

// leave opens a session in a folder whose app a human accepts, and returns who it was
// when it is gone.
func leave(t testing.TB, k *kernel.Kernel, spec session.Spec) task.Asker {
	t.Helper()
	accept(t, k, spec.Workspace)
	s, err := k.OpenSession(t.Context(), spec)
	ok(t, err)
	defer s.Close()
	return kept(t, deferred.AskerOf(s, tool.Call{ID: "c1"}))
}

func accept(t testing.TB, k *kernel.Kernel, folder string) {
	t.Helper()
	s := kerneltest.OpenSession(t, k, folder)
	kerneltest.AcceptApp(t, k, s)
	s.Close()
}

// kept is an asker as a store gives it back.
func kept(t testing.TB, a task.Asker) task.Asker {
	t.Helper()
	data, err := json.Marshal(a)
	ok(t, err)
	var back task.Asker
	ok(t, json.Unmarshal(data, &back))
	return back
}

func inFolder(t testing.TB, app string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	folder = filepath.Join(folder, "work")
	write(t, filepath.Join(folder, "callgate.yaml"), app)
	return folder
}

func call(t testing.TB, k *kernel.Kernel, a task.Asker, id, name, args string) *tool.Result {
	t.Helper()
	return k.Deferred.Call(t.Context(), a, gate.CallRequest{ID: id, Name: name, Args: json.RawMessage(args)})
}

// expect is a call that ends so, and what its error says.
func expect(t testing.TB, r *tool.Result, status tool.Status, kind tool.Kind) {
	t.Helper()
	if r.Status != status || tool.KindOf(r.Err()) != kind && status != tool.Success {
		t.Errorf("%s %q, want %s %s", r.Status, r.Summary, status, kind)
	}
}

// asked waits until a human is asked.
func asked(t testing.TB, k *kernel.Kernel) approval.Request {
	t.Helper()
	var list []approval.Request
	kerneltest.Eventually(t, func() (found bool) {
		var err error
		list, err = k.Approvals.List(t.Context(), approval.Pending, 0)
		ok(t, err)
		return len(list) > 0
	})
	return list[0]
}

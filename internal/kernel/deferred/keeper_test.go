package deferred_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/gate"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// age makes the app file of a folder old, so that its times tell the next change.
func age(t testing.TB, folder string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	ok(t, os.Chtimes(filepath.Join(folder, "callgate.yaml"), then, then))
}

// A session that is kept is judged by the rules of now: each change of its file, of a
// human's word and of its folder is seen by the next call.
func TestKeeperIsJudgedByTheRulesOfNow(t *testing.T) {
	t.Parallel()
	const deny = "tools:\n  capabilities: {deny: [{module: demo}]}\n"
	c, folder := &counted{}, inFolder(t, free)
	age(t, folder)
	one := c.tool(t)
	one.Runtime.Risk = tool.High // by the default policy a human approves it
	k := kerneltest.Open(t, kerneltest.StateDir(t), one)
	keeper := k.Deferred.Keep(leave(t, k, session.Spec{Workspace: folder}))
	defer keeper.Close()
	made := func() *tool.Result {
		return keeper.Call(t.Context(), gate.CallRequest{Name: "demo.run", Unattended: true}, nil)
	}
	expect(t, made(), tool.Success, "")
	expect(t, made(), tool.Success, "")
	write(t, filepath.Join(folder, "callgate.yaml"), deny)
	expect(t, made(), tool.Refused, tool.Denied)
	write(t, filepath.Join(folder, "callgate.yaml"), free)
	expect(t, made(), tool.Success, "")
	age(t, folder)
	expect(t, made(), tool.Success, "")

	s := kerneltest.OpenSession(t, k, folder) // what a human takes back is gone at once
	ok(t, k.RevokeApp(kerneltest.Human(t, k), s, "ada"))
	s.Close()
	expect(t, made(), tool.Refused, tool.Denied)
	accept(t, k, folder)
	expect(t, made(), tool.Success, "")

	ok(t, os.Rename(folder, folder+"-moved"))
	expect(t, made(), tool.Failure, tool.Invalid)
	ok(t, os.Rename(folder+"-moved", folder))
	expect(t, made(), tool.Success, "")

	keeper.Rest()
	expect(t, made(), tool.Success, "")
	refused := tool.Errorf("test", tool.Denied, "not now")
	expect(t, keeper.Call(t.Context(), gate.CallRequest{Name: "demo.run"},
		func(*session.Session) error { return refused }), tool.Refused, tool.Denied)
	keeper.Close()
	expect(t, made(), tool.Failure, tool.Unavailable)
}

// An app file that comes to be in a folder that had none is in force for the next call.
func TestKeeperSeesANewAppFile(t *testing.T) {
	t.Parallel()
	c, folder := &counted{}, t.TempDir()
	k := kerneltest.Open(t, kerneltest.StateDir(t), c.tool(t))
	keeper := k.Deferred.Keep(leave(t, k, session.Spec{Workspace: folder}))
	defer keeper.Close()
	look := gate.CallRequest{Name: "filesystem.list", Args: []byte(`{"path":"."}`), Unattended: true}
	expect(t, keeper.Call(t.Context(), look, nil), tool.Success, "")
	write(t, filepath.Join(folder, "callgate.yaml"), "tools:\n  capabilities: {deny: [{module: filesystem}]}\n")
	expect(t, keeper.Call(t.Context(), look, nil), tool.Refused, tool.Denied)
}

func BenchmarkKeeper(b *testing.B) {
	folder := b.TempDir()
	write(b, filepath.Join(folder, "callgate.yaml"), free)
	age(b, folder)
	nothing := kerneltest.NewTool(b, "demo.look", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Idempotent: true},
		func(context.Context) (any, error) { return 1, nil })
	k := kerneltest.Open(b, kerneltest.StateDir(b), nothing)
	asker := leave(b, k, session.Spec{Workspace: folder})
	keeper := k.Deferred.Keep(asker)
	defer keeper.Close()
	look := gate.CallRequest{Name: "demo.look", Unattended: true}
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			expect(b, keeper.Call(b.Context(), look, nil), tool.Success, "")
		}
	})
	b.Run("built", func(b *testing.B) {
		for b.Loop() {
			expect(b, keeper.Call(b.Context(), look, nil), tool.Success, "")
			keeper.Rest()
		}
	})
}

package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/recovery"
	"callgate/internal/kernel/tasks"
	"callgate/internal/statedir"
	"callgate/internal/storage/moving"
	"callgate/internal/task"
	"callgate/tool"
)

// What a kernel left in SQLite goes on in PostgreSQL, and in SQLite again: an approval that waits can be answered, a
// task runs, a conversation has its history and goes on, a call in doubt is told, and the journal is whole.
func TestMigratedKernelGoesOn(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
	model := kerneltest.NewModelOf(t, func(json.RawMessage) kerneltest.Answer { return kerneltest.Answer{Text: "good day"} })
	write(t, filepath.Join(workspace, "callgate.yaml"),
		"app: {app_id: a}\nagents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	k := kerneltest.Open(t, state)
	talk := kerneltest.OpenConversation(t, k, workspace).ID()
	large := bytes.Repeat([]byte("large \x00\xff"), 400_000)
	ref, err := k.Artifacts.Put(t.Context(), large)
	ok(t, err)
	migration := moving.Migration{State: statedir.Dir(state), To: kerneltest.SchemaURL(t, state)}
	for n, migrate := range []func(context.Context) (moving.Result, error){migration.Run, migration.Back} {
		kerneltest.Send(t, kerneltest.Resume(t, k, talk), "hello")
		write(t, filepath.Join(workspace, "x"), "")
		waiting := kerneltest.Call(t, kerneltest.OpenAccepted(t, k, workspace), "filesystem.delete", `{"path":"x"}`)
		if waiting.Status != tool.Waiting {
			t.Fatalf("%+v", waiting)
		}
		name := string(rune('a' + n))
		k.Tasks.Handle("test."+name, func(ctx context.Context, _ *tasks.Run) task.Outcome {
			<-ctx.Done() // the kernel ends under it, and the next one runs it again
			return task.Outcome{State: task.Failed}
		})
		_, err = k.Tasks.Start(t.Context(), task.Task{ID: name, Kind: "test." + name, Input: []byte(`{"n":1}`)})
		ok(t, err)
		_, err = k.Journal.Commit(t.Context(), journal.Record{Kind: journal.Begun, Call: "doubtful " + name})
		ok(t, err)
		events := len(kerneltest.History(t, k, talk))
		ok(t, k.Close())

		result, err := migrate(t.Context())
		if err != nil || !result.Moved {
			t.Fatalf("%+v, %v", result, err)
		}

		k = kerneltest.Open(t, state)
		kerneltest.Settle(t, k, waiting.Approval, approval.Answer{Approve: true})
		if r, err := k.Collect(t.Context(), waiting.Call); err != nil || r.Status != tool.Success {
			t.Errorf("the call that waited: %+v, %v", r, err)
		}
		if _, err := os.Stat(filepath.Join(workspace, "x")); err == nil {
			t.Error("it never ran")
		}
		ran := make(chan string, 1)
		k.Tasks.Handle("test."+name, func(_ context.Context, r *tasks.Run) task.Outcome {
			ran <- string(r.Input)
			return task.Outcome{State: task.Done}
		})
		if input := <-ran; input != `{"n":1}` {
			t.Errorf("the task ran with %s", input)
		}
		if got := kerneltest.History(t, k, talk); len(got) != events {
			t.Errorf("%d events, %d before", len(got), events)
		}
		kerneltest.Send(t, kerneltest.Resume(t, k, talk), "and now?")
		if _, open, err := k.Journal.DoubtOf(t.Context(), "doubtful "+name); err != nil || !open {
			t.Errorf("the call in doubt: %v, %v", open, err)
		}
		if data, err := k.Artifacts.Get(t.Context(), ref); err != nil || !bytes.Equal(data, large) {
			t.Errorf("the artifact: %d bytes, %v", len(data), err)
		}
		report, err := k.Journal.Verify(t.Context())
		if problems, doubts := recovery.VerifyDoubts(t.Context(), k.Journal); err != nil || doubts != nil || !report.OK() ||
			!report.Anchored || len(problems) > 0 {
			t.Errorf("the journal: %+v, %v; doubts: %v, %v", report, err, problems, doubts)
		}
	}
}

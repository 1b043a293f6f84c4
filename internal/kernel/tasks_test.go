package kernel_test

import (
	"context"
	"testing"
	"time"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
)

// A kernel is in use while a task runs, and while one that runs by itself waits for its
// time; not for tasks that wait to be started, and not for news that are owed.
func TestTasksKeepTheKernel(t *testing.T) { kerneltest.OnEachStorage(t, testTasksKeepTheKernel) }

func testTasksKeepTheKernel(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	release := make(chan struct{})
	k.Tasks.Handle("test.runs", func(ctx context.Context, _ *tasks.Run) task.Outcome {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return task.Outcome{State: task.Done}
	})
	k.Tasks.HandleStarted("test.started", func(context.Context, *tasks.Run) task.Outcome {
		return task.Outcome{State: task.Done}
	})
	inUse := func(what string, want bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); k.InUse() != want; {
			if time.Now().After(end) {
				t.Fatalf("%s: in use %v", what, !want)
			}
			<-time.After(time.Millisecond)
		}
	}
	start := func(one task.Task) {
		t.Helper()
		if _, err := k.Tasks.Start(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	inUse("at the start", false)
	start(task.Task{ID: "runs", Kind: "test.runs", Parent: "gone"})
	inUse("while it runs", true)
	close(release)
	inUse("after its end, which is owed", false)
	notice := task.Task{ID: "news", Parent: "gone", Outcome: &task.Outcome{State: task.Done, Summary: "news"}}
	if err := k.Tasks.Tell(t.Context(), notice); err != nil {
		t.Fatal(err)
	}
	start(task.Task{ID: "later", Kind: "test.started", RunAt: time.Now().Add(time.Hour)})
	inUse("with news and a task that waits to be started", false)
	start(task.Task{ID: "tomorrow", Kind: "test.runs", RunAt: time.Now().Add(24 * time.Hour)})
	inUse("with a schedule", true)
	if err := k.Tasks.Cancel(t.Context(), "tomorrow", "ada"); err != nil {
		t.Fatal(err)
	}
	inUse("after it is cancelled", false)
}

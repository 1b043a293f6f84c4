package watchers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/task"
	"callgate/tool"
)

// BenchmarkWatchersAndSchedules measures what a thousand watchers cost that check once a
// second, beside 10,000 schedules that are due in the course of a day: the share of one
// core that the whole process takes.
func BenchmarkWatchersAndSchedules(b *testing.B) {
	const talks, each = 10, 100
	var reads atomic.Int64
	look := kerneltest.NewTool(b, "demo.look", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Idempotent: true},
		func(context.Context) (any, error) {
			reads.Add(1)
			return map[string]any{"count": 3, "state": "done"}, nil
		})
	k := kerneltest.Open(b, kerneltest.StateDir(b), look)
	folder := inFolder(b, strings.Replace(rules, "watchers: true", "watchers: true, scheduler: true", 1))
	then := time.Now().Add(-time.Hour) // its times tell the next change
	ok(b, os.Chtimes(filepath.Join(folder, "callgate.yaml"), then, then))
	kerneltest.OpenConversation(b, k, folder).Close()
	for range talks {
		talk := kerneltest.OpenConversationWith(b, k, conversation.Spec{Workspace: folder})
		s, err := k.Sessions.Get(talk.ID())
		ok(b, err)
		for i := range each {
			args := `{"name":"demo.look","interval":1}`
			if i%2 == 0 {
				args = `{"name":"demo.look","interval":1,"notify_config":{"expression":"result.count > 5 and error == null"}}`
			}
			success(b, s, "watch_start", args)
		}
	}
	addSchedules(b, k, folder, 10_000)
	running(b, k, talks*each)
	had, before, began := reads.Load(), processorTime(b), time.Now()
	for b.Loop() {
		<-time.After(10 * time.Second)
	}
	share := 100 * float64(processorTime(b)-before) / float64(time.Since(began))
	checks := float64(reads.Load()-had) / time.Since(began).Seconds()
	b.ReportMetric(share, "%core")
	b.ReportMetric(checks, "checks/s")
	b.ReportMetric(share*1e4/checks, "µs/check")
	if checks < 0.95*talks*each {
		b.Error(fmt.Errorf("only %.0f checks a second", checks))
	}
}

// addSchedules makes one schedule as an agent does, and stores as many like it, due in the
// course of a day.
func addSchedules(b *testing.B, k *kernel.Kernel, folder string, n int) {
	b.Helper()
	s, err := k.Sessions.Get(kerneltest.OpenConversation(b, k, folder).ID())
	ok(b, err)
	made := success(b, s, "schedule", `{"when":"0 9 * * *","action":"demo.look"}`)
	like, err := k.Tasks.Store().Get(b.Context(), made["job_id"].(string))
	ok(b, err)
	for i := range n {
		one := task.Task{
			ID: fmt.Sprintf("%s-%d", like.ID, i), Kind: like.Kind, Label: like.Label, Parent: like.Parent, Asker: like.Asker,
			Input: like.Input, RunAt: time.Now().Add(time.Duration(i) * 24 * time.Hour / time.Duration(n)),
		}
		one.Data = json.RawMessage(fmt.Sprintf(`{"next_run":%q}`, one.RunAt.UTC().Format(time.RFC3339)))
		_, _, err := k.Tasks.Store().Create(b.Context(), one)
		ok(b, err)
	}
}

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	ok(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

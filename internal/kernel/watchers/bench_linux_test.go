package watchers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// BenchmarkThousandWatchers measures what a thousand watchers cost that check once a
// second: the share of one core that the whole process takes.
func BenchmarkThousandWatchers(b *testing.B) {
	const talks, each = 10, 100
	var reads atomic.Int64
	look := kerneltest.NewTool(b, "demo.look", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Idempotent: true},
		func(context.Context) (any, error) {
			reads.Add(1)
			return map[string]any{"count": 3, "state": "done"}, nil
		})
	k := kerneltest.Open(b, kerneltest.StateDir(b), look)
	folder := inFolder(b, rules)
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
	running(b, k, talks*each)
	for b.Loop() {
		const span = 10 * time.Second
		had, before := reads.Load(), processorTime(b)
		began := time.Now()
		<-time.After(span)
		share := 100 * float64(processorTime(b)-before) / float64(time.Since(began))
		checks := float64(reads.Load()-had) / time.Since(began).Seconds()
		b.ReportMetric(share, "%core")
		b.ReportMetric(checks, "checks/s")
		b.ReportMetric(share*1e4/checks, "µs/check")
		if checks < 0.95*talks*each {
			b.Error(fmt.Errorf("only %.0f checks a second", checks))
		}
	}
}

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	ok(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package lock_test

import (
	"testing"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// BenchmarkAcquireServer is what the claim on its server costs a call, of an app's
// server and of the user's.
func BenchmarkAcquireServer(b *testing.B) {
	for name, resource := range map[string]string{
		"app": "server:app/home/ada/work/project/callgate.yaml/files", "user": "server:user/files",
	} {
		b.Run(name, func(b *testing.B) {
			ctx, table := b.Context(), lock.New()
			request := lock.Request{Claims: []tool.Claim{{Resource: resource, Mode: tool.IX}}, Holder: lock.Holder{Call: "c1"}}
			b.ReportAllocs()
			for b.Loop() {
				lease, err := table.Acquire(ctx, request)
				if err != nil {
					b.Fatal(err)
				}
				lease.Release()
			}
		})
	}
}

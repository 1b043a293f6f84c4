//go:build linux

package sandbox_test

import (
	"net"
	"os/exec"
	"slices"
	"testing"
	"time"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/internal/sandbox/prefork"
)

// BenchmarkRun is what each level costs over a plain exec of /bin/true; cold is
// the full sandbox without a helper that waited. Both are run in turn, so that
// they meet the same machine; the medians of both, and the least that was seen
// of their difference, are reported.
func BenchmarkRun(b *testing.B) {
	machine := sandbox.Probe()
	filters := machine
	filters.Namespaces = false
	warm, cold := &prefork.Pool{Idle: time.Minute}, new(prefork.Pool)
	defer warm.Close()
	for _, c := range []struct {
		name       string
		by         *prefork.Pool
		machine    sandbox.Report
		unconfined bool
		network    bool
		proxy      func(net.Listener) (stop func())
	}{
		{"process", warm, machine, true, false, nil},
		{"filtered", warm, filters, false, false, nil},
		{"full", warm, machine, false, false, nil},
		{"full+network", warm, machine, false, true, nil},
		{"full+proxy", warm, machine, false, true, new(greeter).serve},
		{"cold", cold, machine, false, false, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := sandbox.Spec{
				Argv:       []string{"/bin/true"},
				Env:        launch.Commands(nil),
				Workspace:  b.TempDir(),
				Unconfined: c.unconfined,

				NetworkAccess: sandbox.NetworkAccess{Network: c.network, Proxy: c.proxy},
			}
			var plain, walled []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				if err := exec.Command("/bin/true").Run(); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				exit, err := sandbox.RunBy(b.Context(), c.by, s, c.machine)
				if err != nil || exit.Code != 0 {
					b.Fatal(exit, err)
				}
				plain, walled = append(plain, middle.Sub(start)), append(walled, time.Since(middle))
			}
			slices.Sort(plain)
			slices.Sort(walled)
			half := len(plain) / 2
			b.ReportMetric(ms(plain[half]), "exec-ms")
			b.ReportMetric(ms(walled[half]), "run-ms")
			b.ReportMetric(ms(walled[half]-plain[half]), "over-ms")
			b.ReportMetric(ms(walled[0]-plain[0]), "least-over-ms")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

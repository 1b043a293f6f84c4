package isolation_test

import (
	"slices"
	"testing"
	"time"

	"callgate/internal/launch"
	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/process"
)

// BenchmarkStart starts the same small server with each isolation, and plainly, in
// turn, until it has read its first line and answered; and reports the median of
// each.
func BenchmarkStart(b *testing.B) {
	h := newHouse(b)
	machine := isolation.Machine{Hidden: []string{h.state}, Cache: h.cache}
	modes := []string{"plain", config.None, config.Contained, config.Sandboxed}
	took := map[string][]time.Duration{}
	once := func(mode string) time.Duration {
		command := process.Command{
			Path: "/bin/sh", Args: []string{"-c", "read x; echo $x; read y"}, Dir: h.work,
			Env: launch.Server(nil, nil, "", true), Grace: time.Second,
		}
		begun := time.Now()
		if mode != "plain" {
			walls, err := machine.Walls(config.Isolation{Mode: mode}, command.Path, isolation.Place{Dir: h.work, Inside: true})
			if err != nil {
				b.Fatal(err)
			}
			command.Spec = walls.Spec()
		}
		p, err := process.Start(command)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.In.WriteString("hello\n"); err != nil {
			b.Fatal(err)
		}
		if n, err := p.Out.Read(make([]byte, 8)); n == 0 {
			b.Fatal(err, p.Err())
		}
		d := time.Since(begun)
		p.Stop(time.Second)
		return d
	}
	for _, mode := range modes { // what is found out once about the machine is not a start's
		once(mode)
	}
	for b.Loop() {
		for _, mode := range modes {
			took[mode] = append(took[mode], once(mode))
		}
	}
	for _, mode := range modes {
		slices.Sort(took[mode])
		b.ReportMetric(float64(took[mode][len(took[mode])/2].Microseconds())/1000, mode+"-ms")
	}
}

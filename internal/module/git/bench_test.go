package git_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkTools measures what a tool costs more than git itself, on a repository of
// 200 files and 200 commits. Both run in turn, so that the load of the machine is the
// same for both. It reports the medians and the minimums.
func BenchmarkTools(b *testing.B) {
	for _, c := range []struct {
		name  string
		args  args
		plain []string
	}{
		{"status", args{}, []string{"status", "--porcelain=v2", "--branch", "-z"}},
		{"log", args{"limit": 20}, []string{"log", "-20", "--format=%H%x00%an%x00%B"}},
		{"diff", args{}, []string{"diff"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := newTools(b)
			g.Git("init", "-q", "-b", "main")
			for i := range 200 {
				g.Write(fmt.Sprintf("dir%d/file%d", i%10, i), "text\n")
			}
			g.Git("add", ".")
			g.Git("commit", "-q", "-m", "first")
			for i := range 200 {
				g.Git("commit", "-q", "--allow-empty", "-m", fmt.Sprint(i))
			}
			g.Write("dir0/file0", "changed\n")
			g.Call(c.name, c.args)
			var plain, ours []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				cmd := exec.Command("git", c.plain...)
				cmd.Dir, cmd.Env = g.Dir, append(os.Environ(), "HOME="+g.Home)
				if _, err := cmd.Output(); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				g.Call(c.name, c.args)
				plain, ours = append(plain, middle.Sub(start)), append(ours, time.Since(middle))
			}
			slices.Sort(plain)
			slices.Sort(ours)
			half := len(plain) / 2
			b.ReportMetric(ms(plain[half]), "git-ms")
			b.ReportMetric(ms(ours[half]), "tool-ms")
			b.ReportMetric(ms(ours[half]-plain[half]), "over-ms")
			b.ReportMetric(ms(plain[0]), "least-git-ms")
			b.ReportMetric(ms(ours[0]), "least-tool-ms")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

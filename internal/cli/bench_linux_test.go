package cli_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/statedir"
)

// speaker speaks MCP to a process, as cheaply as can be: what is measured is
// the process.
type speaker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	mu    sync.Mutex
	asked int
	open  map[int]chan struct{}
}

func speakTo(b *testing.B, state string, name string, args ...string) *speaker {
	b.Helper()
	s := &speaker{cmd: exec.Command(name, args...), open: map[int]chan struct{}{}}
	s.cmd.Env = append(os.Environ(), "CALLGATE_STATE="+state)
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	s.lines = bufio.NewReaderSize(out, 64<<10)
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = s.in.Close()
		defer time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() }).Stop()
		_ = s.cmd.Wait()
	})
	go s.listen(b)
	s.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if _, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		b.Fatal(err)
	}
	return s
}

func (s *speaker) listen(b *testing.B) {
	for {
		line, err := s.lines.ReadSlice('\n')
		if err != nil {
			return
		}
		rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`))
		digits, rest, ok2 := bytes.Cut(rest, []byte(","))
		id, err := strconv.Atoi(string(digits))
		if !ok || !ok2 || err != nil || !bytes.HasPrefix(rest, []byte(`"result"`)) || bytes.Contains(rest, []byte(`"isError":true`)) {
			b.Errorf("it says %.300s", line)
		}
		s.mu.Lock()
		done := s.open[id]
		delete(s.open, id)
		s.mu.Unlock()
		if done != nil {
			close(done)
		}
	}
}

// ask sends a request and waits for its answer.
func (s *speaker) ask(method, params string) {
	done := make(chan struct{})
	s.mu.Lock()
	s.asked++
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", s.asked, method, params)
	s.open[s.asked] = done
	_, err := s.in.Write(line)
	s.mu.Unlock()
	if err == nil {
		<-done
	}
}

// spent is the processor time of processes, their threads together.
func spent(b *testing.B, pids ...int) time.Duration {
	b.Helper()
	total := time.Duration(0)
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Fatal(err)
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		user, _ := strconv.Atoi(string(fields[11]))
		system, _ := strconv.Atoi(string(fields[12]))
		total += time.Duration(user+system) * 10 * time.Millisecond // the kernel's clock tick, everywhere
	}
	return total
}

// BenchmarkProxied is a read of an MCP server behind the real program: a client,
// a bridge, the kernel and the server, each a process of its own, against the
// same call of the server itself. The time of the processor is that of the
// bridge and the kernel together.
func BenchmarkProxied(b *testing.B) {
	server, err := exec.LookPath("callgate-fixture")
	if err != nil {
		b.Skip("there is no server to call")
	}
	bin := program(b)
	state, folder := filepath.Join(b.TempDir(), "s"), b.TempDir()
	app := fmt.Sprintf(
		"tools:\n  modules:\n    mcp: {config: {servers: {fixture: {command: %q}}}}\n  capabilities: {default_policy: auto}\n",
		server,
	)
	if err := os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o600); err != nil {
		b.Fatal(err)
	}
	person(b, state, "-C", folder, "mcp", "trust", "fixture", "--yes")
	person(b, state, "-C", folder, "app", "trust", "--yes")
	up := exec.Command(bin, "--state", state, "up")
	if err := up.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = up.Process.Signal(os.Interrupt); _ = up.Wait() }()
	dir, err := statedir.At(state)
	if err != nil {
		b.Fatal(err)
	}
	if !poll(time.Minute, func() bool {
		c, err := client.Unix(dir.Socket())(b.Context())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}) {
		b.Fatal("the kernel does not serve")
	}
	bridge := speakTo(b, state, bin, "-C", folder, "mcp")
	ours := []int{up.Process.Pid, bridge.cmd.Process.Pid}
	direct := speakTo(b, state, server)
	for _, way := range []struct {
		name, tool string
		to         *speaker
		callers    int
		pids       []int
	}{
		{"direct", "look", direct, 1, []int{direct.cmd.Process.Pid}},
		{"through", "mcp_fixture.look", bridge, 1, ours},
		{"direct/16", "look", direct, 16, []int{direct.cmd.Process.Pid}},
		{"through/16", "mcp_fixture.look", bridge, 16, ours},
	} {
		b.Run(way.name, func(b *testing.B) {
			params := `{"name":"` + way.tool + `","arguments":{"word":"hello"}}`
			way.to.ask("tools/call", params)
			took := make([]time.Duration, b.N)
			next := make(chan int)
			before := spent(b, way.pids...)
			b.ResetTimer()
			var all sync.WaitGroup
			for range way.callers {
				all.Go(func() {
					for i := range next {
						start := time.Now()
						way.to.ask("tools/call", params)
						took[i] = time.Since(start)
					}
				})
			}
			for i := range b.N {
				next <- i
			}
			close(next)
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64((spent(b, way.pids...)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

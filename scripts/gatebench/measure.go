//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// way is one way to the server.
type way struct {
	name string
	tool string
	to   asker
	pids []int // of what is measured
}

// asker asks a process.
type asker interface {
	ask(method, params string) error
	process() *os.Process
	end() error
}

// figures are what one round measured.
type figures struct {
	callers    int
	median     time.Duration
	cpu        time.Duration // for a call
	throughput float64       // calls a second
}

func run(ctx context.Context, s settings) (err error) {
	scratch, err := os.MkdirTemp("", "callgate-gatebench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	k, err := begin(ctx, s, s.binary, filepath.Join(scratch, "now"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.end()) }()
	if s.servers > 0 {
		return k.memory(ctx, s)
	}
	kernels := map[string]*kernel{"callgate": k}
	if s.before != "" {
		before, err := begin(ctx, s, s.before, filepath.Join(scratch, "before"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, before.end()) }()
		kernels["before"] = before
	}
	ways, err := newWays(kernels, s)
	for _, w := range ways {
		defer func() { err = errors.Join(err, w.to.end()) }()
	}
	if err != nil {
		return err
	}
	if err := rounds(ctx, ways, s); err != nil {
		return err
	}
	now, most, err := resident(k.command.Process.Pid)
	fmt.Printf("memory of the kernel: %d MB, at most %d MB\n", now, most)
	return err
}

// rounds measures the ways in turns, and prints what came of it.
func rounds(ctx context.Context, ways []way, s settings) error {
	all := map[string][]figures{}
	for range s.rounds {
		for _, w := range ways {
			for _, callers := range []int{1, 16} {
				f, err := w.measure(callers, s.calls*min(callers, 4))
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				key := fmt.Sprintf("%s, %d", w.name, callers)
				all[key] = append(all[key], f)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	print(ways, all)
	return nil
}

// measure has callers make calls.
func (w way) measure(callers, calls int) (figures, error) {
	params := `{"name":"` + w.tool + `","arguments":{"word":"hello"}}`
	if err := w.to.ask("tools/call", params); err != nil {
		return figures{}, err
	}
	took, errs := make([]time.Duration, calls), make([]error, callers)
	before, err := spent(w.pids)
	if err != nil {
		return figures{}, err
	}
	began := time.Now()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := caller; i < calls && errs[caller] == nil; i += callers {
				start := time.Now()
				errs[caller] = w.to.ask("tools/call", params)
				took[i] = time.Since(start)
			}
		})
	}
	all.Wait()
	wall := time.Since(began)
	after, err := spent(w.pids)
	slices.Sort(took)
	return figures{
		callers: callers, median: took[calls/2], cpu: (after - before) / time.Duration(calls),
		throughput: float64(calls) / wall.Seconds(),
	}, errors.Join(append(errs, err)...)
}

func print(ways []way, all map[string][]figures) {
	fmt.Printf("%-14s %8s %10s %10s %10s   ratios to the forwarder, or to the other one\n",
		"way", "callers", "ms a call", "cpu ms", "calls/s")
	for _, callers := range []int{1, 16} {
		of := forwarder
		if slices.ContainsFunc(ways, func(w way) bool { return w.name == other }) {
			of = other
		}
		base := medians(all[fmt.Sprintf("%s, %d", of, callers)])
		for _, w := range ways {
			f := medians(all[fmt.Sprintf("%s, %d", w.name, callers)])
			fmt.Printf("%-14s %8d %10.3f %10.3f %10.0f   %.2f %.2f %.2f\n", w.name, callers,
				f.median.Seconds()*1000, f.cpu.Seconds()*1000, f.throughput,
				float64(f.median)/float64(base.median), float64(f.cpu)/float64(base.cpu), f.throughput/base.throughput)
		}
	}
}

func medians(rounds []figures) figures {
	return figures{
		median:     middle(rounds, func(f figures) time.Duration { return f.median }),
		cpu:        middle(rounds, func(f figures) time.Duration { return f.cpu }),
		throughput: middle(rounds, func(f figures) float64 { return f.throughput }),
	}
}

func middle[N cmp.Ordered](rounds []figures, of func(figures) N) N {
	var all []N
	for _, f := range rounds {
		all = append(all, of(f))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

const (
	forwarder = "forwarder" // this program
	other     = "other"     // another one
)

// kernel is a real kernel in a folder of its own.
type kernel struct {
	command *exec.Cmd
	binary  string
	folder  string
	environ []string
}

// begin has a person accept the servers, and starts a kernel.
func begin(ctx context.Context, s settings, binary, scratch string) (*kernel, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	k := &kernel{binary: binary, folder: filepath.Join(scratch, "work")}
	k.environ = append(os.Environ(), "CALLGATE_STATE="+filepath.Join(scratch, "state"), "NO_COLOR=1")
	if err := os.MkdirAll(k.folder, 0o700); err != nil {
		return nil, err
	}
	app, names := appFile(s)
	if err := os.WriteFile(filepath.Join(k.folder, "callgate.yaml"), []byte(app), 0o600); err != nil {
		return nil, err
	}
	person, err := filepath.Abs(s.person)
	if err != nil {
		return nil, err
	}
	accept := [][]string{{"app", "trust", "--yes"}}
	for _, name := range names {
		accept = append(accept, []string{"mcp", "trust", name, "--yes"})
	}
	for _, args := range accept {
		c := exec.CommandContext(ctx, person, append([]string{binary}, args...)...)
		c.Dir, c.Env = k.folder, k.environ
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	k.command = exec.CommandContext(ctx, binary, "up")
	k.command.Dir, k.command.Env, k.command.Stderr = k.folder, k.environ, os.Stderr
	k.command.Cancel = func() error { return k.command.Process.Signal(syscall.SIGTERM) }
	return k, k.command.Start()
}

// appFile is an app with the servers that are wanted, and their names.
func appFile(s settings) (text string, names []string) {
	self, _ := os.Executable() // it runs
	var servers []string
	for i := range max(s.servers, 1) {
		more := 0
		if s.servers > 0 {
			more = s.tools*(i+1)/s.servers - s.tools*i/s.servers - 2
		}
		name := fmt.Sprintf("s%d", i)
		names = append(names, name)
		servers = append(servers, fmt.Sprintf(`%s: {command: %q, args: [server, "%d"]}`, name, self, max(more, 0)))
	}
	return "tools:\n  modules:\n    mcp: {config: {servers: {" + strings.Join(servers, ", ") + "}}}\n" +
		"  capabilities: {default_policy: auto}\n", names
}

func (k *kernel) end() error {
	if err := k.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = k.command.Wait() // it was told to end
	return nil
}

// newWays starts the ways to the server.
func newWays(kernels map[string]*kernel, s settings) (ways []way, err error) {
	tool := look
	if s.write {
		tool = note
	}
	add := func(name, tool string, to asker, e error, pids ...int) {
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, e))
			return
		}
		ways = append(ways, way{name, tool, to, append(pids, to.process().Pid)})
	}
	self, e := os.Executable()
	if e != nil {
		return nil, e
	}
	to, e := speak(os.Environ(), self, "server")
	add("server", tool, to, e)
	to, e = speak(os.Environ(), self, "forward", self, "server")
	add(forwarder, tool, to, e)
	if s.other != "" {
		fields := strings.Fields(s.other)
		w, e := startWeb(os.Environ(), s.otherURL, "", fields[0], fields[1:]...)
		add(other, tool, w, e)
	}
	for name, k := range kernels {
		to, e = speak(k.environ, k.binary, "-C", k.folder, "mcp")
		add(name, "mcp_s0."+tool, to, e, k.command.Process.Pid)
		if !s.http {
			continue
		}
		address, e := freeAddress()
		if e != nil {
			return nil, e
		}
		const token = "the token of the bench"
		w, e := startWeb(k.environ, "http://"+address+"/mcp", token,
			k.binary, "-C", k.folder, "mcp", "--http", address, "--token", token)
		add(name+"/http", "mcp_s0."+tool, w, e, k.command.Process.Pid)
	}
	return ways, err
}

// freeAddress is an address of this machine at which nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// memory calls a tool of each server once, and prints the kernel's memory.
func (k *kernel) memory(ctx context.Context, s settings) (err error) {
	to, err := speak(k.environ, k.binary, "-C", k.folder, "mcp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.end()) }()
	if err := to.ask("tools/list", `{}`); err != nil {
		return err
	}
	for i := range s.servers {
		if err := to.ask("tools/call", fmt.Sprintf(`{"name":"mcp_s%d.look","arguments":{"word":"hello"}}`, i)); err != nil {
			return fmt.Errorf("server %d: %w", i, err)
		}
	}
	const settle = 5 * time.Second // what is let go of is given back by then
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return ctx.Err()
	}
	now, most, err := resident(k.command.Process.Pid)
	fmt.Printf("memory of the kernel with %d servers and %d tools: %d MB, at most %d MB\n", s.servers, s.tools, now, most)
	return err
}

//go:build linux

package drive

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"callgate/internal/statedir"
)

// process is a process that the harness started.
type process struct {
	*exec.Cmd
	out, err *bytes.Buffer
	done     chan struct{} // closed when it has ended
	mu       sync.Mutex
	shot     bool // the harness killed it
}

// processes are the ones that are under way.
type processes struct {
	mu  sync.Mutex
	all map[*process]string // what each is
}

func newProcesses() *processes { return &processes{all: map[*process]string{}} }

// start starts a process of the program, or of this one.
func (g *group) start(what, name string, args ...string) (*process, error) {
	p := &process{Cmd: exec.Command(name, args...), out: &bytes.Buffer{}, err: &bytes.Buffer{}, done: make(chan struct{})}
	p.Env, p.Dir, p.Stdout, p.Stderr = g.env, g.work, p.out, p.err
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.WaitDelay = time.Second
	return p, g.launch(what, p)
}

func (g *group) launch(what string, p *process) error {
	if err := p.Start(); err != nil {
		return err
	}
	g.procs.mu.Lock()
	g.procs.all[p] = what
	g.procs.mu.Unlock()
	go func() {
		_ = p.Wait() // its exit code is in ProcessState
		g.procs.mu.Lock()
		delete(g.procs.all, p)
		g.procs.mu.Unlock()
		close(p.done)
	}()
	return nil
}

// kill kills a process of the harness, and reports whether it was still under way.
func (p *process) kill() bool {
	p.mu.Lock()
	p.shot = true
	p.mu.Unlock()
	return p.Process.Signal(syscall.SIGKILL) == nil
}

func (p *process) wasShot() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shot
}

// ended waits for the end of a process, for a time.
func (p *process) ended(within time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(within):
		return false
	}
}

// over reports whether a process has ended.
func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// pick returns the processes of a kind.
func (ps *processes) pick(what string) (list []*process) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for p, w := range ps.all {
		if w == what {
			list = append(list, p)
		}
	}
	return list
}

func (ps *processes) everything() (list []*process) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for p := range ps.all {
		list = append(list, p)
	}
	return list
}

// kernel returns the process that holds the state directory, or 0.
func (at places) kernel() int {
	pid := statedir.Dir(at.state).Holder()
	if pid <= 0 || !at.ours(pid) {
		return 0
	}
	return pid
}

// ours reports whether a process is one of the group's: a number can be used again.
func (at places) ours(pid int) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	for _, name := range []string{"environ", "cmdline"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && bytes.Contains(data, []byte(at.dir)) {
			return true
		}
	}
	return false
}

// servers returns the processes of the group's MCP servers.
func (g *group) servers() (pids []int) {
	for _, pid := range g.members() {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		args := strings.Split(string(line), "\x00")
		ledger := len(args) > 3 && args[0] == g.Self && args[1] == "server"
		npm := g.npm != "" && len(args) > 1 && args[1] == g.npm
		if err == nil && (ledger || npm) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// members returns all processes of the group, whoever started them.
func (at places) members() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && at.ours(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processorTime is how long a process has run on a processor, on all its threads.
func processorTime(pid int) (sum time.Duration) {
	names, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/schedstat"))
	for _, name := range names {
		data, _ := os.ReadFile(name)
		first, _, _ := strings.Cut(string(data), " ")
		n, _ := strconv.ParseInt(first, 10, 64)
		sum += time.Duration(n)
	}
	return sum
}

// commandLine is the command line of a process, for people.
func commandLine(pid int) string {
	line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return strings.ReplaceAll(string(line), "\x00", " ")
}

// signal sends a signal to a process of the group.
func signal(pid int, s syscall.Signal) bool { return syscall.Kill(pid, s) == nil }

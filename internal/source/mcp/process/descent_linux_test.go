package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/peer"
	"callgate/internal/sandbox"
	_ "callgate/internal/sandbox/selfstart"
	"callgate/internal/source/mcp/process"
)

// roleVariable says what else this program plays, and roleOf what its arguments
// say, where it has no environment.
const roleVariable = "CALLGATE_PROCESS_TEST"

// TestMain lets this program be a server that forks twice, what such a server
// leaves behind, and a kernel.
func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); {
	case len(os.Args) == 4 && os.Args[1] == "orphan":
		playOrphan(os.Args[2], os.Args[3])
	case role == "server" || len(os.Args) == 3 && os.Args[1] == "server":
		playServer(os.Args[2])
	case role == "kernel":
		playKernel()
	default:
		os.Exit(m.Run())
	}
}

// playServer starts a process that starts the orphan and ends, both in sessions of
// their own and without any environment; then it lives until its input ends.
func playServer(folder string) {
	self, _ := os.Executable()
	if os.Getenv("MIDDLE") == "" {
		middle := exec.Command(self, "server", folder)
		middle.Env = []string{"MIDDLE=1"}
		middle.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := middle.Run(); err != nil {
			os.Exit(3)
		}
		fmt.Println("ready")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	orphan := exec.Command(self, "orphan", filepath.Join(folder, "socket"), folder)
	orphan.Env = []string{}
	orphan.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := orphan.Start(); err != nil {
		os.Exit(4)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if _, err := os.Stat(filepath.Join(folder, "up")); err == nil {
			return
		}
	}
	os.Exit(5)
}

// playOrphan holds a lock on a file for as long as it lives.
func playOrphan(_, folder string) {
	f, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil || syscall.Flock(int(f.Fd()), syscall.LOCK_EX) != nil {
		os.Exit(6)
	}
	_ = os.WriteFile(filepath.Join(folder, "up"), nil, 0o600)
	_ = syscall.Pause()
}

// playKernel starts a server, and waits to be killed.
func playKernel() {
	mode, _ := strconv.Atoi(os.Args[2])
	p, err := process.Start(command(os.Args[1], sandbox.Mode(mode)))
	if err != nil {
		fmt.Println(err)
		os.Exit(7)
	}
	line, _ := bufio.NewReader(p.Out).ReadString('\n')
	fmt.Print(line)
	<-p.Done()
}

// command is the server, run in a mode.
func command(folder string, mode sandbox.Mode) process.Command {
	self, _ := os.Executable()
	return process.Command{
		Path: self, Args: []string{"server", folder}, Dir: folder, Env: []string{"PATH=/usr/bin:/bin"},
		Log: os.Stderr, Spec: &sandbox.Spec{Mode: mode}, Grace: 2 * time.Second,
	}
}

// alive reports whether the orphan of a folder holds its lock.
func alive(t *testing.T, folder string) bool {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, "lock"))
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// holder is the process that holds the lock of a folder, as the system knows it.
func holder(t *testing.T, folder string) int {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if data, _ := os.ReadFile(name); strings.Contains(string(data), "\x00orphan\x00"+filepath.Join(folder, "socket")+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			return pid
		}
	}
	t.Fatal("there is no orphan")
	return 0
}

var modes = map[string]sandbox.Mode{"contained": sandbox.Contained, "tracked": sandbox.Tracked}

// A process that was forked twice, in a session of its own and without an
// environment, is known as a descendant, and ends with its server.
func TestNobodyLeavesByForking(t *testing.T) {
	t.Parallel()
	for name, mode := range modes {
		for end, stop := range map[string]func(*process.Process){
			"stopped": func(p *process.Process) { p.Stop(time.Second) },
			"killed":  func(p *process.Process) { _ = syscall.Kill(p.Pid(), syscall.SIGKILL); <-p.Done() },
		} {
			t.Run(name+" "+end, func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				p, err := process.Start(command(folder, mode))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { p.Stop(time.Millisecond) })
				if line, err := bufio.NewReader(p.Out).ReadString('\n'); err != nil {
					t.Fatalf("%q, %v; %v %v", line, err, p.Exit(), p.Err())
				}
				orphan := holder(t, folder)
				if (peer.Lineage{}).Descends(orphan, p.Pid()) {
					t.Fatal("it is no orphan")
				}
				if !(peer.Lineage{}).Descends(orphan, os.Getpid()) {
					t.Error("it is not known as a descendant of the kernel")
				}
				stop(p)
				if alive(t, folder) {
					t.Error("it is alive after its server")
					_ = syscall.Kill(orphan, syscall.SIGKILL)
				}
			})
		}
	}
}

// Nothing of a server outlives a kernel that is killed.
func TestNobodyOutlivesAKilledKernel(t *testing.T) {
	t.Parallel()
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			self, _ := os.Executable()
			kernel := exec.Command(self, folder, strconv.Itoa(int(mode)))
			kernel.Env = append(os.Environ(), roleVariable+"=kernel")
			out, err := kernel.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := kernel.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if !alive(t, folder) {
				t.Fatal("there is no orphan")
			}
			_ = kernel.Process.Kill()
			_ = kernel.Wait()
			eventually(t, "the end of the orphan", func() bool { return !alive(t, folder) })
		})
	}
}

//go:build linux || darwin

package peer_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"callgate/internal/peer"
)

const roleVar = "CALLGATE_PEER_TEST"

// TestMain lets this program be a process of its own tests.
func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		playChild()
		return
	}
	os.Exit(m.Run())
}

// playChild prints its number, starts a child of its own if it is asked to, and
// lives until its input ends.
func playChild() {
	if os.Getenv(roleVar) == "parent" {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), roleVar+"=child")
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		if child.Run() != nil {
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv("CALLGATE_PEER_SOCKET"); path != "" {
		c, err := net.Dial("unix", path)
		if err != nil {
			os.Exit(1)
		}
		defer c.Close()
	}
	os.Stdout.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// start starts this program in a role and returns the process that it started
// and the number that was printed.
func start(t *testing.T, role string, env ...string) (child, printed int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVar+"="+role), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	line := make([]byte, 32)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	printed, err = strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, printed
}

func TestOf(t *testing.T) {
	folder, err := os.MkdirTemp("", "peer") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	path := filepath.Join(folder, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			accepted <- c
		}
	}()
	child, _ := start(t, "child", "CALLGATE_PEER_SOCKET="+path)
	c := <-accepted
	defer c.Close()
	p, ok := peer.Of(c)
	if !ok || p.PID != child || p.UID != os.Getuid() {
		t.Errorf("the other end is %+v, %v; want process %d of user %d", p, ok, child, os.Getuid())
	}
}

func TestOfAnotherConnection(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if p, ok := peer.Of(a); ok {
		t.Errorf("a pipe in memory has the peer %+v", p)
	}
}

func TestDescends(t *testing.T) {
	parent, child := start(t, "parent")
	sibling, _ := start(t, "child")
	self := os.Getpid()
	var lineage peer.Lineage
	for _, tt := range []struct {
		name      string
		pid, from int
		want      bool
	}{
		{"itself", self, self, true},
		{"a child", parent, self, true},
		{"a grandchild", child, self, true},
		{"a grandchild of its parent", child, parent, true},
		{"a parent", self, parent, false},
		{"a sibling", sibling, parent, false},
		{"everything of the first process", child, 1, false},
		{"of no process", child, 0, false},
		{"no process", 0, self, false},
		{"a process that does not exist", 1 << 30, self, false},
	} {
		if got := lineage.Descends(tt.pid, tt.from); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestAtTerminal(t *testing.T) {
	if peer.AtTerminal(1 << 30) {
		t.Error("a process that does not exist has a terminal")
	}
	tty, err := os.Open("/dev/tty") // opens only where there is a controlling terminal
	if err == nil {
		tty.Close()
	}
	if got := peer.AtTerminal(os.Getpid()); got != (err == nil) {
		t.Errorf("this process: %v, and opening its terminal: %v", got, err)
	}
}

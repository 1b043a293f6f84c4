package client_test

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/client/liveness"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/tool"
)

const servingVar = "CALLGATE_CLIENT_SERVING"

// TestServingProcess is a kernel's socket in another process, for the tests below: it
// answers every request but the calls, which it answers when it was let go on.
func TestServingProcess(t *testing.T) {
	path := os.Getenv(servingVar)
	if path == "" {
		t.Skip("another test starts it")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("serving\n")
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"protocol":` + strconv.Itoa(protocol.Version) + `}`))
	}))
}

// serving starts the process above.
func serving(t *testing.T) (*os.Process, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "callgate-client-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	cmd := exec.Command(os.Args[0], "-test.run=^TestServingProcess$")
	cmd.Env = append(os.Environ(), servingVar+"="+path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "serving\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process, path
}

func signal(t *testing.T, p *os.Process, s os.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Fatal(err)
	}
	tick, late := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for s == syscall.SIGSTOP && !peer.Stopped(p.Pid) { // its threads stop one after the other
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the process does not stop")
		}
	}
}

// stoppedClient is a client of a process that is stopped, and what it says.
func stoppedClient(t *testing.T) (*client.Session, *client.Client, *os.Process, chan string) {
	t.Helper()
	process, path := serving(t)
	said := make(chan string, 16)
	c := client.New(client.Options{
		Dial: client.Unix(path), Kernel: liveness.Process{Socket: func() string { return path }},
		Say: func(text string) { said <- text },
	})
	t.Cleanup(c.Close)
	session, err := c.OpenSession(t.Context(), protocol.OpenSession{})
	if err != nil {
		t.Fatal(err)
	}
	signal(t, process, syscall.SIGSTOP)
	return session, c, process, said
}

// A short request to a stopped kernel ends, and says which process to wake.
func TestStoppedKernelEndsAShortRequest(t *testing.T) {
	t.Parallel()
	_, c, process, _ := stoppedClient(t)
	done := make(chan error, 1)
	go func() {
		_, err := c.Status(t.Context())
		done <- err
	}()
	select {
	case err := <-done:
		pid := strconv.Itoa(process.Pid)
		if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "process "+pid) ||
			!strings.Contains(err.Error(), "stopped") || !strings.Contains(err.Error(), "kill -CONT "+pid) {
			t.Errorf("it says %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the request waits without end")
	}
}

// A call goes on waiting for a stopped kernel, says so, and is answered when the
// kernel goes on.
func TestStoppedKernelIsNamedWhileACallWaits(t *testing.T) {
	t.Parallel()
	session, _, process, said := stoppedClient(t)
	done := make(chan error, 1)
	go func() {
		_, err := session.Call(t.Context(), protocol.CallRequest{Name: "x"})
		done <- err
	}()
	wait := func(want string) {
		t.Helper()
		select {
		case text := <-said:
			if !strings.Contains(text, want) {
				t.Errorf("it says %q, want %q", text, want)
			}
		case err := <-done:
			t.Fatalf("the call ended: %v", err)
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is said")
		}
	}
	wait("kill -CONT " + strconv.Itoa(process.Pid))
	signal(t, process, syscall.SIGCONT)
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the call was answered and ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the call has no answer")
	}
}

// The probe answers for itself: nobody there, a kernel that lives, one that is
// stopped, and one at whose socket so many wait that no more are let in.
func TestProbe(t *testing.T) {
	t.Parallel()
	process, path := serving(t)
	at := liveness.Process{Socket: func() string { return path }, Holder: func() int { return process.Pid }}
	nobody := liveness.Process{Socket: func() string { return path + "-absent" }}
	for name, p := range map[string]liveness.Process{"zero": {}, "nobody": nobody, "alive": at} {
		if err := p.Probe(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	signal(t, process, syscall.SIGSTOP)
	if err := at.Probe(t.Context()); !liveness.IsNoAnswer(err) || tool.KindOf(err) != tool.Unavailable {
		t.Errorf("stopped: %v", err)
	}
	for { // fill the queue of the socket
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	if err := at.Probe(t.Context()); !liveness.IsNoAnswer(err) || !strings.Contains(err.Error(), strconv.Itoa(process.Pid)) {
		t.Errorf("with a full queue: %v", err)
	}
}

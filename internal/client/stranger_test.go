//go:build linux || darwin

package client_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/tool"
)

const (
	strangerVar = "CALLGATE_CLIENT_STRANGER"
	nobody      = 65534
)

// TestStrangerProcess is another process, for the test below: it serves a socket
// until its first connection ends, and prints what it was sent.
func TestStrangerProcess(t *testing.T) {
	path := os.Getenv(strangerVar)
	if path == "" {
		t.Skip("another test starts it")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("serving\n")
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second)) // a client that was fooled waits for an answer
	request, _ := io.ReadAll(c)
	os.Stdout.WriteString("sent: " + string(request) + "\n")
}

// startStranger starts the process above as a user, with its socket at path. It
// returns what the process prints.
func startStranger(t *testing.T, uid uint32, path string) *bufio.Reader {
	t.Helper()
	program := filepath.Join(filepath.Dir(path), "stranger") // the test's own folder is closed to others
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestStrangerProcess$")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), strangerVar+"="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "serving\n" {
		t.Fatalf("the other user's process said %q, %v", line, err)
	}
	return said
}

// A kernel of another user gets nothing, also where the socket lies in a folder of
// one's own, and also from root.
func TestAnotherUsersKernelIsSentNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	open, err := os.MkdirTemp("", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(open) })
	own := t.TempDir()
	socket := filepath.Join(own, "kernel.sock")
	if err := errors.Join(os.Chown(open, nobody, nobody), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	said := startStranger(t, nobody, filepath.Join(open, "s"))
	if err := os.Link(filepath.Join(open, "s"), socket); err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Options{Dial: client.Unix(socket), HumanKey: "the-human's-key"})
	ctx := t.Context()
	answered := make(chan error, 1)
	go func() {
		_, err := c.Status(ctx)
		c.Close()
		answered <- err
	}()
	sent := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(said)
		sent <- string(all)
	}()
	if all := <-sent; strings.Contains(all, "the-human's-key") || !strings.Contains(all, "sent: \n") {
		t.Errorf("the other user's process was sent something: %s", all)
	}
	err = <-answered
	if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "another user serves the kernel's socket") {
		t.Errorf("the client said: %v", err)
	}
}

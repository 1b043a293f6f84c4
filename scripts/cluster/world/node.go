//go:build linux

package world

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	servePort   = "7420"
	clusterPort = "7430"
)

// Node is a kernel on a host: a real process of the program, with a state directory of its own.
type Node struct {
	*Host
	Program string        // what it runs at its next start
	Skew    time.Duration // by which its clock is wrong then, if its program is of [BuildSkewed]
	Extra   []string      // of its environment

	folder   string
	database string
	certs    *Certificates

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{}
	paused  bool
}

// NewNode prepares a node whose files are in a folder.
func NewNode(host *Host, program, database, folder string, certs *Certificates) (*Node, error) {
	n := &Node{Host: host, Program: program, database: database, folder: folder, certs: certs}
	return n, errors.Join(os.MkdirAll(n.State(), 0o700), os.MkdirAll(n.Workspace(), 0o700))
}

// State is its state directory, and Workspace the folder that it serves.
func (n *Node) State() string     { return filepath.Join(n.folder, "state") }
func (n *Node) Workspace() string { return filepath.Join(n.folder, "work") }

// URL is where it serves the HTTP API.
func (n *Node) URL() string { return "https://" + net.JoinHostPort(n.Address, servePort) }

// Env is the environment of the node and of its commands.
func (n *Node) Env() []string {
	return append(append(os.Environ(), n.Extra...),
		"CALLGATE_STATE="+n.State(), "CALLGATE_DATABASE="+n.database, "CALLGATE_NODE="+n.Name,
		SkewVariable+"="+strconv.FormatInt(int64(n.Skew), 10), "HOME="+n.folder)
}

// Start starts it.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	log, err := os.OpenFile(filepath.Join(n.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	n.process = n.Command(context.Background(), n.Program, "up", "--listen", net.JoinHostPort(n.Address, servePort),
		"--host", n.Address, "--tls-cert", n.certs.Cert, "--tls-key", n.certs.Key,
		"--cluster-listen", net.JoinHostPort(n.Address, clusterPort))
	n.process.Env, n.process.Dir = n.Env(), n.Workspace()
	n.process.Stdout, n.process.Stderr = log, log
	n.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := n.process.Start(); err != nil {
		return err
	}
	ended, process := make(chan struct{}), n.process
	n.ended, n.paused = ended, false
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	return nil
}

// Ended reports whether its process has ended.
func (n *Node) Ended() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.ended:
		return true
	default:
		return n.process == nil
	}
}

// WaitReady waits until it serves calls.
func (n *Node) WaitReady(ctx context.Context, client *http.Client) error {
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		if n.ready(ctx, client) {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("node %s does not get ready: %w", n.Name, context.Cause(ctx))
		}
		if n.Ended() {
			return fmt.Errorf("node %s has ended: see %s", n.Name, filepath.Join(n.folder, "log"))
		}
	}
}

func (n *Node) ready(ctx context.Context, client *http.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL()+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Kill ends its process at once, and waits for that.
func (n *Node) Kill() { n.end(syscall.SIGKILL) }

// Stop asks it to end, and waits for that.
func (n *Node) Stop() { n.end(syscall.SIGTERM) }

func (n *Node) end(signal syscall.Signal) {
	n.mu.Lock()
	process, ended, paused := n.process, n.ended, n.paused
	n.paused = false
	n.mu.Unlock()
	if process == nil {
		return
	}
	_ = syscall.Kill(-process.Process.Pid, signal) // gone already if it fails
	if paused {
		_ = syscall.Kill(-process.Process.Pid, syscall.SIGCONT)
	}
	<-ended
}

// Pause stops its process until Resume.
func (n *Node) Pause() { n.freeze(syscall.SIGSTOP, true) }

// Resume goes on after Pause.
func (n *Node) Resume() { n.freeze(syscall.SIGCONT, false) }

func (n *Node) freeze(signal syscall.Signal, paused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		_ = syscall.Kill(-n.process.Process.Pid, signal)
		n.paused = paused
	}
}

// Client is a client that knows the nodes' certificate. It keeps few connections, and gives each request its own time.
func (c *Certificates) Client(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: c.pool}, MaxIdleConnsPerHost: 64,
		DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
	}}
}

// PID is its process.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process.Process.Pid
}

//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/statedir"
)

// agent is a coding agent: it has started a bridge of its own, and speaks MCP
// to it.
type agent struct {
	*exec.Cmd
	t       *testing.T
	in      io.WriteCloser
	out     io.ReadCloser
	errs    heardSoFar
	answers chan reply // closed at the end of what the bridge says

	mu       sync.Mutex
	asked    int
	progress chan string // what notifications of progress say
}

// heardSoFar is what a process that still runs has said.
type heardSoFar struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heardSoFar) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heardSoFar) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// reply is what the bridge said to one request.
type reply struct {
	ID     int
	Result struct {
		Content []struct{ Text string }
		IsError bool
		Tools   []struct{ Name string }
	}
	Error *struct{ Message string }
	// Method and Params are of a message that is no answer.
	Method string
	Params struct{ Message string }
}

func (r reply) text() string {
	var b strings.Builder
	for _, c := range r.Result.Content {
		b.WriteString(c.Text)
	}
	if r.Error != nil {
		b.WriteString("error: " + r.Error.Message)
	}
	return b.String()
}

// newAgent starts a bridge in a folder, and is introduced.
func newAgent(t *testing.T, state, folder, name string, args ...string) *agent {
	t.Helper()
	a := &agent{
		t:        t,
		Cmd:      exec.Command("callgate", append([]string{"-C", folder, "mcp"}, args...)...),
		answers:  make(chan reply, 256),
		progress: make(chan string, 64),
	}
	a.Env = append(os.Environ(), "CALLGATE_STATE="+state, "GORACE="+quickRace)
	a.Stderr = &a.errs
	var err error
	if a.in, err = a.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if a.out, err = a.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killAndWait(a.Process) })
	go a.listen(a.out)
	a.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1"}}`)
	if r := a.hear(); r.Error != nil {
		t.Fatal(r.text())
	}
	a.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

// listen sorts what the bridge says.
func (a *agent) listen(out io.Reader) {
	defer close(a.answers)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			a.t.Errorf("the bridge says %s", lines.Text())
			return
		}
		switch r.Method {
		case "":
			a.answers <- r
		case "notifications/progress":
			a.progress <- r.Params.Message
		}
	}
}

func (a *agent) say(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

// ask sends a request and returns its id.
func (a *agent) ask(method, params string) int {
	a.t.Helper()
	a.mu.Lock()
	a.asked++
	id := a.asked
	a.mu.Unlock()
	a.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return id
}

// request asks for a call of a tool, and for word of its progress.
func (a *agent) request(name, args string) int {
	a.t.Helper()
	a.mu.Lock()
	next := a.asked + 1
	a.mu.Unlock()
	return a.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}`, name, args, next))
}

// hear returns the next answer.
func (a *agent) hear() reply {
	a.t.Helper()
	select {
	case r, open := <-a.answers:
		if !open {
			a.t.Fatalf("the bridge has ended: %s", a.errs.String())
		}
		return r
	case <-time.After(time.Minute):
		a.t.Fatalf("the bridge says nothing: %s", a.errs.String())
	}
	panic("unreachable")
}

// call calls a tool and returns what it says.
func (a *agent) call(name, args string) string {
	a.t.Helper()
	a.request(name, args)
	return a.hear().text()
}

// ends waits for the bridge to end.
func (a *agent) ends() {
	a.t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { a.t.Error("the bridge goes on"); _ = a.Process.Kill() })
	defer watchdog.Stop()
	for range a.answers {
	}
	_ = a.Wait()
}

// plainApp permits everything.
const plainApp = "runtime: {sandbox: relaxed}\ntools:\n  modules: {filesystem: {}}\n  capabilities:\n    default_policy: auto\n"

// newFolder makes a workspace with an app in it.
func newFolder(t *testing.T, app string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// newState makes a state directory whose kernel, should one run in the end, is
// gone before the directory is.
func newState(t *testing.T) string {
	t.Helper()
	state := filepath.Join(t.TempDir(), "s")
	t.Cleanup(func() { down(t, state) })
	return state
}

// down ends the kernel in the background, and waits until it has gone.
func down(t *testing.T, state string) {
	t.Helper()
	dir, err := statedir.At(state)
	if err != nil {
		t.Fatal(err)
	}
	inProcess(t, state, "", "down")
	if !poll(time.Minute, func() bool {
		var held *statedir.Held
		if held, err = dir.Hold(); err == nil {
			err = held.Release()
		}
		return err == nil
	}) {
		t.Fatalf("the kernel goes on: %v", err)
	}
}

// kernelOf returns the process of the kernel that runs.
func kernelOf(t *testing.T, state string) int {
	t.Helper()
	dir, err := statedir.At(state)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer c.Close()
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status.PID
}

// runOK runs a command in a folder to its good end.
func runOK(t *testing.T, state, folder string, args ...string) string {
	t.Helper()
	code, out, errs := inProcess(t, state, "", append([]string{"-C", folder}, args...)...)
	if code != 0 {
		t.Fatalf("callgate %s ends with %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return out + errs
}

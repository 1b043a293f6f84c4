//go:build unix

package hosttools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/source/executable/hosttools"
	"callgate/tool"
)

// world is a program's end of a connection that is served.
type world struct {
	*testing.T
	made   atomic.Int64
	theirs net.Conn
	lines  *bufio.Reader
	end    func()
}

func newWorld(t *testing.T, call hosttools.Call) *world {
	t.Helper()
	conn, file, err := hosttools.Pair()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t}
	w.theirs, err = net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	w.lines = bufio.NewReader(w.theirs)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		hosttools.Serve(ctx, conn, []string{"memory.query", "web.browse"},
			func(ctx context.Context, name string, args json.RawMessage) *tool.Result {
				w.made.Add(1)
				if call != nil {
					return call(ctx, name, args)
				}
				return &tool.Result{Status: tool.Success, Summary: name + " " + string(args)}
			})
		_ = conn.Close()
	}()
	w.end = func() {
		cancel()
		_ = conn.Close()
		<-served
	}
	t.Cleanup(func() {
		w.end()
		_ = w.theirs.Close()
	})
	return w
}

func (w *world) ask(line string) string {
	w.Helper()
	if _, err := io.WriteString(w.theirs, line+"\n"); err != nil {
		w.Fatal(err)
	}
	answer, err := w.lines.ReadString('\n')
	if err != nil {
		w.Fatal(err)
	}
	return answer
}

func TestRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for line, want := range map[string]string{
		`{"id":1,"tool":"memory.query","args":{"q":1}}`: `{"id":1,"result":{"status":"success","summary":"memory.query {\"q\":1}"`,
		`{"id":"x","tool":"web.browse"}`:                `{"id":"x","result":{"status":"success","summary":"web.browse {}"`,
		`{"tool":"shell.bash","args":{"command":"id"}}`: `does not name \"shell.bash\" in host_tools`,
		`{"tool":"MEMORY.QUERY"}`:                       `does not name`,
		`{"tool":"memory.query","principal":"root"}`:    `unknown field`,
		`not json`: `the request is not one`,
		``:         `the request is not one`,
	} {
		if got := w.ask(line); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if n := w.made.Load(); n != 2 {
		t.Errorf("%d calls were made", n)
	}
}

// A flood is answered with refusals, and then not at all.
func TestFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for i := range hosttools.MaxCalls {
		w.ask(fmt.Sprintf(`{"id":%d,"tool":"memory.query"}`, i))
	}
	if got := w.ask(`{"tool":"memory.query"}`); !strings.Contains(got, "at most 200 calls") {
		t.Error(got)
	}
	for range 1000 {
		if _, err := io.WriteString(w.theirs, `{"tool":"memory.query"}`+"\n"); err != nil {
			break
		}
	}
	rest, _ := io.ReadAll(w.lines) // it ends: the host has closed it
	if n := strings.Count(string(rest), "\n"); n > 30 || w.made.Load() != hosttools.MaxCalls {
		t.Errorf("%d answers more, %d calls", n, w.made.Load())
	}
}

// A line without an end is cut off, not kept.
func TestLongLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, _ = io.WriteString(w.theirs, `{"tool":"memory.query","args":"`+strings.Repeat("x", 2<<20))
	if _, err := w.lines.ReadString('\n'); err == nil || w.made.Load() != 0 {
		t.Errorf("%v, %d calls", err, w.made.Load())
	}
}

// What is kept of the connection is of no use after the run: its calls were stopped, and no
// more are made.
func TestAfterItsEnd(t *testing.T) {
	t.Parallel()
	began, stopped := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(ctx context.Context, _ string, _ json.RawMessage) *tool.Result {
		close(began)
		<-ctx.Done()
		close(stopped)
		return &tool.Result{Status: tool.Failure, Summary: "stopped"}
	})
	if _, err := io.WriteString(w.theirs, `{"tool":"memory.query"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	w.end()
	select {
	case <-stopped:
	default:
		t.Error("the call goes on after the run")
	}
	_, err := io.WriteString(w.theirs, `{"tool":"memory.query"}`+"\n")
	if _, read := w.lines.ReadString('\n'); err == nil && read == nil || w.made.Load() != 1 {
		t.Errorf("after its end: %v %v, %d calls", err, read, w.made.Load())
	}
}

// What a program of the run asks with Ask, in the run and after its end.
func TestAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conn, err := w.theirs.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(w.theirs, `{"id":1,"tool":"memory.query"}`+"\n"); err != nil { // and does not wait
		t.Fatal(err)
	}
	r, err := hosttools.Ask(conn, "memory.query", json.RawMessage(`{"query":"apples"}`))
	if err != nil || r.Status != tool.Success || r.Summary != `memory.query {"query":"apples"}` {
		t.Errorf("%v %+v", err, r)
	}
	if r, err := hosttools.Ask(conn, "shell.bash", nil); err != nil || r.Status != tool.Refused {
		t.Errorf("a tool that is not named: %v %+v", err, r)
	}
	if _, err := hosttools.Ask(conn, "memory.query", json.RawMessage(strings.Repeat("9", 1<<20))); tool.KindOf(err) != tool.Invalid {
		t.Errorf("too much: %v", err)
	}
	w.end()
	if r, err := hosttools.Ask(conn, "memory.query", nil); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("after its end: %v %+v", err, r)
	}
	for _, number := range []string{"", "x", "-1", "0", "2", "999999"} {
		if _, err := hosttools.Inherited(number); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("%q is a connection: %v", number, err)
		}
	}
}

func FuzzServe(f *testing.F) {
	f.Add(`{"id":1,"tool":"memory.query","args":{}}` + "\n{}\n[]\n\x00\n")
	f.Fuzz(func(t *testing.T, text string) {
		hosttools.Serve(t.Context(), both{strings.NewReader(text), io.Discard}, []string{"memory.query"},
			func(_ context.Context, name string, args json.RawMessage) *tool.Result {
				if name != "memory.query" || !json.Valid(args) {
					t.Errorf("a call of %q with %q", name, args)
				}
				return &tool.Result{Status: tool.Success}
			})
	})
}

type both struct {
	io.Reader
	io.Writer
}

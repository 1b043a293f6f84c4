//go:build unix

package servers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// inOneAnswer makes the calls of one answer, each written "name {arguments}", within a
// time.
func inOneAnswer(t *testing.T, s *session.Session, done func(int, *tool.Result), calls ...string) []*tool.Result {
	t.Helper()
	requests := make([]session.CallRequest, len(calls))
	for i, text := range calls {
		name, args, _ := strings.Cut(text, " ")
		requests[i] = session.CallRequest{Name: name, Args: json.RawMessage(args)}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var mu sync.Mutex
	results := s.CallAll(ctx, requests, func(i int, r *tool.Result) {
		mu.Lock()
		defer mu.Unlock()
		if done != nil {
			done(i, r)
		}
	})
	for i, r := range results {
		if r.Status != tool.Success {
			t.Errorf("%s: %s", calls[i], r.Summary)
		}
	}
	return results
}

// filesServer makes an app with the real server of files.
func filesServer(t *testing.T) (k *kernel.Kernel, s *session.Session, folder string) {
	t.Helper()
	program := realServer(t, "mcp-server-filesystem")
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(
		"tools:\n  modules:\n    filesystem:\n    mcp: {config: {servers: {files: {command: %q, args: [%q], isolation: contained}}}}\n%s",
		program, folder, auto))
	k = kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.AcceptServers(t, k, kerneltest.OpenAccepted(t, k, folder))
	return k, kerneltest.OpenSession(t, k, folder), folder
}

// What a call of an answer does through a real server, the later calls of the answer
// see, through the server and through our own tools.
func TestAnswerThroughARealServerIsInOrder(t *testing.T) {
	t.Parallel()
	_, s, folder := filesServer(t)
	for i := range 10 {
		file := filepath.Join(folder, fmt.Sprintf("f%d", i))
		results := inOneAnswer(t, s, nil,
			fmt.Sprintf(`mcp_files.write_file {"path":%q,"content":"one"}`, file),
			fmt.Sprintf(`mcp_files.read_text_file {"path":%q}`, file),
			fmt.Sprintf(`filesystem.write {"path":"f%d","content":"two"}`, i),
			fmt.Sprintf(`mcp_files.read_text_file {"path":"f%d"}`, i),
			fmt.Sprintf(`mcp_files.edit_file {"path":%q,"edits":[{"oldText":"two","newText":"three"}]}`, file),
			fmt.Sprintf(`filesystem.read {"path":"f%d"}`, i),
		)
		for at, want := range map[int]string{1: "one", 3: "two", 5: "three"} {
			if got := fmt.Sprintf("%s %s %+v", results[at].Summary, results[at].Data, results[at].Content); !strings.Contains(got, want) {
				t.Errorf("call %d of answer %d read %q, want %q", at, i, got, want)
			}
		}
	}
}

// Calls of one answer to different files go side by side through a real server: the
// write ends while the read before it still waits for what it reads.
func TestAnswerThroughARealServerIsSideBySide(t *testing.T) {
	t.Parallel()
	_, s, folder := filesServer(t)
	pipe := filepath.Join(folder, "pipe")
	ok(t, syscall.Mkfifo(pipe, 0o600))
	written := make(chan struct{})
	fed := make(chan error, 1)
	go func() {
		select {
		case <-written:
		case <-time.After(30 * time.Second):
		}
		w, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for a reader
		if err == nil {
			_, err = w.WriteString("fed\n")
			time.AfterFunc(time.Second, func() { _ = w.Close() }) // the reader has opened it long since
		}
		fed <- err
	}()
	inTime := true
	inOneAnswer(t, s, func(i int, _ *tool.Result) {
		if i == 1 {
			close(written)
		} else {
			select {
			case <-written:
			default:
				inTime = false
			}
		}
	},
		fmt.Sprintf(`mcp_files.read_text_file {"path":%q}`, pipe),
		fmt.Sprintf(`mcp_files.write_file {"path":%q,"content":"beside"}`, filepath.Join(folder, "other")),
	)
	ok(t, <-fed)
	if !inTime {
		t.Error("the write waited for the read of another file")
	}
}

// Two calls of one answer that lock different things of a server are under way at
// once; one of which nothing is known comes after both.
func TestAnswerWithLocksIsSideBySide(t *testing.T) {
	t.Parallel()
	_, one, _, log, _ := meeting(t, `, locks: {meet_at: ["server:thing/{thing}"]}`)
	var order []int
	inOneAnswer(t, one, func(i int, _ *tool.Result) { order = append(order, i) },
		`mcp_hub.meet_at {"n":2,"thing":"a"}`, `mcp_hub.meet_at {"n":2,"thing":"b"}`, `mcp_hub.touch {"thing":"c"}`)
	if len(order) != 3 || order[2] != 2 {
		t.Errorf("they ended in the order %v", order)
	}
	data, err := os.ReadFile(log)
	if err != nil || string(data) != "begin c\nend c\n" {
		t.Errorf("%q, %v", data, err)
	}
}

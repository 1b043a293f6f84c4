package kernel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// payTool has a tool wait in its handler: what it claims, it holds until free says so.
func payTool(t *testing.T, began chan string, free chan struct{}) *tool.Tool {
	t.Helper()
	r := tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, Effects: []tool.Effect{
		{Resource: "account:{account}", Mode: tool.X}, {Resource: "file:{path}", Mode: tool.X},
	}}
	made, err := tool.Func("demo.pay", "A tool of the test.", r, func(ctx context.Context, in struct {
		Account string `json:"account,omitempty"`
		Path    string `json:"path,omitempty"`
	}) (any, error) {
		began <- in.Account + in.Path
		select {
		case <-free:
		case <-ctx.Done():
		}
		return map[string]any{"done": true}, nil
	})
	ok(t, err)
	return made
}

// Calls at two nodes that claim the same thing of the world come one after the other, and each node's files are its
// own.
func TestLocksOfAllNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	began, free := make(chan string, 4), make(chan struct{})
	a := openNode(t, url, node.Timing{}, payTool(t, began, free))
	b := openNode(t, url, node.Timing{}, payTool(t, began, free))
	folder := t.TempDir()
	done := make(chan *tool.Result, 4)
	call := func(k *kernel.Kernel, args string) {
		s := kerneltest.OpenSession(t, k, folder)
		go func() { done <- kerneltest.Call(t, s, "demo.pay", args) }()
	}
	for _, k := range []*kernel.Kernel{a, b} { // at both at once
		call(k, `{"path":"same.txt"}`)
		if got := <-began; got != "same.txt" {
			t.Fatalf("%s began", got)
		}
	}
	call(a, `{"account":"ada"}`)
	if got := <-began; got != "ada" {
		t.Fatalf("%s began", got)
	}
	call(b, `{"account":"ada"}`)
	until(t, "a call that holds the lock of its own node", func() bool { return len(b.Locks.Snapshot().Held) == 2 })
	select {
	case got := <-began:
		t.Fatalf("%s began beside the other", got)
	case <-time.After(50 * time.Millisecond):
	}
	for range 3 {
		free <- struct{}{}
	}
	if got := <-began; got != "ada" {
		t.Fatalf("%s began", got)
	}
	free <- struct{}{}
	for range 4 {
		if r := <-done; r.Status != tool.Success {
			t.Errorf("a call: %s", r.Summary)
		}
	}
	for _, k := range []*kernel.Kernel{a, b} {
		until(t, "nothing that is held", func() bool { return len(k.Locks.Snapshot().Held) == 0 })
	}
}

// A call that waits for another node tells its watchers for whom, and one that does not get its turn is told.
func TestWaitForAnotherNode(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	began, free := make(chan string, 4), make(chan struct{})
	a := openNode(t, url, node.Timing{}, payTool(t, began, free))
	b := openNode(t, url, node.Timing{}, payTool(t, began, free))
	done := make(chan *tool.Result, 1)
	first, second := kerneltest.OpenSession(t, a, t.TempDir()), kerneltest.OpenSession(t, b, t.TempDir())
	go func() { done <- kerneltest.Call(t, first, "demo.pay", `{"account":"ada"}`) }()
	<-began
	outputs := b.Output.Subscribe(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waited := make(chan *tool.Result, 1)
	go func() {
		waited <- second.Call(ctx, session.CallRequest{Name: "demo.pay", Args: []byte(`{"account":"ada"}`)})
	}()
	for out := range outputs.All() {
		if text := string(out.Text); strings.HasPrefix(text, "waiting for account:ada: call ") &&
			strings.Contains(text, " at node ") {
			break
		}
	}
	cancel()
	if r := <-waited; r.Error == nil || r.Error.Kind != tool.Cancelled {
		t.Errorf("the call that waited: %+v", r)
	}
	free <- struct{}{}
	if r := <-done; r.Status != tool.Success {
		t.Errorf("the first call: %s", r.Summary)
	}
}

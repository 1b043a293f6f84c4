package parallelcalls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/control"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/order"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// run calls run_parallel and returns what its data say.
func run(t *testing.T, s *session.Session, args string) (*tool.Result, control.ParallelResults) {
	t.Helper()
	r := s.Call(t.Context(), session.CallRequest{Name: "run_parallel", Args: json.RawMessage(args)})
	var data control.ParallelResults
	if len(r.Data) > 0 {
		kerneltest.OK(t, json.Unmarshal(r.Data, &data))
	}
	return r, data
}

func statuses(data control.ParallelResults) string {
	var all []string
	for _, item := range data.Results {
		all = append(all, fmt.Sprintf("%d %s %s", item.Index, item.Name, item.Status))
	}
	return strings.Join(all, ", ")
}

func TestResultsComeInOrder(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenSession(t, k, t.TempDir())
	const write = `{"name":"filesystem.write","params":{"path":"a.txt","content":"new"}}`
	for name, args := range map[string]string{
		"as documented":      `{"actions":[` + write + `,{"name":"filesystem.read","params":{"path":"a.txt"}},{"name":"filesystem.read","params":{"path":"none"}}]}`,
		"another's keys":     `{"tasks":[` + write + `,{"tool":"filesystem.read","args":{"path":"a.txt"}},{"tool_name":"filesystem.read","input":{"path":"none"}}]}`,
		"flattened":          `{"calls":[` + write + `,{"tool":"Read","path":"a.txt"},{"name":"Read","path":"none"}]}`,
		"a list as text":     `{"steps":"[` + strings.ReplaceAll(write, `"`, `\"`) + `,{\"name\":\"Read\",\"path\":\"a.txt\"},{\"name\":\"Read\",\"path\":\"none\"}]"}`,
		"actions as text":    `{"actions":"[` + strings.ReplaceAll(write, `"`, `\"`) + `,{\"name\":\"Read\",\"path\":\"a.txt\"},{\"name\":\"Read\",\"path\":\"none\"}]"}`,
		"by execute_tool":    `{"items":[` + write + `,{"name":"execute_tool","params":{"name":"Read","params":{"path":"a.txt"}}},{"name":"Read","path":"none"}]}`,
		"arguments as text":  `{"invocations":[` + write + `,{"name":"Read","arguments":"{\"path\":\"a.txt\"}"},{"name":"Read","path":"none"}]}`,
		"names for the wire": `{"tools":[` + write + `,{"name":"filesystem__read","params":{"path":"a.txt"}},{"name":"Read","path":"none"}]}`,
	} {
		r, data := run(t, s, args)
		const want = "0 filesystem.write success, 1 filesystem.read success, 2 filesystem.read error"
		if got := statuses(data); got != want || r.Status != tool.Success {
			t.Errorf("%s: %s\n got %s\nwant %s", name, r.Summary, got, want)
		}
		if data.Total != 3 || data.Succeeded != 2 || data.Failed != 1 || !strings.Contains(data.Hint, "none") {
			t.Errorf("%s: %+v", name, data)
		}
		if len(r.Content) < 3 || !strings.Contains(r.Content[1].Text, "[2] filesystem.read: success\n") ||
			!strings.Contains(r.Content[1].Text, "new") { // the read saw the write before it
			t.Errorf("%s: %+v", name, r.Content)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "tools:\n  capabilities:\n    default_policy: auto\n    deny:\n      - {module: shell}\n")
	s := kerneltest.OpenAccepted(t, k, folder)
	many := strings.Repeat(`{"name":"Read","path":"x"},`, control.MaxParallel)
	for name, c := range map[string]struct{ args, want string }{
		"none":              {`{"actions":[]}`, "at least 1 item"},
		"no list":           {`{}`, "no calls are listed"},
		"too many":          {`{"tasks":[` + many + `{"name":"Read","path":"x"}]}`, "lists 51 calls"},
		"no name":           {`{"tasks":[{"params":{}}]}`, "call 1"},
		"not a list":        {`{"tasks":7}`, "not a list"},
		"itself":            {`{"actions":[{"name":"Read","path":"x"},{"name":"run_parallel","params":{"actions":[]}}]}`, "cannot call itself"},
		"itself, around":    {`{"actions":[{"name":"execute_tool","params":{"name":"context_builder.run_parallel","params":{}}}]}`, "cannot call itself"},
		"all denied":        {`{"actions":[{"name":"Bash","params":{"command":"true"}},{"name":"shell.bash","params":{"command":"true"}}]}`, "(2 times)"},
		"no such tool, all": {`{"actions":[{"name":"filesystem.raed","params":{}}]}`, "filesystem.read"},
	} {
		if r, _ := run(t, s, c.args); r.Status == tool.Success || !strings.Contains(r.Summary, c.want) {
			t.Errorf("%s: %s %s, want %q", name, r.Status, r.Summary, c.want)
		}
	}
	r, data := run(t, s, `{"actions":[{"name":"Bash","params":{"command":"true"}},{"name":"filesystem.write","params":{"path":"a","content":""}}]}`)
	if got := statuses(data); got != "0 Bash denied, 1 filesystem.write success" {
		t.Errorf("%s: %s", r.Summary, got)
	}
}

// Calls run side by side, a bounded number of them, and each is told as it ends.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	var inside, most atomic.Int64
	leave := make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	k := kerneltest.Open(t, kerneltest.StateDir(t), &tool.Tool{
		ID:      tool.ID{Namespace: "test", Name: "wait", Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: "waits", Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.None},
		Handler: tool.HandlerFunc(func(ctx context.Context, _ tool.Call, _ tool.Grant) (*tool.Result, error) {
			n := inside.Add(1)
			defer inside.Add(-1)
			most.Store(max(most.Load(), n))
			if n == order.MaxSideBySide {
				release()
			}
			select {
			case <-leave:
			case <-ctx.Done():
			}
			return tool.OK("waited", nil)
		}),
	})
	s := kerneltest.OpenSession(t, k, t.TempDir())
	output := k.Output.Subscribe(t.Context())
	const n = 40
	r, data := run(t, s, `{"actions":[`+strings.TrimSuffix(strings.Repeat(`{"name":"test.wait"},`, n), ",")+`]}`)
	if data.Succeeded != n || most.Load() > order.MaxSideBySide {
		t.Errorf("%s; %d at once", r.Summary, most.Load())
	}
	printed := output.Take()
	if len(printed) == 0 || !strings.Contains(string(printed[0].Text), "of 40: test.wait success") {
		t.Errorf("the progress is %+v", printed)
	}
}

// Humans are asked about all calls before any of them waits, and each has its own answer.
func TestApprovalsAreAskedTogether(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "tools:\n  capabilities:\n    default_policy: approve\n")
	s := kerneltest.OpenSession(t, k, folder)
	type made struct {
		result *tool.Result
		data   control.ParallelResults
	}
	ended := make(chan made)
	go func() {
		r, data := run(t, s, `{"actions":[{"name":"Write","params":{"path":"a","content":"1"}},{"name":"Write","params":{"path":"b","content":"2"}}]}`)
		ended <- made{r, data}
	}()
	var asked []approval.Request
	kerneltest.Eventually(t, func() bool {
		asked, _ = k.Approvals.List(t.Context(), approval.Pending, 0)
		return len(asked) == 2
	})
	for _, one := range asked {
		kerneltest.Settle(t, k, one.ID, approval.Answer{Approve: strings.Contains(string(one.Call.Args), `"a"`)})
	}
	got := <-ended
	if want := "0 filesystem.write success, 1 filesystem.write denied"; statuses(got.data) != want {
		t.Errorf("%s: %s", got.result.Summary, statuses(got.data))
	}
}

// A run_parallel that is made again after a crash makes only what was not made.
func TestMadeAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	count := &tool.Tool{
		ID:      tool.ID{Namespace: "test", Name: "count", Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: "counts", Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.External},
		Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			return tool.OK(fmt.Sprintf("call %d", calls.Add(1)), nil)
		}),
	}
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "tools:\n  capabilities:\n    default_policy: auto\n")
	state := kerneltest.StateDir(t)
	ask := func(k *kernel.Kernel, name, args string) *tool.Result {
		s := kerneltest.OpenAccepted(t, k, folder)
		return s.Call(t.Context(), session.CallRequest{ID: "c1", Name: name, Args: json.RawMessage(args)})
	}
	k := kerneltest.Open(t, state, count)
	// What a killed kernel leaves: a call of the list has ended, and the list has not.
	s := kerneltest.OpenAccepted(t, k, folder)
	if r := s.Call(t.Context(), session.CallRequest{ID: "c1.p1", Parent: "c1", Name: "test.count", Args: json.RawMessage("{}")}); r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	kerneltest.OK(t, k.Close())
	k = kerneltest.Open(t, state, count)
	r := ask(k, "run_parallel", `{"actions":[{"name":"test.count"},{"name":"test.count"}]}`)
	if r.Status != tool.Success || calls.Load() != 2 {
		t.Errorf("%s; %d calls were made", r.Summary, calls.Load())
	}
	if text := r.Content[0].Text + r.Content[1].Text; !strings.Contains(text, "call 1") || !strings.Contains(text, "call 2") {
		t.Errorf("%q", text)
	}
}

package kernel_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// latestKernel has a user's file of which nothing is written yet.
func latestKernel(t *testing.T) (k *kernel.Kernel, folder, userFile string) {
	t.Helper()
	read := tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}
	risky := tool.Runtime{Risk: tool.High, SideEffect: tool.Write}
	done := func(context.Context) (any, error) { return "done", nil }
	userFile = filepath.Join(t.TempDir(), "callgate.yaml")
	k = kerneltest.OpenWith(t, kernel.Config{
		State: kerneltest.StateDir(t), UserFile: userFile,
		Tools: []*tool.Tool{kerneltest.NewTool(t, "demo.look", read, done), kerneltest.NewTool(t, "demo.risky", risky, done)},
	})
	return k, folderIn(t, "latest"), userFile
}

const (
	givesAll = "app: {app_id: a}\ntools:\n  capabilities:\n    default_policy: auto\n" +
		"    grant: [{module: demo}, {module: filesystem}, {module: database}]\n"
	givesNone = "app: {app_id: a}\ntools:\n  capabilities:\n    default_policy: approve\n"
	// withRule is followed by another rule of the capabilities.
	withRule = givesAll + "    "
)

// What a changed app file takes away counts at the next call of a session that is open, without a reload.
func TestTighteningCountsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after   string // of the project; empty: there is no file
		userAfter       string
		tool, args      string
		want            tool.Status
		reason, without string // the reason holds the first, and not the second
	}{
		"a deny rule": {before: givesAll, after: withRule + "deny: [{module: demo, actions: [look], reason: closed}]\n",
			want: tool.Refused, reason: "closed"},
		"an approve rule": {before: givesAll, after: withRule + "approve: [{module: demo, actions: [look]}]\n",
			want: tool.Waiting, reason: "demo.look"},
		"an approve rule about a command that only reads": {before: givesNone,
			after: givesNone + "    approve: [{module: shell, match: {command: cat *}}]\n",
			tool:  "shell.bash", args: `{"command": "cat notes.txt"}`, want: tool.Waiting, reason: "approve rule for shell"},
		"an approve rule about a file that a command reads": {before: givesNone,
			after: givesNone + "    approve: [{module: filesystem, actions: [read], match: {path: notes.txt}}]\n",
			tool:  "shell.bash", args: `{"command": "cat notes.txt"}`, want: tool.Waiting},
		"a reading tool that is hidden": {before: givesNone,
			after: givesNone + "    hidden_actions: [filesystem.read]\n",
			tool:  "shell.bash", args: `{"command": "cat notes.txt"}`, want: tool.Waiting},
		"a grant that is gone, of files that programs run": {before: givesAll, after: "app: {app_id: a}\n",
			tool: "filesystem.write", args: `{"path": "Makefile", "content": "all:"}`, want: tool.Waiting,
			reason: "that programs load or run"},
		"default_policy block": {before: "app: {app_id: a}\ntools: {capabilities: {default_policy: auto}}\n",
			after: "app: {app_id: a}\ntools: {capabilities: {default_policy: block}}\n", want: tool.Refused, reason: "default_policy block"},
		"a grant that is gone": {before: givesAll, after: "app: {app_id: a}\ntools: {capabilities: {default_policy: approve}}\n",
			want: tool.Waiting, reason: "default_policy approve"},
		"a lower ceiling": {before: "app: {app_id: a}\ntools: {capabilities: {default_policy: auto}}\n",
			after: "app: {app_id: a}\ntools: {capabilities: {default_policy: auto, max_risk_level: low}}\n", tool: "demo.risky",
			want: tool.Refused, reason: "max_risk_level low"},
		"a rule about an argument": {before: givesAll,
			after: withRule + "deny: [{module: filesystem, actions: [read], match: {path: secret.txt}}]\n",
			tool:  "filesystem.read", args: `{"path": "secret.txt"}`, want: tool.Refused, reason: "filesystem.read"},
		"a module that is left out": {before: givesAll, after: "app: {app_id: a}\ntools: {modules: {shell: {}}}\n",
			tool: "filesystem.read", args: `{"path": "notes.txt"}`, want: tool.Failure, reason: "there is no tool"},
		"an action that is left out": {before: givesAll,
			after: "app: {app_id: a}\ntools:\n  modules: {filesystem: {constraints: {blocked_actions: [read]}}}\n",
			tool:  "filesystem.read", args: `{"path": "notes.txt"}`, want: tool.Failure, reason: "there is no tool"},
		"a file of the user's": {before: givesAll, after: givesAll,
			userAfter: "tools: {capabilities: {deny: [{module: demo, actions: [look], reason: by the user}]}}\n",
			want:      tool.Refused, reason: "by the user"},
		"a first file": {after: "app: {app_id: a}\ntools: {capabilities: {deny: [{module: demo, reason: new}]}}\n",
			want: tool.Refused, reason: "new"},
		"a file that is gone":                 {before: givesAll, tool: "demo.risky", want: tool.Waiting, reason: "no tools.capabilities"},
		"a file of this app's that is broken": {before: givesAll, after: "app: {app_id: a}\ntolls: {}\n", want: tool.Success},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, folder, userFile := latestKernel(t)
			file := filepath.Join(folder, "callgate.yaml")
			for _, name := range []string{"secret.txt", "notes.txt"} {
				kerneltest.Write(t, filepath.Join(folder, name), name)
			}
			if c.before != "" {
				kerneltest.Write(t, file, c.before)
			}
			s := kerneltest.OpenAccepted(t, k, folder)
			if c.tool == "" {
				c.tool = "demo.look"
			}
			if c.args == "" {
				c.args = `{}`
			}
			if r := kerneltest.Call(t, s, c.tool, c.args); r.Status != tool.Success {
				t.Fatalf("before: %+v", r)
			}
			if c.after == "" {
				kerneltest.OK(t, os.Remove(file))
			} else {
				kerneltest.Write(t, file, c.after)
			}
			if c.userAfter != "" {
				kerneltest.Write(t, userFile, c.userAfter)
			}
			r := kerneltest.Call(t, s, c.tool, c.args)
			if r.Status != c.want || !strings.Contains(r.Summary, c.reason) {
				t.Fatalf("after: %s %q, want %s with %q", r.Status, r.Summary, c.want, c.reason)
			}
			if r.Status == tool.Refused {
				kerneltest.Eventually(t, func() bool { return isOnRecord(t, k, "changed after this session began") })
			}
			if c.before == "" {
				return
			}
			kerneltest.Write(t, file, c.before) // and what it took away is there again
			if c.userAfter != "" {
				kerneltest.OK(t, os.Remove(userFile))
			}
			if r := kerneltest.Call(t, s, c.tool, c.args); r.Status != tool.Success {
				t.Errorf("undone: %+v", r)
			}
		})
	}
}

// isOnRecord reports whether a refused call has a reason on record. What nothing came of is written behind.
func isOnRecord(t *testing.T, k *kernel.Kernel, reason string) bool {
	t.Helper()
	records, err := k.Journal.Read(t.Context(), journal.Query{Newest: true, Limit: 10})
	kerneltest.OK(t, err)
	return slices.ContainsFunc(records, func(r journal.Record) bool {
		return r.Ask != nil && r.Ask.Verdict == journal.Refuse && strings.Contains(string(r.Ask.Reason), reason)
	})
}

// What a changed file would give more waits for a reload, also when a human has accepted it.
func TestWideningWaits(t *testing.T) {
	t.Parallel()
	k, folder, _ := latestKernel(t)
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, "app: {app_id: a}\ntools: {capabilities: {default_policy: approve, deny: [{module: demo, actions: [look]}]}}\n")
	s := kerneltest.OpenSession(t, k, folder)
	kerneltest.Write(t, file, givesAll)
	kerneltest.AcceptApp(t, k, kerneltest.OpenSession(t, k, folder))
	for name, want := range map[string]tool.Status{"demo.look": tool.Refused, "demo.risky": tool.Waiting} {
		if r := kerneltest.Call(t, s, name, `{}`); r.Status != want {
			t.Errorf("%s: %+v", name, r)
		}
	}
	_, err := kernel.Reload(t.Context(), k, operations.Reload{})
	kerneltest.OK(t, err)
	for _, name := range []string{"demo.look", "demo.risky"} {
		if r := kerneltest.Call(t, s, name, `{}`); r.Status != tool.Success {
			t.Errorf("%s after a reload: %+v", name, r)
		}
	}
}

// A file with a mistake loosens nothing: what counted before it goes on, and the next answer says so once.
func TestBrokenFileLoosensNothing(t *testing.T) {
	t.Parallel()
	k, folder, _ := latestKernel(t)
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, givesAll)
	s := kerneltest.OpenAccepted(t, k, folder)
	kerneltest.Write(t, file, withRule+"deny: [{module: demo, actions: [look]}]\n")
	if r := kerneltest.Call(t, s, "demo.look", `{}`); r.Status != tool.Refused {
		t.Fatalf("denied: %+v", r)
	}
	kerneltest.Write(t, file, "app: {app_id: a}\ntolls: {}\n")
	if r := kerneltest.Call(t, s, "demo.look", `{}`); r.Status != tool.Refused ||
		!strings.Contains(strings.Join(r.Warnings, "\n"), "callgate.yaml:2") {
		t.Errorf("broken: %s %q %q", r.Status, r.Summary, r.Warnings)
	}
	if r := kerneltest.Call(t, s, "demo.risky", `{}`); r.Status != tool.Success || len(r.Warnings) > 0 {
		t.Errorf("said twice: %s %q %q", r.Status, r.Summary, r.Warnings)
	}
}

// A constraint of a module is the narrower of what it was and what it is.
func TestReadOnlyCountsAtOnce(t *testing.T) {
	t.Parallel()
	k, folder, _ := latestKernel(t)
	file := filepath.Join(folder, "callgate.yaml")
	const with = "app: {app_id: a}\ntools:\n  modules:\n    database:\n      constraints: {read_only: %v}\n" +
		"      setup: [{action: connect, params: {driver: sqlite, database: shop.db}}]\n" +
		"  capabilities: {default_policy: auto, grant: [{module: database}]}\n"
	kerneltest.Write(t, file, strings.Replace(with, "%v", "false", 1))
	s := kerneltest.OpenAccepted(t, k, folder)
	change := `{"query": "create table if not exists goods (id integer)"}`
	if r := kerneltest.Call(t, s, "database.execute_query", change); r.Status != tool.Success {
		t.Fatalf("before: %+v", r)
	}
	kerneltest.Write(t, file, strings.Replace(with, "%v", "true", 1))
	if r := kerneltest.Call(t, s, "database.execute_query", change); r.Status == tool.Success || !strings.Contains(r.Summary, "read_only") {
		t.Errorf("read_only: %s %q", r.Status, r.Summary)
	}
}

// A deny rule that is written while a call waits for a human holds for it, whatever the human says.
func TestTighteningWhileACallWaits(t *testing.T) {
	t.Parallel()
	k, folder, _ := latestKernel(t)
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, "app: {app_id: a}\ntools: {capabilities: {approve: [{module: demo}]}}\n")
	s := kerneltest.OpenSession(t, k, folder)
	done := make(chan *tool.Result, 1)
	go func() {
		done <- s.Call(t.Context(), session.CallRequest{Name: "demo.look", Args: json.RawMessage(`{}`)})
	}()
	var asked []approval.Request
	kerneltest.Eventually(t, func() bool {
		asked, _ = k.Approvals.List(t.Context(), approval.Pending, 10)
		return len(asked) == 1
	})
	kerneltest.Write(t, file, "app: {app_id: a}\ntools: {capabilities: {approve: [{module: demo}], deny: [{module: demo, actions: [look]}]}}\n")
	kerneltest.Settle(t, k, asked[0].ID, approval.Answer{Approve: true})
	if r := <-done; r.Status != tool.Refused {
		t.Errorf("approved, and denied meanwhile: %+v", r)
	}
}

// Calls are made while the files change: each is judged by the session's rules or by stricter ones, and after the last
// change every call is judged by it.
func TestTighteningDuringCalls(t *testing.T) {
	t.Parallel()
	k, folder, _ := latestKernel(t)
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, givesAll)
	s := kerneltest.OpenAccepted(t, k, folder)
	texts := []string{withRule + "deny: [{module: demo, actions: [look]}]\n", givesAll, "app: {app_id: a}\ntolls: {}\n"}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if r := kerneltest.Call(t, s, "demo.look", `{}`); r.Status != tool.Success && r.Status != tool.Refused {
					t.Errorf("meanwhile: %+v", r)
					return
				}
			}
		})
	}
	for i := range 30 {
		replace(t, file, texts[i%len(texts)])
		if i%len(texts) == 0 {
			if r := kerneltest.Call(t, s, "demo.look", `{}`); r.Status != tool.Refused {
				t.Errorf("change %d: %+v", i, r)
			}
		}
	}
	close(stop)
	wg.Wait()
}

// replace puts a text in the place of a file's, as editors do.
func replace(t *testing.T, file, text string) {
	t.Helper()
	kerneltest.Write(t, file+".new", text)
	kerneltest.OK(t, os.Rename(file+".new", file))
}

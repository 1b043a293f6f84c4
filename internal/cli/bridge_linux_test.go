package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// untilDead waits for processes to be gone.
func untilDead(t *testing.T, pids ...int) {
	t.Helper()
	var left []string
	if !poll(30*time.Second, func() bool {
		left = nil
		for _, pid := range pids {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				continue
			}
			if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "Z") { // nobody may be there to bury it
				left = append(left, string(stat[:min(len(stat), 60)]))
			}
		}
		return len(left) == 0
	}) {
		t.Fatalf("left behind: %q", left)
	}
}

// outside returns the processes below a kernel that call themselves so: a server is
// in a process namespace, where numbers begin again.
func outside(t *testing.T, kernel int, inside []int) []int {
	t.Helper()
	status, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	parents, names := map[int]int{}, map[int]int{}
	for _, path := range status {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		for line := range strings.Lines(string(data)) {
			switch f := strings.Fields(line); {
			case len(f) == 2 && f[0] == "PPid:":
				parents[pid], _ = strconv.Atoi(f[1])
			case len(f) > 1 && f[0] == "NSpid:":
				names[pid], _ = strconv.Atoi(f[len(f)-1])
			}
		}
	}
	var found []int
	for pid, name := range names {
		above := pid
		for above > 1 && above != kernel {
			above = parents[above]
		}
		if above == kernel && slices.Contains(inside, name) {
			found = append(found, pid)
		}
	}
	if len(found) < len(inside) {
		t.Fatalf("of the processes %v below %d there are %v", inside, kernel, found)
	}
	return found
}

// ended reads the journal: how each call of the server ended, by the word it was
// given; and how many began and did not.
func ended(t *testing.T, state, folder string) (words map[string]string, doubts int) {
	t.Helper()
	words = map[string]string{}
	calls := map[string]string{}
	for line := range strings.Lines(runOK(t, state, folder, "log", "export")) {
		var row struct {
			Body struct {
				Kind, Call, Tool string
				Ask              *struct{ Args struct{ Word string } }
				End              *struct{ Status string }
			}
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		r := row.Body
		if !strings.HasPrefix(r.Tool, "mcp_fixture:") {
			continue
		}
		if r.Ask != nil {
			calls[r.Call] = r.Ask.Args.Word
		}
		if r.End != nil {
			words[calls[r.Call]] = r.End.Status
		}
		if r.Kind == "doubted" {
			doubts++
		}
	}
	return words, doubts
}

// hang makes a call that never ends, and returns once it has begun.
func hang(t *testing.T, a *agent, state string) {
	t.Helper()
	a.request("mcp_fixture.hang", `{"word":"hang"}`)
	untilSays(t, state, "mcp_fixture.hang", "log", "tail")
}

// TestNothingStays ends bridges in every way there is. Nothing that a server
// has started is left, what was answered is on record, and the journal is whole.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	server, err := exec.LookPath("callgate-fixture")
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]func(*testing.T, *agent, string){
		"eof": func(t *testing.T, a *agent, _ string) {
			a.request("mcp_fixture.note", `{"word":"last"}`) // and its answer still comes
			a.in.Close()
			if got := a.hear().text(); !strings.HasPrefix(got, "last noted") {
				t.Errorf("after the end of its input it says %q", got)
			}
			a.ends()
			if code := a.ProcessState.ExitCode(); code != 0 {
				t.Errorf("it ends with %d: %s", code, a.errs.String())
			}
		},
		"hung up": func(t *testing.T, a *agent, state string) { // nobody is there any more
			hang(t, a, state)
			a.in.Close()
			a.out.Close()
			a.ends()
		},
		"terminated": func(t *testing.T, a *agent, state string) {
			hang(t, a, state)
			_ = a.Process.Signal(syscall.SIGTERM)
			a.ends()
		},
		"terminated after eof": func(t *testing.T, a *agent, state string) {
			hang(t, a, state)
			a.in.Close()
			_ = a.Process.Signal(syscall.SIGTERM)
			a.ends()
		},
		"killed": func(t *testing.T, a *agent, state string) {
			hang(t, a, state)
			_ = a.Process.Kill()
			a.ends()
		},
	}
	for name, end := range ways {
		for _, private := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, private %v", name, private), func(t *testing.T) {
				t.Parallel()
				state, folder := newState(t), newFolder(t, plainApp)
				person(t, state, "-C", folder, "mcp", "add", "fixture", "--yes", "--env", "GORACE="+quickRace, "--", server)
				person(t, state, "-C", folder, "app", "trust", "--yes")
				var args []string
				if private {
					args = append(args, "--private")
				}
				a := newAgent(t, state, folder, "agent", args...)
				var pids []int
				for i := range 3 {
					pids = noted(t, a.call("mcp_fixture.note", fmt.Sprintf(`{"word":"w%d"}`, i)))
				}
				pids = outside(t, kernelOf(t, state), pids)
				end(t, a, state)
				if !private { // the kernel serves others; it goes when it is told to
					down(t, state)
				}
				untilDead(t, pids...)
				if out := runOK(t, state, folder, "log", "verify"); !strings.Contains(out, "intact") {
					t.Errorf("the journal: %s", out)
				}
				words, doubts := ended(t, state, folder)
				for i := range 3 {
					if words[fmt.Sprintf("w%d", i)] != "success" {
						t.Errorf("call %d was answered, and ended as %v", i, words)
					}
				}
				switch killed := name == "killed" && private; {
				case name == "eof" && words["last"] != "success":
					t.Errorf("the last call ended as %v", words)
				case name != "eof" && !killed && words["hang"] != "error" || killed && doubts != 1 || !killed && doubts != 0:
					t.Errorf("the call that was cut off ended as %v; %d are in doubt", words, doubts)
				}
			})
		}
	}
}

// TestKilledKernel takes the kernel from under two bridges: what it had started goes
// with it, and both go on with one new kernel.
func TestKilledKernel(t *testing.T) {
	t.Parallel()
	server, err := exec.LookPath("callgate-fixture")
	if err != nil {
		t.Fatal(err)
	}
	state, folder := newState(t), newFolder(t, plainApp)
	person(t, state, "-C", folder, "mcp", "add", "fixture", "--yes", "--env", "GORACE="+quickRace, "--", server)
	person(t, state, "-C", folder, "app", "trust", "--yes")
	one, two := newAgent(t, state, folder, "one"), newAgent(t, state, folder, "two")
	pids := noted(t, one.call("mcp_fixture.note", `{"word":"w1"}`))
	if again := noted(t, two.call("mcp_fixture.note", `{"word":"w2"}`)); again[0] != pids[0] {
		t.Errorf("two agents have the servers %v and %v", pids, again)
	}
	pids = outside(t, kernelOf(t, state), pids)
	if err := syscall.Kill(kernelOf(t, state), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	untilDead(t, pids...)
	next := noted(t, one.call("mcp_fixture.note", `{"word":"w3"}`))
	if again := noted(t, two.call("mcp_fixture.note", `{"word":"w4"}`)); again[0] != next[0] {
		t.Errorf("two agents have the servers %v and %v", next, again)
	}
	for _, a := range []*agent{one, two} {
		a.in.Close()
		a.ends()
		if code := a.ProcessState.ExitCode(); code != 0 {
			t.Errorf("it ends with %d: %s", code, a.errs.String())
		}
	}
	words, _ := ended(t, state, folder)
	if words["w1"] != "success" || words["w2"] != "success" || words["w3"] != "success" || words["w4"] != "success" {
		t.Errorf("what was answered ended as %v", words)
	}
}

// TestTwoAgentsOneFile has two bridges edit one file at the same time. Nothing
// is lost, and whoever waits is told for whom.
func TestTwoAgentsOneFile(t *testing.T) {
	t.Parallel()
	const each = 50
	state, folder := newState(t), newFolder(t, plainApp)
	file := filepath.Join(folder, "shared.txt")
	if err := os.WriteFile(file, []byte("one: .\ntwo: .\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agents := map[string]*agent{"one": newAgent(t, state, folder, "one"), "two": newAgent(t, state, folder, "two")}
	var all sync.WaitGroup
	for name, a := range agents {
		all.Go(func() {
			for i := range each { // all at once
				// Its own mark is replaced, and a line comes at the end: a write over another's would lose both.
				a.request(
					"filesystem.edit",
					fmt.Sprintf(
						`{"path":"shared.txt","edits":[{"op":"replace","old":"%s: .","new":"%s: .%d"},{"op":"append","new":"%s %d\n"}]}`,
						name,
						name,
						i%10,
						name,
						i,
					),
				)
			}
			for range each {
				if r := a.hear(); r.Result.IsError || !strings.Contains(r.text(), "+"+name) {
					t.Errorf("%s: an edit says %s", name, r.text())
				}
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name := range agents {
		for i := range each {
			if n := strings.Count(string(data), fmt.Sprintf("\n%s %d\n", name, i)); n != 1 {
				t.Errorf("the line %s %d is there %d times", name, i, n)
			}
		}
		_, marks, _ := strings.Cut(string(data), name+": .")
		marks, _, _ = strings.Cut(marks, "\n")
		if len(marks) != each {
			t.Errorf("%s made %d marks: %s", name, len(marks), marks)
		}
	}

	one, two := agents["one"], agents["two"]
	for len(two.progress) > 0 {
		<-two.progress // of the waits before
	}
	hold := one.request("demo.wait", `{"path":"shared.txt"}`)
	untilSays(t, state, "demo.wait", "locks")
	two.request("filesystem.edit", `{"path":"shared.txt","op":"append","new":"at last\n"}`)
	told := <-two.progress
	for _, part := range []string{"waiting for file:", "shared.txt", "demo.wait", "/one in s", "holds it"} {
		if !strings.Contains(told, part) {
			t.Errorf("whoever waits is told %q, without %q", told, part)
		}
	}
	one.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, hold))
	if r := two.hear(); r.Result.IsError || !strings.Contains(r.text(), "+at last") {
		t.Errorf("in the end it says %s", r.text())
	}
}

// TestCollectOverTheBridge has an agent whose client shows no forms come back
// for a call that a human approved meanwhile.
func TestCollectOverTheBridge(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, "tools:\n  capabilities:\n    default_policy: auto\n    approve: [{module: demo}]\n")
	a := newAgent(t, state, folder, "agent")
	a.request("demo.risky", `{"path":"x"}`)
	id := between(t, untilSays(t, state, "pending", "approvals", "list", "--json"), `"id": "`, `"`)
	// The call is held for a while; the model need not wait with it.
	a.request("approvals.collect", fmt.Sprintf(`{"approval":%q,"wait_seconds":0}`, "a-other"))
	if r := a.hear(); !r.Result.IsError || !strings.Contains(r.text(), "nothing of yours waits") {
		t.Errorf("another's approval: %s", r.text())
	}
	other := newAgent(t, state, folder, "other")
	other.request("approvals.collect", fmt.Sprintf(`{"approval":%q,"wait_seconds":0}`, id))
	if r := other.hear(); !r.Result.IsError || !strings.Contains(r.text(), "nothing of yours waits") {
		t.Errorf("another agent: %s", r.text())
	}
	a.request("approvals.collect", fmt.Sprintf(`{"approval":%q,"wait_seconds":60}`, id))
	person(t, state, "approvals", "approve", id)
	for range 2 { // the call itself, and whoever came for it
		if r := a.hear(); r.Result.IsError || !strings.Contains(r.text(), `"path":"x"`) {
			t.Errorf("after the answer: %s", r.text())
		}
	}
	a.request("demo.risky", `{"path":"y"}`)
	id = between(t, untilSays(t, state, "pending", "approvals", "list", "--json"), `"id": "`, `"`)
	runOK(t, state, folder, "approvals", "deny", id, "--reason", "not on a Friday")
	a.request("approvals.collect", fmt.Sprintf(`{"approval":%q}`, id))
	for range 2 {
		if r := a.hear(); !r.Result.IsError || !strings.Contains(r.text(), "not on a Friday") {
			t.Errorf("after a no: %s", r.text())
		}
	}
}

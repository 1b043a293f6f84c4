//go:build unix

package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/peer/terminaltest"
)

// person has a person run the program to its good end, in a terminal of their own.
func person(t testing.TB, state string, args ...string) terminaltest.Ended {
	t.Helper()
	p := inTerminal(t, state, args...)
	if p.Exit != 0 {
		t.Fatalf("callgate %s ends with %d: %s%s\n%s", strings.Join(args, " "), p.Exit, p.Out, p.Err, p.Screen)
	}
	return p
}

func inTerminal(t testing.TB, state string, args ...string) terminaltest.Ended {
	t.Helper()
	return terminaltest.Run(t, terminaltest.Program{
		Args: append([]string{"callgate"}, args...), Dir: t.TempDir(),
		Env:   []string{"CALLGATE_STATE=" + state, "NO_COLOR=1", "GORACE=" + quickRace, "CALLGATE_TOKEN="},
		Types: []terminaltest.Typing{terminaltest.Code()},
	})
}

// playAgent is a coding agent in a terminal. It starts a bridge as the arguments
// say, asks, and then tries in every way it knows to approve its own call. It
// prints a line for each: the way, the exit code and what was said.
func playAgent() {
	bridge := exec.Command(os.Args[1], os.Args[2:]...)
	bridge.Stderr = os.Stderr
	in, err := bridge.StdinPipe()
	check(err)
	out, err := bridge.StdoutPipe()
	check(err)
	check(bridge.Start())
	lines := bufio.NewReader(out)
	ask := func(line string) string {
		_, err := io.WriteString(in, line+"\n")
		check(err)
		answer, err := lines.ReadString('\n')
		check(err)
		return answer
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"agent","version":"1"}}}`)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	check(err)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":`+
		`{"name":"demo.risky","arguments":{"path":"x"}}}`+"\n")
	check(err)
	id := waitPending()
	program, err := exec.LookPath("callgate")
	check(err)
	state := os.Getenv("CALLGATE_STATE")
	approve := fmt.Sprintf("%s --state %s approvals approve %s", program, state, id)
	tries := []struct{ name, shell string }{
		{"itself", "exec " + approve},
		{"a child", approve},
		{"a grandchild", "sh -c '" + approve + "; exit $?'"},
		{"an orphan", orphan(approve)},
		{"an orphan without an environment", orphan("env -i " + approve)},
		{"a session of its own", "setsid -w " + approve},
		{"a session of its own, an orphan without an environment", orphan("env -i setsid -w " + approve)},
		{"a terminal of its own", "script -qec '" + approve + "' /dev/null < /dev/null"},
		{"with --yes", program + " --state " + state + " mcp trust files --yes"},
		{"a token", program + " --state " + state + " token create --role approver"},
		{"a run that allows", program + " --state " + state + " run --allow demo.risky -p risky"},
		{"a run that allows, in a terminal of its own", "script -qec '" + program + " --state " + state +
			" run --allow demo.risky -p risky' /dev/null < /dev/null"},
		{"a call of its own", "timeout 2 script -qec '" + program + " --state " + state + " tools call demo.risky --path y' /dev/null < /dev/null"},
	}
	for _, try := range tries {
		cmd := exec.Command("sh", "-c", try.shell)
		said, _ := cmd.CombinedOutput()
		data, _ := json.Marshal([]string{try.name, string(said)})
		fmt.Println(string(data))
	}
	_ = in.Close()
	_ = bridge.Process.Kill()
}

// orphan is a shell command that runs another one after its parent has ended, and
// gives what it says.
func orphan(command string) string {
	return `f=$(mktemp); ( ( sleep 0.2; ` +
		command + ` > $f.out 2>&1; mv $f.out $f.end ) & ); while [ ! -e $f.end ]; do :; done; cat $f.end`
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// waitPending returns the approval that waits.
func waitPending() string {
	for {
		out, err := exec.Command("callgate", "approvals", "list", "--json").Output()
		check(err)
		if _, rest, ok := strings.Cut(string(out), `"id": "`); ok {
			id, _, _ := strings.Cut(rest, `"`)
			return id
		}
	}
}

// An agent in a terminal, with its bridge behind it, cannot approve what it asked.
func TestAgentCannotApproveItsOwnCall(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"setsid", "script"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
	for name, bridge := range map[string]string{
		"its own bridge":              "callgate mcp",
		"a bridge behind wrappers":    "sh -c 'sh -c \"callgate mcp; true\"; true'",
		"a bridge in its own session": "setsid -w callgate mcp",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, err := os.MkdirTemp("", "agent") // a socket's path must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { down(t, state); _ = os.RemoveAll(state) })
			folder := newFolder(t, "tools:\n  capabilities:\n    approve: [{module: demo}]\n"+
				"  modules: {mcp: {config: {servers: {files: {command: no-such-program}}}}}\n")
			p := terminaltest.Run(t, terminaltest.Program{
				Args: []string{"callgate-agent", "sh", "-c", "exec " + bridge}, Dir: folder,
				Env: []string{"CALLGATE_STATE=" + state, "GORACE=" + quickRace},
			})
			tried := 0
			for line := range strings.Lines(p.Out) {
				var try [2]string
				if err := json.Unmarshal([]byte(line), &try); err != nil {
					t.Fatalf("the agent says %q: %s", line, p.Err)
				}
				tried++
				refused := false
				for _, why := range []string{"the session that asked", "this needs a person at a terminal", "waits for a human",
					"is for a human to say"} {
					refused = refused || strings.Contains(try[1], why)
				}
				if !refused {
					t.Errorf("%s: %s", try[0], try[1])
				}
			}
			if tried < 11 {
				t.Errorf("it tried %d ways: %s%s", tried, p.Out, p.Err)
			}
			list := untilSays(t, state, "pending", "approvals", "list", "--all")
			if strings.Contains(list, "spent") || strings.Contains(list, "approved") {
				t.Errorf("a call was approved: %s", list)
			}
			if _, err := os.Stat(filepath.Join(folder, "y")); err == nil {
				t.Error("a call ran")
			}
		})
	}
}

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"callgate/internal/cli"
	"callgate/internal/cli/command"
	"callgate/tool"
)

// inProcess runs a command line in this very process, also at the end of a test.
func inProcess(t *testing.T, state, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = cli.Run(context.WithoutCancel(t.Context()), command.Host{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &err, Tools: demoTools(),
		Getenv: func(name string) string { return map[string]string{"CALLGATE_STATE": state}[name] },
	}, args)
	return code, out.String(), err.String()
}

func TestRunsDoNotMeet(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			state, word := filepath.Join(t.TempDir(), "s"), fmt.Sprintf("word-%d", i)
			code, out, err := inProcess(t, state, word, "tools", "call", "demo.echo", "--path", "-", "--json")
			var r tool.Result
			if e := json.Unmarshal([]byte(out), &r); code != 0 || e != nil || err != "" {
				t.Errorf("run %d ended with %d and said %s%s", i, code, out, err)
			}
			if r.Summary != "echoed "+word {
				t.Errorf("run %d was told %q", i, r.Summary)
			}
			if code, _, err := inProcess(t, state, "", "tools", "show", "demo.nothing"); code != 5 ||
				!strings.HasPrefix(err, "callgate: there is no tool") {
				t.Errorf("run %d ended with %d and said %s", i, code, err)
			}
		})
	}
	all.Wait()
}

func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	all := cli.Commands()
	if len(all) < 50 {
		t.Fatalf("only %d commands found", len(all))
	}
	for _, args := range all {
		state := filepath.Join(t.TempDir(), "s")
		code, out, err := inProcess(t, state, "", append(args, "--help")...)
		if code != 0 || !strings.Contains(out, "Usage:") || err != "" {
			t.Errorf("callgate %s --help ended with %d and said %s%s", strings.Join(args, " "), code, out, err)
		}
		if _, err := os.Stat(state); err == nil {
			t.Errorf("callgate %s --help has started a kernel", strings.Join(args, " "))
		}
	}
}

// The page on the command line tells the same exit codes as the program.
func TestExitCodesAreDocumented(t *testing.T) {
	t.Parallel()
	_, out, _ := inProcess(t, t.TempDir(), "", "help", "exit-codes")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "CLI.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), "`", "")
	codes := regexp.MustCompile(`(?m)^ +(\d+)  (.+)$`).FindAllStringSubmatch(out, -1)
	if len(codes) != 18 {
		t.Fatalf("%d exit codes in %s", len(codes), out)
	}
	for _, c := range codes {
		if row := fmt.Sprintf("| %s | %s |", c[1], c[2]); !strings.Contains(text, row) {
			t.Errorf("docs/CLI.md does not say %q", row)
		}
	}
}

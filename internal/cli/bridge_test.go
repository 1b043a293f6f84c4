package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/cli"
	"callgate/internal/cli/command"
)

// TestBridge speaks MCP to a private kernel as a coding agent would, on pipes,
// and hangs up.
func TestBridge(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var said strings.Builder
	ended := make(chan int, 1)
	go func() {
		code := cli.Run(context.Background(), command.Host{
			Stdin: inR, Stdout: outW, Stderr: &said, Getenv: func(string) string { return "" },
		}, []string{"-C", folder, "mcp", "--private", "--mode", "discovery"})
		outW.Close()
		ended <- code
	}()
	answers := bufio.NewScanner(outR)
	answers.Buffer(nil, 1<<20)
	ask := func(request string) map[string]any {
		t.Helper()
		if _, err := io.WriteString(inW, request+"\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatalf("no answer to %s: %v %s", request, answers.Err(), said.String())
		}
		var m struct{ Result map[string]any }
		if err := json.Unmarshal(answers.Bytes(), &m); err != nil || m.Result == nil {
			t.Fatalf("%s gives %s", request, answers.Text())
		}
		return m.Result
	}
	ask(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
	)
	if _, err := io.WriteString(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	if got := strings.Join(names, " "); got != "search_tools get_tool execute_tool list_categories browse_category approvals__collect artifact__read ask_user background_run run_parallel run_script" {
		t.Errorf("in mode discovery: %s", got)
	}
	text, _ := json.Marshal(
		ask(
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute_tool","arguments":{"name":"filesystem.read","params":{"path":"a.txt","limit":"1"}}}}`,
		),
	)
	if !strings.Contains(string(text), "hello") {
		t.Errorf("a call gives %s", text)
	}
	inW.Close()
	if code := <-ended; code != 0 {
		t.Errorf("it ends with %d: %s", code, said.String())
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "callgate-private-*")); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// A request that cannot be parsed is answered under its id, the next one is heard,
// and the bridge does not wait for an answer that was given.
func TestNotJSON(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	said := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
			`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Read","arguments":{"limit":NaN}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"ping"}`,
	}, "\n")
	var out, errs strings.Builder
	began := time.Now()
	code := cli.Run(t.Context(), command.Host{
		Stdin: strings.NewReader(said), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
	}, []string{"-C", t.TempDir(), "mcp", "--private"})
	if took := time.Since(began); code != 0 || took > 20*time.Second {
		t.Errorf("it ends with %d after %v: %s", code, took, errs.String())
	}
	codes := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID    json.RawMessage
			Error struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("it says %s", line)
		}
		codes[string(m.ID)] = m.Error.Code
	}
	if diff := cmp.Diff(map[string]int{"1": 0, "2": -32700, "3": 0}, codes); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
}

// fixture is an MCP server that says who it is and what it has started. It has a
// child of its own, as servers that are started by npx or a shell have.
func fixture() {
	child := exec.Command("sleep", "7719.5")
	if err := child.Start(); err != nil {
		os.Exit(1)
	}
	tools := `{"tools":[{"name":"note","description":"Notes a word.","inputSchema":{"type":"object","properties":{"word":{"type":"string"}}}},` +
		`{"name":"look","description":"Looks.","inputSchema":{"type":"object","properties":{"word":{"type":"string"}}},"annotations":{"readOnlyHint":true}},` +
		`{"name":"hang","description":"Never ends.","inputSchema":{"type":"object"}}]}`
	look := "look"
	if name := os.Getenv("FIXTURE_READER"); name != "" { // it plays a server that reads files
		look = name
		tools = `{"tools":[{"name":"` + name + `","description":"Reads a file.","inputSchema":{"type":"object",` +
			`"properties":{"path":{"type":"string"}}},"annotations":{"readOnlyHint":true}}]}`
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments struct{ Word string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || len(m.ID) == 0 {
			continue
		}
		switch {
		case m.Method == "initialize":
			fmt.Printf(
				`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fixture","version":"1"}}}`+"\n",
				m.ID,
			)
		case m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, tools)
		case m.Method != "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		case m.Params.Name == look:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n", m.ID, m.Params.Arguments.Word)
		case m.Params.Name == "note":
			fmt.Printf(
				`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s noted by %d with %d"}]}}`+"\n",
				m.ID,
				m.Params.Arguments.Word,
				os.Getpid(),
				child.Process.Pid,
			)
		}
	}
} // and its child stays

// noted reads who noted a word: the server, and its child.
func noted(t *testing.T, text string) []int {
	t.Helper()
	_, who, ok := strings.Cut(text, " noted by ")
	server, child, ok2 := strings.Cut(who, " with ")
	a, err := strconv.Atoi(server)
	b, err2 := strconv.Atoi(strings.TrimSpace(child))
	if !ok || !ok2 || err != nil || err2 != nil {
		t.Fatalf("the server says %q", text)
	}
	return []int{a, b}
}

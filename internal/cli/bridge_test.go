package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/cli"
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
		code := cli.Run(context.Background(), cli.Host{
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
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if _, err := io.WriteString(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	if got := strings.Join(names, " "); got != "search_tools get_tool execute_tool list_categories browse_category" {
		t.Errorf("in mode discovery: %s", got)
	}
	text, _ := json.Marshal(ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute_tool","arguments":{"name":"filesystem.read","params":{"path":"a.txt","limit":"1"}}}}`))
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

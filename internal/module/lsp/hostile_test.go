package lsp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/internal/module/lsp"
	"callgate/internal/module/lsp/jsonrpc"
	"callgate/tool"
)

// TestMain lets the test program be a language server.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		serve(os.Args[2], os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// serve is a language server that behaves as its name says.
func serve(how string, r io.Reader, w io.Writer) {
	in := bufio.NewReader(r)
	send := func(text string) { _ = jsonrpc.WriteMessage(w, []byte(text)) }
	for {
		text, err := jsonrpc.ReadMessage(in, 1<<24)
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				TextDocument struct {
					URI     string
					Version int
				}
			}
		}
		_ = json.Unmarshal(text, &m)
		uri, _ := json.Marshal(m.Params.TextDocument.URI)
		if m.Method == "initialize" && how == "mute" {
			continue
		}
		if m.Method == "initialize" && how == "chatters" {
			fmt.Fprintln(w, "welcome to the server")
		}
		if m.Method == "initialize" {
			send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"capabilities":{"codeActionProvider":true}}}`)
			continue
		}
		if m.Method == "textDocument/didOpen" && how != "says nothing" {
			send(`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":` + string(uri) +
				`,"diagnostics":[{"range":{"start":{"line":-5,"character":-7},"end":{}},"severity":99,"code":{},"message":"odd\u001b[31m"}]}}`)
		}
		if len(m.ID) > 0 && m.Method != "" {
			misbehave(how, string(m.ID), send, w)
		}
	}
}

// misbehave answers a request.
func misbehave(how, id string, send func(string), w io.Writer) {
	edit := func(uri, start, end string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"changes":{"` + uri + `":[{"range":{"start":` + start + `,"end":` + end + `},"newText":"x"}]}}}`
	}
	switch how {
	case "hangs":
	case "dies":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(3)
	case "nonsense":
		send(`{"jsonrpc":"2.0","id":` + id + `,"result":[[1,"two"],{}]}`)
	case "no JSON":
		send("<html>")
	case "huge":
		_, _ = io.WriteString(w, "Content-Length: 99999999999\r\n\r\n")
	case "floods":
		for {
			if _, err := w.Write([]byte("Content-Length: 25\r\n\r\n{\"method\":\"x\",\"params\":1}")); err != nil {
				return
			}
		}
	case "edits outside":
		send(edit("file:///etc/passwd", `{"line":0,"character":0}`, `{"line":0,"character":0}`))
	case "edits no file":
		send(edit("http://example.com/a", `{"line":0,"character":0}`, `{"line":0,"character":0}`))
	case "edits backwards":
		dir := os.Getenv("CALLGATE_WORKSPACE")
		send(edit("file://"+dir+"/a.odd", `{"line":1,"character":0}`, `{"line":0,"character":0}`))
	case "applies":
		send(`{"jsonrpc":"2.0","id":"e","method":"workspace/applyEdit","params":{"edit":{"changes":{}}}}`)
		send(`{"jsonrpc":"2.0","id":` + id + `,"result":null}`)
		_ = os.WriteFile(filepath.Join(os.Getenv("CALLGATE_WORKSPACE"), "a.odd"), []byte("written"), 0o644)
	default:
		send(`{"jsonrpc":"2.0","id":` + id + `,"result":null}`)
	}
}

// open opens the module with a server for files that end in .odd.
func open(t *testing.T, how string, config block) *fetchtest.Bench {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := block{"servers": block{"odd": block{"command": []any{program, "serve", how}, "files": []any{".odd"}}}}
	for k, v := range config {
		all[k] = v
	}
	b := fetchtest.Open(t, lsp.Module(), all, nil)
	b.WriteFile("a.odd", "one\ntwo\n")
	return b
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	for how, c := range map[string]struct {
		kind tool.Kind
		says string
	}{
		"mute":            {tool.Timeout, "odd did not answer in time"},
		"chatters":        {tool.Unavailable, `"welcome to the server" where a header should be`},
		"hangs":           {tool.Timeout, "odd did not answer in time"},
		"dies":            {tool.Unavailable, "ended with code 3; it last said: panic: out of cheese"},
		"nonsense":        {tool.Failed, "odd answered nonsense"},
		"no JSON":         {tool.Unavailable, "no message"},
		"huge":            {tool.Unavailable, "a message of 99999999999 bytes"},
		"floods":          {tool.Unavailable, "unasked"},
		"edits outside":   {tool.Denied, "outside the workspace"},
		"edits no file":   {tool.Failed, "which is no file"},
		"edits backwards": {tool.Failed, "makes no sense"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			config := block{}
			switch how {
			case "mute":
				config["start_timeout"] = 0.5
			case "hangs":
				config["request_timeout"] = 0.5
			}
			b := open(t, how, config)
			for range 2 { // the second call finds things as the first did
				_, err := b.Call("request", block{"kind": "rename", "path": "a.odd", "symbol": "two", "new_name": "x"})
				fetchtest.CheckError(t, err, c.kind, c.says)
				if how == "floods" {
					break
				}
			}
			if err := b.Instance.Close(); err != nil {
				t.Fatal(err)
			}
			leftOver(t, b.Dir)
		})
	}
}

// leftOver fails where a process still works in a folder.
func leftOver(t *testing.T, dir string) {
	t.Helper()
	for _, name := range worksFor(dir) {
		t.Errorf("%s works for %s", name, dir)
	}
}

// worksFor finds the processes that work for a folder.
func worksFor(dir string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		if env, err := os.ReadFile(name); err == nil && strings.Contains(string(env), "CALLGATE_WORKSPACE="+dir) {
			found = append(found, name)
		}
	}
	return found
}

func TestServersWriteNothingAndEnd(t *testing.T) {
	t.Parallel()
	b := open(t, "applies", block{"idle_timeout": 1})
	text, _ := call(t, b, "request", block{"kind": "hover", "path": "a.odd", "line": 1})
	wants(t, text, "says nothing")
	text, _ = call(t, b, "diagnostics", block{"path": "a.odd"})
	wants(t, text, "1 error", "a.odd:-4:-6: error: odd[31m")
	if got := string(b.ReadFile("a.odd")); got != "one\ntwo\n" {
		t.Errorf("the server wrote %q", got)
	}
	// It ends when nobody asks it, and with its session; the next call starts it again.
	ended := func() bool { return len(worksFor(b.Dir)) == 0 }
	fetchtest.WaitFor(t, "the idle server to end", ended)
	_, _ = call(t, b, "request", block{"kind": "hover", "path": "a.odd", "line": 1})
	if ended() {
		t.Error("it does not run")
	}
	b.Instance.OnSessionEnd("another")
	if ended() {
		t.Error("another session ended it")
	}
	b.Instance.OnSessionEnd("s")
	leftOver(t, b.Dir)
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	b := open(t, "says nothing", block{"diagnostics_wait": 0.2})
	text, data := call(t, b, "diagnostics", block{"path": "a.odd"})
	wants(t, text, "odd was not done with a.odd: ask again")
	if data["settled"] != false {
		t.Errorf("%v", data)
	}
}

func TestCancelRequest(t *testing.T) {
	t.Parallel()
	b := open(t, "hangs", nil)
	if text, _ := call(t, b, "cancel_request", block{"id": "r"}); text != "no request with this id is running" {
		t.Error(text)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := b.Call("request", block{"kind": "hover", "path": "a.odd", "line": 1, "id": "r"})
		failed <- err
	}()
	fetchtest.WaitFor(t, "the request", func() bool {
		text, _ := call(t, b, "cancel_request", block{"id": "r"})
		return text == "the request was cancelled"
	})
	select {
	case err := <-failed:
		fetchtest.CheckError(t, err, tool.Cancelled)
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := open(t, "good", nil)
	b.WriteFile("a.txt", "x")
	b.WriteFile("bad.odd", "\xff\xfe")
	for name, c := range map[string]struct {
		tool string
		args block
		kind tool.Kind
		says string
	}{
		"no server":  {"diagnostics", block{"path": "a.txt"}, tool.Unavailable, "no language server is known"},
		"outside":    {"diagnostics", block{"path": "../a.odd"}, tool.Denied, "outside"},
		"no file":    {"diagnostics", block{"path": "b.odd"}, tool.NotFound, "no \"b.odd\""},
		"no text":    {"diagnostics", block{"path": "bad.odd"}, tool.Invalid, "UTF-8"},
		"no place":   {"request", block{"kind": "hover", "path": "a.odd"}, tool.Invalid, "not said where"},
		"no symbol":  {"request", block{"kind": "hover", "path": "a.odd", "symbol": "three"}, tool.NotFound, "no \"three\""},
		"no line":    {"request", block{"kind": "hover", "path": "a.odd", "line": 9}, tool.Invalid, "no line 9"},
		"no name":    {"request", block{"kind": "rename", "path": "a.odd", "line": 1}, tool.Invalid, "needs a name"},
		"check this": {"check", block{"paths": []any{"a.txt"}}, tool.Unavailable, "no language server"},
	} {
		_, err := b.Call(c.tool, c.args)
		if tool.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.Grant.Settings = nil
	module := lsp.Module()
	for says, servers := range map[string]any{
		"it must be a block":   block{"x": "rust-analyzer"},
		"it needs command":     block{"x": block{"files": []any{".rs"}}},
		"speed is not known":   block{"x": block{"speed": 1}},
		"must be a list":       block{"x": block{"command": []any{1}, "files": []any{".rs"}}},
		"settings: it must be": block{"x": block{"settings": "x"}},
	} {
		if _, err := module.Read(block{"servers": servers}, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, not %s", err, says)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	b := fetchtest.Open(t, lsp.Module(), nil, nil)
	var names []string
	for _, one := range b.Instance.Tools {
		names = append(names, one.ID.Name)
		if err := one.Validate(); err != nil {
			t.Error(err)
		}
		if one.Runtime.Network || one.Runtime.SideEffect != tool.Read || len(one.Spec.Aliases) < 8 {
			t.Errorf("%+v", one)
		}
	}
	if got := strings.Join(names, " "); got != "diagnostics check request notify_change cancel_request" {
		t.Error(got)
	}
}

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/programtest"
)

// The test binary is also the servers that it tests against: with this variable
// it is a server of the kind named there.
const kindVariable = "MCP_TEST_SERVER"

var kinds = map[string]func(){
	"normal":     func() { serve(normalServer()) },
	"legacy":     func() { serve(normalServer("2025-11-25", "2025-06-18")) },
	"asking":     func() { serve(askingServer()) },
	"old-asking": func() { serve(askingServer("2025-11-25")) },
	"hang":       programtest.Hang,
	"exit":       func() { fmt.Fprintln(os.Stderr, "no licence found for s3cr3t-value"); os.Exit(3) },
	"garbage":    garbage,
	"flood":      flood,
	"noisy":      noisy,
	"changing":   changing,
	"late":       late,
	"deaf":       deaf,
	"grandchild": grandchild,
	"sleeper":    programtest.Hang,
	"stubborn":   stubborn,
	"hostile":    func() { raw(hostile) },
	"twice":      func() { raw(twice) },
	"endless":    func() { raw(endless) },
	"old":        func() { raw(old("error")) },
	"old-dies":   func() { raw(old("die")) },
	"old-mute":   func() { raw(old("mute")) },
	"refuses":    func() { raw(refuses) },
	"impostor":   func() { raw(impostor) },
	"kernel":     kernel,
}

func TestMain(m *testing.M) {
	if kind := os.Getenv(kindVariable); kind != "" {
		kinds[kind]()
		os.Exit(0)
	}
	if err := os.Setenv("CALLGATE_KEYRING", "off"); err != nil { // it is that of the user who runs the tests
		panic(err)
	}
	os.Exit(m.Run())
}

func serve(s *sdk.Server) {
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
	}
}

type text struct {
	Text string `json:"text"`
}

func words(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// normalServer is a well-behaved server for any transport, of all versions or of
// some.
func normalServer(versions ...string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "actor", Version: "1.2.3"}, &sdk.ServerOptions{Instructions: "be kind",
		SupportedProtocolVersions: versions})
	addPlain(s)
	addSlow(s)
	s.AddResource(&sdk.Resource{URI: "file:///a.txt", Name: "a"}, func(context.Context,
		*sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "file:///a.txt", Text: "resource text"}}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "file:///{name}", Name: "any"}, func(context.Context,
		*sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return nil, errors.New("none")
	})
	s.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}}, func(_ context.Context,
		r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "hello " +
			r.Params.Arguments["who"]}}}}, nil
	})
	return s
}

func addPlain(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
			return words("%s", in.Text), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "Adds."},
		func(_ context.Context, _ *sdk.CallToolRequest, in struct{ A, B int64 }) (*sdk.CallToolResult, map[string]int64,
			error) {
			return nil, map[string]int64{"sum": in.A + in.B}, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "fail", Description: "Fails."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, errors.New("the moon is not full")
		})
	sdk.AddTool(s, &sdk.Tool{Name: "environment", Description: "Its variables."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return words("%s", strings.Join(os.Environ(), "\n")), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "pid", Description: "Its number."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return words("%d", os.Getpid()), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "die", Description: "Ends the server."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			fmt.Fprint(os.Stderr, "fatal: out of cheese, s3cr3t-value") // and no line feed
			os.Exit(7)
			return nil, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "grow", Description: "Learns another tool."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			sdk.AddTool(s, &sdk.Tool{Name: "grown", Description: "New."}, func(context.Context, *sdk.CallToolRequest,
				struct{}) (*sdk.CallToolResult, any, error) {
				return words("new"), nil, nil
			})
			return words("grown"), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "ask", Description: "Asks a human."},
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			if len(r.Params.InputResponses) == 0 {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.ElicitParams{
					Message:         "which colour?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}}}`),
				}}}, nil, nil
			}
			res := r.Params.InputResponses["q"].(*sdk.ElicitResult)
			return words("%s %v", res.Action, res.Content["colour"]), nil, nil
		})
}

// addSlow adds tools that run until a file exists that their arguments name.
func addSlow(s *sdk.Server) {
	type wait struct {
		Until     string `json:"until"`               // goes on when this file is there
		Cancelled string `json:"cancelled,omitempty"` // made when the call is cancelled
		Started   string `json:"started,omitempty"`   // made when the call begins
	}
	sdk.AddTool(s, &sdk.Tool{Name: "wait", Description: "Waits."},
		func(ctx context.Context, _ *sdk.CallToolRequest, in wait) (*sdk.CallToolResult, any, error) {
			touch(in.Started)
			for !exists(in.Until) {
				select {
				case <-ctx.Done():
					touch(in.Cancelled)
					return nil, nil, ctx.Err()
				case <-time.After(2 * time.Millisecond):
				}
			}
			return words("waited"), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "work", Description: "Works with progress."},
		func(ctx context.Context, r *sdk.CallToolRequest, in wait) (*sdk.CallToolResult, any, error) {
			for i := 1.0; !exists(in.Until); i++ {
				err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(),
					Progress: i, Total: 10, Message: "step"})
				if err != nil {
					return nil, nil, err
				}
				select {
				case <-ctx.Done():
					return nil, nil, ctx.Err()
				case <-time.After(20 * time.Millisecond):
				}
			}
			return words("worked"), nil, nil
		})
}

func touch(name string) {
	if name != "" {
		os.WriteFile(name, nil, 0o600)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// garbage prints to stdout what does not belong there.
func garbage() {
	fmt.Println("Welcome to the actor!")
	fmt.Println(`{"level":"info","msg":"a log line that is JSON"}`)
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	out := os.Stdout
	go func() {
		sc := bufio.NewScanner(r)
		for sc.Scan() {
			fmt.Fprintf(out, "%s\nnoise after it\n", sc.Text())
		}
	}()
	os.Stdout = w
	serve(normalServer())
}

// flood writes far more to stderr than is kept.
func flood() {
	line := strings.Repeat("x", 1000)
	for i := range 5000 {
		fmt.Fprintln(os.Stderr, i, line)
	}
	fmt.Fprint(os.Stderr, strings.Repeat("y", 1<<20)) // and no end of line
	fmt.Fprintln(os.Stderr)
	fmt.Fprintln(os.Stderr, "the last line")
	serve(normalServer())
}

// late answers nothing before a file exists.
func late() {
	poll(func() bool { return exists(os.Getenv("LATE_UNTIL")) })
	serve(normalServer())
}

// deaf answers the handshake, and then stops reading.
func deaf() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m message
		json.Unmarshal(in.Bytes(), &m)
		answer(m, old("error"))
		if m.Method == "tools/list" {
			programtest.Hang()
		}
	}
}

// grandchild starts two processes, one of them in a session of its own, and has a
// tool that returns their IDs.
func grandchild() {
	var pids []string
	for _, away := range []bool{false, true} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), kindVariable+"=sleeper")
		if away {
			leave(cmd)
		}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		pids = append(pids, fmt.Sprint(cmd.Process.Pid))
	}
	s := normalServer()
	sdk.AddTool(s, &sdk.Tool{Name: "children", Description: "Their numbers."}, func(context.Context,
		*sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return words("%s", strings.Join(pids, " ")), nil, nil
	})
	serve(s)
}

// stubborn does not end when it is asked to.
func stubborn() {
	signal.Ignore(syscall.SIGTERM)
	serve(normalServer())
	programtest.Hang()
}

// message is a message that raw servers read.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// raw is a server without the SDK: it reads and writes lines.
func raw(handle func(message) (any, bool)) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) == nil {
			answer(m, handle)
		}
	}
}

// refusal is an answer that is an error.
type refusal int

// answer writes what a handler returns: a result, an error for nil, or nothing.
func answer(m message, handle func(message) (any, bool)) {
	result, ok := handle(m)
	if !ok || m.ID == nil {
		return
	}
	out := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	switch r := result.(type) {
	case nil:
		out["error"] = object{"code": -32601, "message": "Method not found"}
	case refusal:
		out["error"] = object{"code": r, "message": "not today"}
	default:
		out["result"] = result
	}
	line, _ := json.Marshal(out)
	fmt.Printf("%s\n", line)
}

type object = map[string]any

// old speaks the first version only; unknown says what it does with the new
// handshake.
func old(unknown string) func(message) (any, bool) {
	return func(m message) (any, bool) {
		switch m.Method {
		case "initialize":
			return object{"protocolVersion": "2024-11-05", "capabilities": object{"tools": object{}},
				"serverInfo": object{"name": "old", "version": "0"}}, true
		case "tools/list":
			return object{"tools": []object{{"name": "tell", "description": "Tells.",
				"inputSchema": object{"type": "object"}}}}, true
		case "tools/call":
			return object{"content": []object{{"type": "text", "text": "told"}}}, true
		}
		if unknown == "die" && m.Method == "server/discover" {
			os.Exit(1)
		}
		return nil, unknown == "error"
	}
}

var hostileNames = []string{
	"", "search_tools", "a.b", "a/b", "a b", "a__b", "a_b", "A_B", "getUser", "get_user", "поиск", "найти", "büro", "buro",
	strings.Repeat("n", 128), strings.Repeat("n", 127) + "m", "x:y@1.0.0", "../../etc/passwd", "-", "日本語 tool", "😀",
}

// hostile has tools with odd names, and answers with the name that was called.
func hostile(m message) (any, bool) {
	switch m.Method {
	case "tools/list":
		var tools []object
		for _, name := range hostileNames {
			tools = append(tools, object{"name": name, "inputSchema": object{"type": "object"}})
		}
		return object{"tools": tools}, true
	case "tools/call":
		var p struct{ Name string }
		json.Unmarshal(m.Params, &p)
		return object{"content": []object{{"type": "text", "text": "called " + p.Name}}}, true
	default:
		return old("error")(m)
	}
}

// twice lists over two pages, one tool twice, and some invalid schemas.
func twice(m message) (any, bool) {
	if m.Method != "tools/list" {
		return old("error")(m)
	}
	var p struct{ Cursor string }
	json.Unmarshal(m.Params, &p)
	if p.Cursor == "" {
		return object{"nextCursor": "2", "tools": []object{
			{"name": "same", "description": "first", "inputSchema": object{"type": "object"}},
			{"name": "anything", "inputSchema": object{"type": "object", "properties": object{"x": object{"type": "any"}}}},
		}}, true
	}
	return object{"tools": []object{
		{"name": "same", "description": "second", "inputSchema": object{"type": "object"}},
		{"name": "hopeless", "title": "Hope less", "inputSchema": object{"type": "object",
			"properties": object{"x": object{"type": object{}}}}},
		{"name": "missing"},
	}}, true
}

// endless returns the same cursor for ever.
func endless(m message) (any, bool) {
	if m.Method != "tools/list" {
		return old("error")(m)
	}
	return object{"nextCursor": "again", "tools": []object{}}, true
}

// refuses answers every call with the error that it is asked for, or with an
// invalid answer.
func refuses(m message) (any, bool) {
	if m.Method != "tools/call" {
		return old("error")(m)
	}
	var p struct{ Arguments struct{ Code refusal } }
	json.Unmarshal(m.Params, &p)
	if p.Arguments.Code == 0 {
		return object{"content": []object{{"type": "yodel"}}}, true
	}
	return p.Arguments.Code, true
}

// impostor has resources, and tools with the reserved names.
func impostor(m message) (any, bool) {
	switch m.Method {
	case "initialize":
		return object{
			"protocolVersion": "2024-11-05", "serverInfo": object{"name": "impostor", "version": "0"},
			"capabilities": object{"tools": object{}, "resources": object{}},
		}, true
	case "tools/list":
		var tools []object
		for _, name := range []string{"resources", "prompts"} {
			tools = append(tools, object{"name": name, "inputSchema": object{"type": "object"}})
		}
		return object{"tools": tools}, true
	case "resources/read":
		return object{"contents": []object{{"uri": "file:///a.txt", "text": "the real one"}}}, true
	default:
		return hostile(m)
	}
}

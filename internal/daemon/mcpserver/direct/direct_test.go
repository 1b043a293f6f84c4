package direct_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/direct"
	"callgate/internal/source/mcp/stdio"
)

const (
	hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":` +
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	deep = 2000
)

// tools answers a call by the tool's name.
func tools(ctx context.Context, p *sdk.CallToolParamsRaw) (sdk.Result, error) {
	switch p.Name {
	case "wait":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case "refuse":
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "not <this>", Data: []byte(`{"a":1}`)}
	case "fail":
		return nil, errors.New("it failed")
	case "picture":
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("x")}}}, nil
	case "empty":
		return &sdk.CallToolResult{}, nil
	case "data":
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"a": 1}}, nil
	}
	token, _ := p.GetProgressToken().(string)
	text := p.Name + " " + string(p.Arguments) + " " + token + " <&> \u2028"
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: p.Name == "wrong"}, nil
}

// client is a client of a server.
type client struct {
	in    *io.PipeWriter
	out   *bufio.Reader
	taken atomic.Int32 // calls that were answered without the SDK
	ended chan struct{}
}

// connect serves a client over a stream, with direct calls or without.
func connect(t *testing.T, with bool) *client {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if call, ok := r.(*sdk.CallToolRequest); ok {
				return tools(ctx, call.Params)
			}
			return next(ctx, method, r)
		}
	})
	c := &client{ended: make(chan struct{})}
	var session atomic.Pointer[sdk.ServerSession]
	ready := func() bool { return session.Load() != nil && session.Load().InitializeParams() != nil }
	plain := direct.New(t.Context(), ready, func(
		ctx context.Context, p *sdk.CallToolParamsRaw, reply func(sdk.Result, error),
	) {
		c.taken.Add(1)
		if p.Name == "later" { // somebody else replies
			go func() { reply(tools(ctx, p)) }()
			return
		}
		reply(tools(ctx, p))
	})
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	c.in, c.out = in, bufio.NewReaderSize(out, 1<<20)
	o := stdio.Options{In: fromClient, Out: toClient, OnClose: func() { plain.End(io.EOF) }}
	if with {
		o.Requests = plain
	}
	conn := stdio.New(o)
	plain.Over(conn.Send)
	s, err := server.Connect(t.Context(), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	session.Store(s)
	go func() {
		defer close(c.ended)
		_ = s.Wait()
		plain.Wait()
	}()
	t.Cleanup(func() {
		_ = in.Close()
		<-c.ended
	})
	return c
}

// say sends lines, and reads so many answers.
func (c *client) say(t *testing.T, answers int, lines ...string) (got []string) {
	t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range answers {
		line, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	return got
}

// call is a request with an id and the rest of its params.
func call(id, name string, more ...string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"` + strings.Join(more, "") + `}}`
}

func cancel(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"no"}}`
}

// TestAnswersAreTheSDKs holds each conversation with direct calls and without: a client is told the same.
func TestAnswersAreTheSDKs(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":"ping","method":"ping"}`
	for _, test := range []struct {
		name    string
		answers int // of all lines together
		taken   int32
		lines   []string
	}{
		{"a call", 1, 1, []string{call("1", "look", `,"arguments":{"a":[1, 2],"b":"é"}`)}},
		{"no arguments", 1, 1, []string{call("1", "look")}},
		{"null arguments", 1, 0, []string{call("1", "look", `,"arguments":null`)}},
		{"an id that is a text", 1, 1, []string{call(`"a b"`, "look")}},
		{"an id that is 0", 1, 1, []string{call("0", "look")}},
		{"an id with a fraction", 1, 0, []string{call("1.5", "look")}},
		{"a large id", 1, 0, []string{call("12345678901234567890", "look")}},
		{"no id", 1, 0, []string{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"look"}}`, ping}},
		{"a token", 1, 1, []string{call("1", "look", `,"_meta":{"progressToken":"t"}`)}},
		{"kinds of result", 6, 6, []string{call("1", "refuse"), call("2", "fail"), call("3", "picture"), call("4", "empty"),
			call("5", "data"), call("6", "wrong")}},
		{"answered by somebody else", 2, 2, []string{call("1", "later"), call("2", "look")}},
		{"no params", 1, 0, []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`}},
		{"params that are none", 1, 0, []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`}},
		{"a name that is none", 1, 0, []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`}},
		{"a field twice", 1, 0, []string{call("1", "look", `,"name":"fail"`)}},
		{"an id twice", 1, 0, []string{`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"look"}}`}},
		{"an unknown field", 1, 0, []string{call("1", "look", `,"more":{"a":1}`)}},
		{"a batch", 2, 0, []string{"[" + call("1", "look") + "," + call("2", "fail") + "]"}},
		{"deep", 1, 0, []string{call("1", "look", `,"arguments":{"a":`, strings.Repeat("[", 500), strings.Repeat("]", 500), `}`)}},
		{"too deep", 1, 0, []string{call("1", "look", `,"arguments":{"a":`, strings.Repeat("[", deep), strings.Repeat("]", deep), `}`), ping}},
		{"no UTF-8", 1, 0, []string{call("1", "look", ",\"arguments\":{\"a\":\"\xff\"}")}},
		{"no JSON", 1, 0, []string{call("1", "look", `,`), `{"jsonrpc":`, ping}},
		{"another protocol", 1, 0, []string{call("1", "look", `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)}},
		{"cancelled", 1, 1, []string{call("1", "wait"), cancel("1")}},
		{"cancelled by another id", 2, 2, []string{call("1", "wait"), cancel(`"1"`), cancel("2"), cancel(`[]`), call("3", "look"), cancel("1")}},
		{"an id in use", 2, 1, []string{call("1", "wait"), call("1", "look"), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, ping, cancel("1")}},
		{"an id in use at the SDK", 2, 0, []string{call("1", "wait", `,"more":1`), call("1", "look"), ping, cancel("1")}},
		{"large", 1, 1, []string{call("1", "look", `,"arguments":{"a":"`, strings.Repeat("x", 200_000), `"}`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var said [2][]string
			for i, with := range []bool{false, true} {
				c := connect(t, with)
				c.say(t, 1, hello)
				said[i] = c.say(t, test.answers, test.lines...)
				// A call that is taken back may be so before it is begun.
				early := strings.Contains(strings.Join(test.lines, ""), "notifications/cancelled")
				if taken := c.taken.Load(); with && (taken > test.taken || taken < test.taken && !early) {
					t.Errorf("%d calls were answered without the SDK", taken)
				}
			}
			if !slices.Equal(said[0], said[1]) {
				t.Errorf("the client is told\n%.500q\nand without the SDK\n%.500q", said[0], said[1])
			}
		})
	}
}

// TestBeforeTheIntroduction calls before the client has introduced itself: the SDK refuses.
func TestBeforeTheIntroduction(t *testing.T) {
	t.Parallel()
	c := connect(t, true)
	got := c.say(t, 1, call("1", "look"))
	if !strings.Contains(got[0], "invalid during session initialization") || c.taken.Load() > 0 {
		t.Errorf("the client is told %q", got)
	}
}

// TestIDAgain uses an id again when it was answered, here and at the SDK in turn.
func TestIDAgain(t *testing.T) {
	t.Parallel()
	c := connect(t, true)
	c.say(t, 1, hello)
	for range 20 {
		for _, line := range []string{call("1", "look"), call("1", "look", `,"more":1`), `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
			if got := c.say(t, 1, line); !strings.Contains(got[0], `"id":1,"result"`) {
				t.Fatalf("%s is answered with %q", line, got)
			}
		}
	}
}

// TestEnd ends a stream: the calls that are made end, and none begins.
func TestEnd(t *testing.T) {
	t.Parallel()
	c := connect(t, true)
	c.say(t, 1, hello)
	c.say(t, 1, call("1", "wait"), call("2", "wait"), call("3", "look"))
	_ = c.in.Close()
	<-c.ended
}

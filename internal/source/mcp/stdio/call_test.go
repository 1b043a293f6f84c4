package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/sdkerror"
	"callgate/internal/source/mcp/stdio"
)

// answering connects the SDK's client to a server that answers each call with lines in which ID stands for the
// request's. It says END where the server ends, and sends each cancelled id to cancelled.
func answering(
	t *testing.T, lines string, cancelled chan<- string, o ...stdio.Options,
) (*stdio.Conn, *sdk.ClientSession) {
	t.Helper()
	in, toClient := io.Pipe()
	fromClient, out := io.Pipe()
	go func() {
		defer toClient.Close()
		for requests := bufio.NewScanner(fromClient); requests.Scan(); {
			var r struct {
				ID     json.RawMessage
				Method string
				Params struct{ RequestID json.RawMessage }
			}
			if json.Unmarshal(requests.Bytes(), &r) != nil {
				t.Errorf("the client says %q", requests.Bytes())
			}
			switch r.Method {
			case "initialize":
				fmt.Fprintf(toClient, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
					`"serverInfo":{"name":"s","version":"1"}}}`+"\n", r.ID)
			case "tools/call":
				text, end := strings.CutSuffix(lines, "END")
				_, _ = io.WriteString(toClient, strings.ReplaceAll(text, "ID", string(r.ID))+"\n")
				if end {
					return
				}
			case "notifications/cancelled":
				cancelled <- string(r.Params.RequestID)
			}
		}
	}()
	opt := stdio.Options{}
	if len(o) > 0 {
		opt = o[0]
	}
	opt.In, opt.Out = in, out
	conn := stdio.New(opt)
	client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), conn, &sdk.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = session.Wait() })
	return conn, session
}

// TestCallToolIsTheSDKs makes calls with and without the SDK: what comes of them is the same.
func TestCallToolIsTheSDKs(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"hello"}]}}`
	for _, answer := range []string{
		good,
		`{"result":{"content":[{"type":"text","text":"a\u00e9\n"}],"isError":true},"id":ID,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[],"_meta":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":"text"}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"strange"}]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":null}`,
		`{"jsonrpc":"2.0","id":ID,"result":[]}`,
		`{"jsonrpc":"2.0","id":ID}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a"}],"content":[{"type":"text","text":"b"}]}}`,
		`{"jsonrpc":"2.0","id":ID,"id":ID,"result":{"content":[{"type":"text","text":"a"}]}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}}",
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a"}],"x":` + strings.Repeat("[", 900) +
			strings.Repeat("]", 900) + `}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no such tool"}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32003,"message":"needs more"}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32004,"message":"server is closing"}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"a","data":{"b":1}},"result":{"content":[]}}`,
		`[{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"in a batch"}]}}]`,
		`{"jsonrpc":"2.0","id":99,"result":{"content":[]}}` + "\n" + good,
		`{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}` + "\n" + good,
		`{"jsonrpc":"2.0","id":ID.5,"result":{"content":[{"type":"text","text":"rounded"}]}}` + "\n" + good,
		`{"jsonrpc":"1.0","id":ID,"result":{"content":[]}}` + "\n" + good,
		`a banner` + "\n" + good + "\n" + good,
		`END`,
		good + "\nEND",
	} {
		t.Run(answer[:min(len(answer), 80)], func(t *testing.T) {
			t.Parallel()
			params := &sdk.CallToolParams{
				Meta: sdk.Meta{"progressToken": "p"}, Name: "look", Arguments: json.RawMessage(`{"a": 1}`),
			}
			_, session := answering(t, answer, nil)
			want, wantErr := session.CallTool(t.Context(), params)
			conn, _ := answering(t, answer, nil)
			got, ok, err := conn.CallTool(t.Context(), params)
			if !ok || !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%v, %+v, %v; the SDK has %+v, %v", ok, got, err, want, wantErr)
			}
			if err == nil {
				return
			}
			if sdkerror.IsNotSent(err) != sdkerror.IsNotSent(wantErr) || sdkerror.IsBroken(err) != sdkerror.IsBroken(wantErr) ||
				!reflect.DeepEqual(sdkerror.Answer(err), sdkerror.Answer(wantErr)) {
				t.Errorf("%v is not what %v is", err, wantErr)
			}
		})
	}
}

// TestCallToolCancelled cancels a call that the server does not answer: the server is told.
func TestCallToolCancelled(t *testing.T) {
	t.Parallel()
	cancelled := make(chan string, 1)
	asked := make(chan struct{})
	conn, _ := answering(t, "a line", cancelled, stdio.Options{OnStray: func([]byte) { close(asked) }})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := conn.CallTool(ctx, &sdk.CallToolParams{Name: "look", Arguments: json.RawMessage(`{}`)})
		ended <- err
	}()
	<-asked
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if id := <-cancelled; id != fmt.Sprint(1<<30) {
		t.Errorf("the server was told of %s", id)
	}
}

// TestCallToolAfterEnd calls a tool over a connection that has ended: the request was certainly not sent.
func TestCallToolAfterEnd(t *testing.T) {
	t.Parallel()
	conn, _ := answering(t, "", nil)
	_ = conn.Close()
	_, ok, err := conn.CallTool(t.Context(), &sdk.CallToolParams{Name: "look", Arguments: json.RawMessage(`{}`)})
	if !ok || !sdkerror.IsNotSent(err) {
		t.Errorf("%v, %v", ok, err)
	}
}

// TestCallToolLeftToTheSDK names calls that say more than a plain one.
func TestCallToolLeftToTheSDK(t *testing.T) {
	t.Parallel()
	conn, _ := answering(t, "", nil)
	for _, p := range []*sdk.CallToolParams{
		{Name: "a"},
		{Name: "a", Arguments: json.RawMessage(`{`)},
		{Name: "a", Arguments: json.RawMessage("{\n}")},
		{Name: "a", Arguments: json.RawMessage(`{}`), RequestState: "s"},
		{Name: "a", Arguments: json.RawMessage(`{}`), Meta: sdk.Meta{"of": func() {}}},
		{Name: "a", Arguments: json.RawMessage(`{}`), InputResponses: sdk.InputResponseMap{"q": &sdk.ElicitResult{}}},
	} {
		if _, ok, err := conn.CallTool(t.Context(), p); ok || err != nil {
			t.Errorf("%+v: %v, %v", p, ok, err)
		}
	}
}

package frame_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/stdio/frame"
)

// hostile are texts that stand in the place of a value, a field or a message in the seeds.
var hostile = []string{
	`{}`, `[]`, `null`, `""`, `"a\u0041"`, `"\ud800"`, `"\n\t\"\\\/\b\f\r"`, `1`, `-1`, `1.0`, `1e2`, `01`, `true`, `truex`,
	`{"a":1,"a":2}`, strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "\"\xff\"", "\"\x00\"", `"` + "\u2028" + `"`,
	`{"type":"text","text":"a"}`, `[{"type":"text","text":"a"}]`, `"io.modelcontextprotocol/protocolVersion"`, `"<&>"`,
	`12345678901234567890`, `{"text":"a","type":"text","_meta":{}}`, `[{"type":"image","data":"","mimeType":"x"}]`,
}

func seeds(f *testing.F, shapes ...string) {
	for _, shape := range shapes {
		f.Add([]byte(strings.ReplaceAll(shape, "%", "1")))
		for _, h := range hostile {
			f.Add([]byte(strings.ReplaceAll(shape, "%", h)))
		}
	}
}

// What is read here of an answer is what the SDK reads.
func FuzzResponse(f *testing.F) {
	seeds(f, `{"jsonrpc":"2.0","id":1,"result":%}`, `{"result":{"content":%},"jsonrpc":"2.0","id":7}`,
		`{"jsonrpc":"2.0","id":%,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":%}`, `{"jsonrpc":%,"id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"result":%}`, ` { "jsonrpc" : "2.0" , "id" : 1 , "result" : % } `,
		`{"jsonrpc":"2.0","id":1,"result":{}}%`, `{"jsonrpc":"2.0","id":1,"Result":%}`, `{"jsonrpc":"2.0","i\u0064":1,"result":%}`)
	f.Fuzz(func(t *testing.T, line []byte) {
		id, result, ok := frame.Response(line)
		if !ok {
			return
		}
		m, err := jsonrpc.DecodeMessage(bytes.Clone(line))
		if err != nil {
			t.Fatalf("%q is taken, and the SDK says %v", line, err)
		}
		r, isResponse := m.(*jsonrpc.Response)
		if !isResponse || r.Error != nil || r.ID.Raw() != any(id) || !bytes.Equal(r.Result, result) {
			t.Fatalf("%q is %d %q here, and %+v for the SDK", line, id, result, m)
		}
	})
}

// What is read here of a result is what the SDK reads.
func FuzzResult(f *testing.F) {
	seeds(f, `%`, `{"content":%}`, `{"content":[%]}`, `{"content":[{"type":"text","text":%}]}`,
		`{"content":[{"type":%,"text":"a"}],"isError":false}`, `{"isError":%,"content":[{"type":"text","text":"a"}]}`,
		`{"content":[{"type":"text","text":"a"},{"text":%,"type":"text"}]}`,
		`{"content":[{"type":"text","text":"a"}],"structuredContent":%}`, `{"content":[{"type":"text","text":"a"}],"_meta":%}`,
		`{"content":[{"type":"text","text":"a"}],"resultType":%}`, `{"resultType":"complete","content":[%],"_meta":{"x":%}}`,
		`{"resultType":"input_required","content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"a","text":%}]}`,
		`{"content":[{"type":"text","text":"a"}]}%`, `{"content":[{"type":"text","text":"a"}],"content":%}`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := frame.Result(raw)
		if !ok {
			return
		}
		var want sdk.CallToolResult
		if err := want.UnmarshalJSON(raw); err != nil || !reflect.DeepEqual(got, &want) {
			t.Fatalf("%q is %+v here, and %+v, %v for the SDK", raw, got, want, err)
		}
	})
}

// A request is read here as a server of the SDK reads it.
func FuzzCall(f *testing.F) {
	seeds(f, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":%}`,
		`{"jsonrpc":"2.0","id":%,"method":"tools/call","params":{"name":"a"}}`,
		`{"jsonrpc":"2.0","id":5,"method":%,"params":{"name":"a","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":%,"arguments":{"a":[1, 2 ]}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","arguments":%}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","arguments":{"x":%}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"_meta":%,"name":"a"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"_meta":{"progressToken":%,"callgate/call":"7"},"name":"a"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"_meta":{%:"2026-07-28"},"name":"a"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","requestState":%}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","method":%,"params":{"name":"a"}}`,
		`[{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a"}}]%`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a"}} %`)
	server := newServer(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok := frame.Call(line)
		if !ok {
			return
		}
		m, err := jsonrpc.DecodeMessage(bytes.Clone(line))
		if err != nil {
			t.Fatalf("%q is taken, and the SDK says %v", line, err)
		}
		req, isRequest := m.(*jsonrpc.Request)
		if !isRequest || req.Method != frame.Method || req.ID != r.ID {
			t.Fatalf("%q is %+v here, and %+v for the SDK", line, r, m)
		}
		if got := server.call(req); !reflect.DeepEqual(got, r.Params) {
			t.Fatalf("%q is %+v here, and %+v for the SDK", line, r.Params, got)
		}
	})
}

// server is a server of the SDK that keeps the params of a call.
type server struct {
	mu       sync.Mutex
	in       chan jsonrpc.Message
	out      chan jsonrpc.Message
	received *sdk.CallToolParamsRaw
}

func newServer(f *testing.F) *server {
	s := &server{in: make(chan jsonrpc.Message), out: make(chan jsonrpc.Message)}
	of := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	of.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if call, ok := r.(*sdk.CallToolRequest); ok {
				s.received = call.Params
				return &sdk.CallToolResult{Content: []sdk.Content{}}, nil
			}
			return next(ctx, method, r)
		}
	})
	if _, err := of.Connect(f.Context(), s, nil); err != nil {
		f.Fatal(err)
	}
	hello, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`))
	if err != nil {
		f.Fatal(err)
	}
	s.call(hello.(*jsonrpc.Request))
	f.Cleanup(func() { close(s.in) })
	return s
}

// call makes a request, and returns the params of the call that the SDK took it for.
func (s *server) call(r *jsonrpc.Request) *sdk.CallToolParamsRaw {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = nil
	s.in <- r
	<-s.out
	return s.received
}

func (s *server) Connect(context.Context) (sdk.Connection, error) { return s, nil }
func (s *server) SessionID() string                               { return "" }
func (s *server) Close() error                                    { return nil }

func (s *server) Read(context.Context) (jsonrpc.Message, error) {
	m, ok := <-s.in
	if !ok {
		return nil, io.EOF
	}
	return m, nil
}

func (s *server) Write(_ context.Context, m jsonrpc.Message) error {
	s.out <- m
	return nil
}

// An answer is written as the SDK writes it.
func FuzzAppendAnswer(f *testing.F) {
	for _, text := range []string{"", "hello", "a\nb\x00\"\\<&>\u2028\xff", strings.Repeat("é", 100)} {
		f.Add(text, int64(7), false)
		f.Add(text, int64(0), true)
	}
	f.Fuzz(func(t *testing.T, text string, n int64, failed bool) {
		res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}, &sdk.TextContent{Text: "b"}}, IsError: failed}
		id, err := jsonrpc.MakeID(float64(n % 1e12))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := frame.AppendAnswer(nil, id, res)
		raw, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Result: raw})
		if err != nil || !ok || string(got) != string(want)+"\n" {
			t.Fatalf("%q is written, and the SDK writes %q, %v", got, want, err)
		}
	})
}

// What is written of a request is read by the SDK as it was meant.
func FuzzParams(f *testing.F) {
	seeds(f, `%`, `{"a":%}`, "{\"a\":\n%}")
	f.Fuzz(func(t *testing.T, args []byte) {
		meta := sdk.Meta{"progressToken": "t<1>"}
		if len(args)%2 == 0 {
			meta["a\u2028/b"] = map[string]any{"c": "<\u2028>", "d": true}
		}
		p := &sdk.CallToolParams{Meta: meta, Name: "näme\n", Arguments: json.RawMessage(args)}
		params, ok := frame.Params(p, args)
		if !ok {
			return
		}
		line := frame.AppendRequest(nil, 1<<30, params)
		if n := bytes.IndexByte(line, '\n'); n != len(line)-1 {
			t.Fatalf("%q is more than one line", line)
		}
		m, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var got sdk.CallToolParamsRaw
		if err := json.Unmarshal(m.(*jsonrpc.Request).Params, &got); err != nil {
			t.Fatal(err)
		}
		if got.Name != p.Name || !reflect.DeepEqual(got.Meta, meta) || !bytes.Equal(got.Arguments, bytes.TrimSpace(args)) {
			t.Fatalf("%q became %+v", args, got)
		}
	})
}

// TestTaken names what must not go the long way.
func TestTaken(t *testing.T) {
	const result = `{"content":[{"type":"text","text":"a\nb"}],"isError":false}`
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1073741825,"result":` + result + `}`, `{"result":` + result + `,"jsonrpc":"2.0","id":3}`,
	} {
		if _, raw, ok := frame.Response([]byte(line)); !ok || string(raw) != result {
			t.Errorf("%s: %q %v", line, raw, ok)
		}
	}
	for _, raw := range []string{
		result, `{"content":[{"type":"text","text":"a\nb"}],"structuredContent":{"a":[1]}}`,
		`{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"content":` +
			`[{"type":"text","text":"a\nb"}]}`,
	} {
		if r, ok := frame.Result([]byte(raw)); !ok || r.Content[0].(*sdk.TextContent).Text != "a\nb" {
			t.Errorf("%s: %+v %v", raw, r, ok)
		}
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
		`{"name":"a.b","arguments":{"x":[1,{"y":null}]},"_meta":{"progressToken":3,"callgate/call":"1.abc"}}}`
	if r, ok := frame.Call([]byte(call)); !ok || string(r.Params.Arguments) != `{"x":[1,{"y":null}]}` ||
		r.Params.Meta["callgate/call"] != "1.abc" || r.Params.GetProgressToken() != 3.0 {
		t.Errorf("%+v %v", r, ok)
	}
}

// Some readers end a line where JSON does not.
func TestLineEndsOfOthers(t *testing.T) {
	for _, end := range []string{"\u2028", "\u2029"} {
		args := []byte(`{"a":"x` + end + `y"}`)
		if params, ok := frame.Params(&sdk.CallToolParams{Name: "look", Arguments: json.RawMessage(args)}, args); ok {
			t.Errorf("%q is written as it is", params)
		}
	}
}

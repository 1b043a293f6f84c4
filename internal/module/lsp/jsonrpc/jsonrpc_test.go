package jsonrpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/module/lsp/jsonrpc"
)

func TestReadMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stream, want, fails string }{
		"one":            {stream: "Content-Length: 2\r\n\r\n{}", want: "{}"},
		"another header": {stream: "Content-Type: x; charset=utf-8\r\ncontent-length:2\r\n\r\n{}", want: "{}"},
		"bare newlines":  {stream: "Content-Length: 2\n\n{}", want: "{}"},
		"nothing":        {stream: "", fails: "EOF"},
		"cut header":     {stream: "Content-Le", fails: "unexpected EOF"},
		"cut message":    {stream: "Content-Length: 5\r\n\r\n{}", fails: "unexpected EOF"},
		"no length":      {stream: "X: 1\r\n\r\n{}", fails: "without Content-Length"},
		"negative":       {stream: "Content-Length: -2\r\n\r\n{}", fails: `the Content-Length "-2"`},
		"no number":      {stream: "Content-Length: two\r\n\r\n{}", fails: `the Content-Length "two"`},
		"huge":           {stream: "Content-Length: 101\r\n\r\n", fails: "a message of 101 bytes"},
		"overflow":       {stream: "Content-Length: 99999999999999999999\r\n\r\n", fails: "the Content-Length"},
		"words":          {stream: "panic: at the disco\n\n", fails: "without Content-Length"},
		"plain text":     {stream: "hello\n", fails: `"hello" where a header should be`},
		"endless line":   {stream: strings.Repeat("x", 5000), fails: "does not end"},
		"endless header": {stream: strings.Repeat("a: b\n", 50), fails: "too many lines"},
	} {
		got, err := jsonrpc.ReadMessage(bufio.NewReader(strings.NewReader(c.stream)), 100)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("Content-Type: x\nCONTENT-LENGTH: 0\n\n"))
	f.Add([]byte("Content-Length: 18446744073709551616\r\n\r\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bufio.NewReader(bytes.NewReader(stream))
		for {
			got, err := jsonrpc.ReadMessage(r, 1000)
			if err != nil {
				return
			}
			var again bytes.Buffer
			if err := jsonrpc.WriteMessage(&again, got); err != nil {
				t.Fatal(err)
			}
			same, err := jsonrpc.ReadMessage(bufio.NewReader(&again), 1000)
			if err != nil || !bytes.Equal(got, same) || len(got) > 1000 {
				t.Fatalf("%q became %q, %v", got, same, err)
			}
		}
	})
}

// other is the other side of a connection.
type other struct {
	net.Conn
	r *bufio.Reader
}

func (o other) read() map[string]any {
	text, err := jsonrpc.ReadMessage(o.r, 1<<20)
	if err != nil {
		return map[string]any{"failed": err.Error()}
	}
	var m map[string]any
	_ = json.Unmarshal(text, &m)
	return m
}

func (o other) send(text string) { _ = jsonrpc.WriteMessage(o.Conn, []byte(text)) }

func connect(h jsonrpc.Handler, l jsonrpc.Limits) (*jsonrpc.Conn, other) {
	ours, theirs := net.Pipe()
	return jsonrpc.New(ours, ours, l, h), other{theirs, bufio.NewReader(theirs)}
}

func TestCallsAndWhatIsAskedMeanwhile(t *testing.T) {
	t.Parallel()
	var told []string
	c, server := connect(jsonrpc.Handler{
		Notification: func(method string, params json.RawMessage) { told = append(told, method+string(params)) },
		Request: func(method string, _ json.RawMessage) (any, *jsonrpc.Error) {
			if method == "good" {
				return []int{1}, nil
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "no"}
		},
	}, jsonrpc.DefaultLimits)
	go func() {
		asked := server.read()
		server.send(`{"jsonrpc":"2.0","method":"news","params":{"a":1}}`)
		server.send(`{"jsonrpc":"2.0","id":"x","method":"good"}`)
		answer := server.read()
		server.send(`{"jsonrpc":"2.0","id":7,"method":"bad"}`)
		refusal := server.read()
		server.send(`{"jsonrpc":"2.0","id":99,"result":"of no call"}`)
		all, _ := json.Marshal([]any{asked["method"], asked["params"], answer["result"], refusal["error"]})
		server.send(`{"jsonrpc":"2.0","id":1,"result":` + string(all) + `}`)
		server.read()
		server.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-3,"message":"not this"}}`)
		server.read()
		server.send(`{"jsonrpc":"2.0","id":3,"result":"a text"}`)
		server.read()
		_ = server.Close()
	}()
	var got json.RawMessage
	if err := c.Call(t.Context(), "ask", map[string]int{"b": 2}, &got); err != nil {
		t.Fatal(err)
	}
	if want := `["ask",{"b":2},[1],{"code":-32601,"message":"no"}]`; string(got) != want || len(told) != 1 {
		t.Errorf("%s, %q", got, told)
	}
	var refused *jsonrpc.Error
	if err := c.Call(t.Context(), "ask", nil, nil); !errors.As(err, &refused) || refused.Code != -3 {
		t.Errorf("%v", err)
	}
	var nonsense *jsonrpc.NonsenseError
	if err := c.Call(t.Context(), "ask", nil, new(struct{ A int })); !errors.As(err, &nonsense) {
		t.Errorf("%v", err)
	}
	if err := c.Call(t.Context(), "ask", nil, nil); err == nil || err.Error() != "it ended" {
		t.Errorf("%v", err)
	}
	if err := c.Notify(t.Context(), "late", nil); err == nil {
		t.Error("a failed connection takes more")
	}
	_ = server.Close()
	c.Wait()
}

func TestNobodyWaitsForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, server := connect(jsonrpc.Handler{}, jsonrpc.DefaultLimits)
		heard := make(chan any, 2)
		go func() {
			server.read()
			heard <- server.read()["method"]
			_, _ = io.Copy(io.Discard, server)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Call(ctx, "hang", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if got := <-heard; got != "$/cancelRequest" {
			t.Errorf("%v", got)
		}
		_ = server.Close()
		c.Wait()
	})
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	note := `{"jsonrpc":"2.0","method":"n"}`
	for name, c := range map[string]struct {
		do    func(other)
		fails string
	}{
		"floods": {func(o other) {
			for range 200 {
				o.send(note)
			}
		}, "unasked"},
		"asks and does not read": {func(o other) {
			for i := range 1000 {
				o.send(`{"jsonrpc":"2.0","id":` + string(rune('0'+i%10)) + `,"method":"m"}`)
			}
		}, "does not read the answers"},
		"large":    {func(o other) { _, _ = io.WriteString(o, "Content-Length: 5000\r\n\r\n") }, "5000 bytes"},
		"no JSON":  {func(o other) { o.send("{{{") }, "no message"},
		"a list":   {func(o other) { o.send("[]") }, "no message"},
		"chatters": {func(o other) { _, _ = io.WriteString(o, "starting up...\n") }, "where a header should be"},
		"dies":     {func(o other) { _ = o.Close() }, "it ended"},
	} {
		limits := jsonrpc.Limits{Message: 1000, Messages: 100, Bytes: 1 << 20}
		if name == "asks and does not read" {
			limits.Messages = 10_000
		}
		conn, server := connect(jsonrpc.Handler{
			Notification: func(string, json.RawMessage) {},
			Request:      func(string, json.RawMessage) (any, *jsonrpc.Error) { return nil, nil },
		}, limits)
		go func() {
			<-conn.Failed()
			_ = server.Close()
		}()
		c.do(server)
		<-conn.Failed()
		if err := conn.Call(t.Context(), "x", nil, nil); err == nil || !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		conn.Wait()
	}
}

// A message that would take gigabytes when it is decoded is not read.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	head := bufio.NewReader(strings.NewReader("Content-Length: 5000000\r\n\r\n"))
	_, err := jsonrpc.ReadMessage(head, jsonrpc.DefaultLimits.Message)
	if err == nil || !strings.Contains(err.Error(), "5000000 bytes") {
		t.Errorf("%v", err)
	}
}

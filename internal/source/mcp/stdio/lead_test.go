package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/nowait"
	"callgate/internal/source/mcp/stdio"
)

// served is a connection over real pipes to a server that does as the test says with each call: its number, its
// arguments, and where it may write.
type served struct {
	*stdio.Conn
	t        testing.TB
	messages chan struct{} // notifications that came
}

func serve(t testing.TB, do func(n int, id json.RawMessage, out *os.File)) *served {
	t.Helper()
	fromServer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, messages: make(chan struct{}, 2000)}
	s.Conn = stdio.New(stdio.Options{
		In: nowait.Reader(fromServer), Out: toServer, ReadDeadline: fromServer.SetReadDeadline,
		OnMessage: func(*jsonrpc.Request) bool { s.messages <- struct{}{}; return true },
	})
	var all sync.WaitGroup
	all.Go(func() {
		lines := bufio.NewScanner(in)
		for n := 0; lines.Scan(); {
			var r struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(lines.Bytes(), &r) == nil && r.Method == "tools/call" {
				do(n, r.ID, out)
				n++
			}
		}
	})
	all.Go(func() { // what nobody waits for is the SDK's
		for {
			if _, err := s.Read(context.Background()); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = s.Close()
		all.Wait()
		for _, f := range []*os.File{fromServer, out, in} {
			_ = f.Close()
		}
	})
	return s
}

func (s *served) call(ctx context.Context) (text string, err error) {
	res, ok, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "look", Arguments: json.RawMessage(`{}`)})
	if !ok {
		s.t.Error("the call is not plain")
	}
	if err != nil {
		return "", err
	}
	return res.Content[0].(*sdk.TextContent).Text, nil
}

func answerOf(id json.RawMessage, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, text) + "\n"
}

const news = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n"

// Calls one after the other read their own answers, also long ones, and after what is no answer.
func TestCallsReadTheirAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 20_000)
	s := serve(t, func(n int, id json.RawMessage, out *os.File) {
		text := "short"
		switch n % 5 {
		case 1:
			text = long
		case 2:
			_, _ = io.WriteString(out, news)
		case 3:
			_, _ = io.WriteString(out, "no message\n\n"+news+answerOf(id, text)+news)
			return
		case 4:
			_, _ = io.WriteString(out, "\n")
		}
		_, _ = io.WriteString(out, answerOf(id, text))
	})
	for n := range 200 {
		want := map[bool]string{true: long, false: "short"}[n%5 == 1]
		if got, err := s.call(t.Context()); err != nil || got != want {
			t.Fatalf("call %d: %.50q, %v", n, got, err)
		}
	}
	for range 120 { // the last came after an answer, which nobody waits for any more
		<-s.messages
	}
}

// A call that is cancelled while it reads returns at once, and what it has read in part is not lost.
func TestCallIsCancelledWhileItReads(t *testing.T) {
	t.Parallel()
	var late string
	half := make(chan struct{})
	s := serve(t, func(n int, id json.RawMessage, out *os.File) {
		if n%3 != 1 { // the one before has its answer, and the next
			_, _ = io.WriteString(out, late+answerOf(id, fmt.Sprint(n)))
			late = ""
			return
		}
		whole := answerOf(id, "late")
		_, _ = io.WriteString(out, whole[:len(whole)/2])
		late = whole[len(whole)/2:]
		half <- struct{}{}
	})
	for range 100 {
		if _, err := s.call(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-half
			cancel()
		}()
		if got, err := s.call(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("%q, %v", got, err)
		}
		if _, err := s.call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Many callers at once, of which some leave, and answers in another order: each gets its own.
func TestManyReadAnswers(t *testing.T) {
	t.Parallel()
	const callers, calls = 8, 200
	var mu sync.Mutex
	s := serve(t, func(n int, id json.RawMessage, out *os.File) {
		say := func() {
			mu.Lock()
			defer mu.Unlock()
			_, _ = io.WriteString(out, answerOf(id, string(id)))
			if n%7 == 0 {
				_, _ = io.WriteString(out, news)
			}
		}
		if n%3 == 0 {
			go say()
			return
		}
		say()
	})
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for n := range calls {
				ctx, cancel := context.WithCancel(t.Context())
				if n%11 == caller {
					go cancel()
				}
				got, err := s.call(ctx)
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) || err == nil && got == "" {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	all.Wait()
}

// A server that ends while a call reads ends the call.
func TestServerEndsWhileACallReads(t *testing.T) {
	t.Parallel()
	s := serve(t, func(n int, id json.RawMessage, out *os.File) {
		if n == 3 {
			_ = out.Close()
			return
		}
		_, _ = io.WriteString(out, answerOf(id, "x"))
	})
	for n := range 4 {
		if _, err := s.call(t.Context()); (err != nil) != (n == 3) {
			t.Fatalf("call %d: %v", n, err)
		}
	}
}

// A connection that is closed while a call reads ends the call, though the server lives on.
func TestClosedWhileACallReads(t *testing.T) {
	t.Parallel()
	for range 50 {
		asked := make(chan struct{})
		s := serve(t, func(n int, id json.RawMessage, out *os.File) {
			if n == 1 {
				close(asked)
				return
			}
			_, _ = io.WriteString(out, answerOf(id, "x"))
		})
		if _, err := s.call(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := s.call(context.Background())
			ended <- err
		}()
		<-asked
		_ = s.Close()
		select {
		case err := <-ended:
			if err == nil {
				t.Fatal("the call has an answer")
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the call goes on")
		}
	}
}

package client_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
)

// kernel is the other end of a bridge, played by a test.
type kernel struct {
	net.Conn
	lines *bufio.Reader
}

// bridge connects a stream with a kernel.
func bridge(t *testing.T) (*client.Stream, *kernel) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	made := make(chan *kernel, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		k := &kernel{conn, bufio.NewReader(conn)}
		if _, err := http.ReadRequest(k.lines); err == nil {
			k.say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol.Upgrade + "\r\n\r")
		}
		made <- k
	}()
	conn, err := client.Unix(l.Addr().String())(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.Bridge(t.Context(), conn, protocol.MCPClient{})
	if err != nil {
		t.Fatal(err)
	}
	k := <-made
	t.Cleanup(func() { s.Close(); k.Close() })
	return s, k
}

func (k *kernel) say(line string) { _, _ = io.WriteString(k, line+"\n") }

// hear returns the next line, or EOF.
func (k *kernel) hear() string {
	line, err := k.lines.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// The answers to what a client has asked reach it though it has said its last,
// and its last line need not end.
func TestAnswersComeAfterTheLastWord(t *testing.T) {
	s, k := bridge(t)
	const first = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"id":9}}`
	const second = `{"method":"tools/list","id":"zwölf","jsonrpc":"2.0"}`
	go func() {
		for _, want := range []string{first, second} {
			if got := k.hear(); got != want {
				t.Errorf("the kernel heard %s", got)
			}
		}
		k.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		k.say(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`) // a question of the kernel's own is no answer
		k.say(`{"jsonrpc":"2.0","id":"zw\u00f6lf","result":{"id":1}}`)
		k.say(`{"jsonrpc":"2.0","result":{"method":"x"},"id":1}`)
		if got := k.hear(); got != "EOF" {
			t.Errorf("then it heard %s", got)
		}
		k.Close()
	}()
	var out strings.Builder
	in := strings.NewReader(first + "\n" + second)
	if err := s.Relay(t.Context(), in, &out, client.RelayOptions{Grace: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != 4 {
		t.Errorf("the client got %s", out.String())
	}
}

// Relay does not wait for a client that waits for nothing.
func TestTheEndIsNotHeldBack(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}` + "\n"
	for name, c := range map[string]struct {
		in    string
		until client.RelayOptions
	}{
		"nothing asked": {`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":4,"result":{}}` + "\n", client.RelayOptions{Grace: time.Hour}},
		"nothing at all": {"", client.RelayOptions{Grace: time.Hour}},
		"no message":     {"hello\n[1,2\n{\"id\":1\n", client.RelayOptions{Grace: time.Hour}},
		"cancelled": {call + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"why":{},"requestId":1}}` +
			"\n", client.RelayOptions{Grace: time.Hour}},
		"nobody reads":      {call, client.RelayOptions{Grace: time.Hour, Gone: func() bool { return true }}},
		"the grace is over": {call, client.RelayOptions{Grace: time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			s, k := bridge(t)
			go func() {
				_, _ = io.Copy(io.Discard, k.lines) // to the end
				k.Close()
			}()
			if err := s.Relay(t.Context(), strings.NewReader(c.in), io.Discard, c.until); err != nil {
				t.Error(err)
			}
		})
	}
}

// A signal ends it at once, whatever is open.
func TestCarryEndsWithItsContext(t *testing.T) {
	s, k := bridge(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		k.hear()
		cancel()
	}()
	in := strings.NewReader(`{"id":1,"method":"tools/call"}`)
	if err := s.Relay(ctx, in, io.Discard, client.RelayOptions{Grace: time.Hour}); err != nil {
		t.Error(err)
	}
	if got := k.hear(); got != "EOF" {
		t.Errorf("the kernel heard %s", got)
	}
}

// A kernel that breaks off is an error.
func TestCarryTellsOfABrokenKernel(t *testing.T) {
	s, _ := bridge(t)
	in, _ := io.Pipe()
	defer in.Close()
	_ = s.SetReadDeadline(time.Now().Add(-time.Second))
	err := s.Relay(t.Context(), in, io.Discard, client.RelayOptions{})
	if err == nil || !strings.Contains(err.Error(), "went away") {
		t.Errorf("got %v", err)
	}
}

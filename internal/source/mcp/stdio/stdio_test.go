package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"callgate/internal/source/mcp/stdio"
)

// pipe is a connection, and the server's ends of it.
type pipe struct {
	*stdio.Conn
	out   *io.PipeWriter // the server's stdout
	in    *bufio.Scanner // its stdin
	stray chan string
	ended chan struct{}
}

func connect(handshake time.Duration) *pipe {
	outR, outW := io.Pipe()
	inR, inW := io.Pipe()
	p := &pipe{out: outW, in: bufio.NewScanner(inR), stray: make(chan string, 100), ended: make(chan struct{})}
	p.in.Buffer(nil, 1<<20)
	p.Conn = stdio.New(stdio.Options{
		In: outR, Out: inW, HandshakeTimeout: handshake,
		OnStray: func(line []byte) { p.stray <- string(line) },
		OnClose: func() { close(p.ended); outR.Close(); inR.Close() },
	})
	return p
}

// say writes to the server's stdout.
func (p *pipe) say(text string) { go p.out.Write([]byte(text)) }

func read(t *testing.T, p *pipe) string {
	t.Helper()
	m, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func request(t *testing.T, id float64, method string) *jsonrpc.Request {
	t.Helper()
	name, err := jsonrpc.MakeID(id)
	if err != nil {
		t.Fatal(err)
	}
	return &jsonrpc.Request{ID: name, Method: method}
}

func TestMessagesAmongNoise(t *testing.T) {
	t.Parallel()
	p := connect(0)
	defer p.Close()
	p.say("Welcome!\n\n{\"level\":\"info\"}\n\x1b[31m{oops\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n" +
		`[{"jsonrpc":"2.0","method":"notifications/a"},{"jsonrpc":"2.0","method":"notifications/b"}]` + "\n[1,2]\n")
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/a"}`,
		`{"jsonrpc":"2.0","method":"notifications/b"}`,
	} {
		if got := read(t, p); got != want {
			t.Errorf("read %s; want %s", got, want)
		}
	}
	for _, want := range []string{"Welcome!", `{"level":"info"}`, "\x1b[31m{oops", "[1,2]"} {
		if got := <-p.stray; got != want {
			t.Errorf("stray %q; want %q", got, want)
		}
	}
	if !p.HasReceived() {
		t.Error("no message has arrived")
	}
}

func TestLastLineWithoutItsEnd(t *testing.T) {
	t.Parallel()
	p := connect(0)
	go func() {
		p.out.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/a"}`))
		p.out.Close()
	}()
	if got := read(t, p); !strings.Contains(got, "notifications/a") {
		t.Errorf("read %s", got)
	}
	if _, err := p.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	<-p.ended
	if err := p.Write(t.Context(), request(t, 1, "x")); !errors.Is(err, io.EOF) {
		t.Errorf("writing after the end: %v", err)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	p := connect(0)
	defer p.Close()
	long := strings.Repeat("x", 1<<20)
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/a","params":{"t":%q}}`+"\n", long))
	if got := read(t, p); len(got) < 1<<20 {
		t.Errorf("read %d bytes", len(got))
	}
}

// endless is a line that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }
func (endless) Close() error               { return nil }

func TestLinesWithoutEnd(t *testing.T) {
	t.Parallel()
	_, out := io.Pipe()
	c := stdio.New(stdio.Options{In: endless{}, Out: out})
	if _, err := c.Read(t.Context()); !errors.Is(err, stdio.ErrTooLong) {
		t.Errorf("read gave %v", err)
	}
}

func TestWriterThatNobodyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := connect(0)
		if err := p.Write(t.Context(), request(t, 1, "a")); err != nil { // the writer holds it
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Write(ctx, request(t, 2, "b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second: %v", err)
		}
		if !p.in.Scan() || !strings.Contains(p.in.Text(), `"a"`) {
			t.Errorf("the server read %q", p.in.Text())
		}
		if err := p.Write(t.Context(), request(t, 3, "c")); err != nil {
			t.Error(err)
		}
		if !p.in.Scan() || !strings.Contains(p.in.Text(), `"c"`) {
			t.Errorf("the server read %q", p.in.Text())
		}
		p.Close()
		p.Close()
		<-p.ended
		synctest.Wait()
	})
}

func TestUnansweredHandshakes(t *testing.T) {
	t.Parallel()
	const hello = "server/discover"
	for _, c := range []struct {
		name   string
		answer string // to the handshake
		after  time.Duration
		silent bool
		made   bool // the connection answered in the server's place
	}{
		{"an answer in time", `{"jsonrpc":"2.0","id":1,"result":{}}`, time.Second, false, false},
		{"a refusal in time", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, time.Second, false, false},
		{"no answer", "", 0, true, true},
		{"a late answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, 9 * time.Second, false, true},
		{"a late refusal", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, 9 * time.Second, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connect(5 * time.Second)
				began := time.Now()
				if err := p.Write(t.Context(), request(t, 1, hello)); err != nil {
					t.Fatal(err)
				}
				p.in.Scan()
				if c.answer != "" {
					time.AfterFunc(c.after, func() { p.say(c.answer + "\n") })
				}
				got := read(t, p)
				if made := strings.Contains(got, "no answer"); made != c.made || made && time.Since(began) != 5*time.Second {
					t.Errorf("after %v: %s", time.Since(began), got)
				}
				<-time.After(10 * time.Second)
				synctest.Wait()
				if p.HandshakeUnanswered() != c.silent {
					t.Errorf("silent: %v", p.HandshakeUnanswered())
				}
				p.Close()
				synctest.Wait()
			})
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n[]\n[{}]\nnull\n\xff\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, out := io.Pipe()
		c := stdio.New(stdio.Options{In: io.NopCloser(bytes.NewReader(text)), Out: out})
		for {
			m, err := c.Read(t.Context())
			if err != nil {
				return
			}
			if _, err := jsonrpc.EncodeMessage(m); err != nil {
				t.Errorf("a message that cannot be written was read: %v", err)
			}
		}
	})
}

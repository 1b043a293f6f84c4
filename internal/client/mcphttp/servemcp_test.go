package mcphttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"callgate/internal/client/mcphttp"
	"callgate/internal/protocol"
)

// A kernel that begins to answer before it was sent the whole request, as one
// does that answers with a stream, is heard to the end.
func TestFrontAnswersWhileItIsAsked(t *testing.T) {
	kernel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": first\n\n")
		_ = c.Flush()
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "data: %s %v\n\n", body, err)
	}))
	t.Cleanup(kernel.Close)
	conn, err := net.Dial("tcp", strings.TrimPrefix(front(t, kernel), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\nfirst")
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body := bufio.NewReader(res.Body)
	if line, err := body.ReadString('\n'); line != ": first\n" {
		t.Fatalf("it begins with %q, %v", line, err)
	}
	fmt.Fprint(conn, "later")
	rest, err := io.ReadAll(body)
	if err != nil || !strings.Contains(string(rest), "data: firstlater <nil>") {
		t.Errorf("it ends with %q, %v", rest, err)
	}
}

// A call that was sent to a kernel which went away is not sent again, however it is
// written, and is in doubt. What only reads is asked of the next kernel.
func TestCallIsForwardedOnce(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{}}`,
		"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"tools/call\"\n}",
		`[{"jsonrpc":"2.0","id":1,"method":"tools/call"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":\n{\"id\":2,\"method\":\"ping\"}\n}",
		`{"jsonrpc":"2.0","id":1,"method":"tools\/list"}`,
	} {
		var asked atomic.Int32
		kernel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if asked.Add(1) == 1 {
				panic(http.ErrAbortHandler) // it goes away
			}
			fmt.Fprint(w, "the next kernel")
		}))
		defer kernel.Close()
		resp, err := http.Post(front(t, kernel)+"/mcp", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		want, times := "the next kernel", int32(2)
		if !strings.Contains(body, "list") {
			want, times = "in_doubt", 1
		}
		if n := asked.Load(); n != times || !strings.Contains(string(got), want) {
			t.Errorf("%s\nis sent %d times, and answered with %s", body, n, got)
		}
	}
}

// A connection that breaks before the request was read has carried nothing: any request
// is sent to the next kernel, and the client goes on over the same connection. A process
// that is killed closes its sockets one after another, so that it may still be dialled.
func TestKernelEndsBeforeItIsAsked(t *testing.T) {
	t.Parallel()
	kernel := hearing(t)
	var dials atomic.Int32
	url := frontOf(t, func(ctx context.Context) (net.Conn, error) {
		if dials.Add(1)%2 == 1 {
			return brokenConn{}, nil
		}
		return new(net.Dialer).DialContext(ctx, "tcp", kernel.Listener.Addr().String())
	})
	client := http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	t.Cleanup(client.CloseIdleConnections)
	for n := range 100 {
		isHeard(t, &client, url, n)
		dials.Store(0)
	}
}

// A connection to a kernel is used again. Where that kernel has ended, the next is asked, and nothing is in doubt.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	kernel := hearing(t)
	var dials atomic.Int32
	url := frontOf(t, func(ctx context.Context) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", kernel.Listener.Addr().String())
	})
	for n := range 200 {
		if n%2 == 1 {
			kernel.CloseClientConnections()
		}
		isHeard(t, http.DefaultClient, url, n)
	}
	if n := dials.Load(); runtime.GOOS == "linux" && n > 150 { // of 200, every second needs one
		t.Errorf("%d connections", n)
	}
}

// Many connections that ended with their kernel, and of which nobody has read so yet, do not keep a request from the
// next kernel.
func TestManyKeptConnectionsHaveEnded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("connections are not kept here")
	}
	const many = 20
	var held atomic.Int32
	together := make(chan struct{})
	kernel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if held.Add(1) == many {
			close(together)
		}
		<-together
		fmt.Fprintf(w, "the kernel hears %s %v", body, err)
	}))
	t.Cleanup(kernel.Close)
	url := frontOf(t, func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", kernel.Listener.Addr().String())
		if err != nil {
			return nil, err
		}
		return &deafConn{TCPConn: conn.(*net.TCPConn), closed: make(chan struct{})}, nil
	})
	var all sync.WaitGroup
	for n := range many {
		all.Go(func() { isHeard(t, http.DefaultClient, url, n) })
	}
	all.Wait()
	kernel.CloseClientConnections()
	isHeard(t, http.DefaultClient, url, many)
}

// deafConn does not hear that its other end is closed.
type deafConn struct {
	*net.TCPConn
	once   sync.Once
	closed chan struct{}
}

func (c *deafConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if err != nil {
		<-c.closed
	}
	return n, err
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.TCPConn.Close()
}

// hearing is a kernel that says what it hears.
func hearing(t *testing.T) *httptest.Server {
	kernel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "the kernel hears %s %v", body, err)
	}))
	t.Cleanup(kernel.Close)
	return kernel
}

// isHeard makes a call, which a kernel must hear whole.
func isHeard(t *testing.T, client *http.Client, url string, n int) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`, n)
	resp, err := client.Post(url+"/mcp", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatalf("request %d: %v", n, err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if whole := "the kernel hears " + body + " <nil>"; err != nil || string(got) != whole {
		t.Fatalf("request %d is answered with %d %s %v", n, resp.StatusCode, got, err)
	}
}

// brokenConn is a connection to a process that has ended.
type brokenConn struct{ net.Conn }

func (brokenConn) Read([]byte) (int, error)  { return 0, syscall.ECONNRESET }
func (brokenConn) Write([]byte) (int, error) { return 0, syscall.EPIPE }
func (brokenConn) Close() error              { return nil }

// front serves clients over HTTP in front of a kernel, and returns its address.
func front(t *testing.T, kernel *httptest.Server) string {
	t.Helper()
	return frontOf(t, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", kernel.Listener.Addr().String())
	})
}

func frontOf(t *testing.T, dial func(context.Context) (net.Conn, error)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- mcphttp.Serve(ctx, l, protocol.MCPHTTPClient{}, dial, mcphttp.Watched{})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

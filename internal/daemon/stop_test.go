package daemon

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

const requests = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n" +
	`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_tools","arguments":{"query":"read"}}}` + "\n"

// TestClientsLeaveBeforeTheKernelCloses stops a kernel while MCP clients connect
// and send requests. When it has stopped, none is served any more.
func TestClientsLeaveBeforeTheKernelCloses(t *testing.T) {
	for range 5 {
		d, err := Start(t.Context(), kernel.Config{State: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		workspace := t.TempDir()
		var all sync.WaitGroup
		came := make(chan struct{}, 4)
		for range cap(came) {
			all.Go(func() {
				defer func() { came <- struct{}{} }()
				conn, err := client.Unix(d.Socket)(t.Context())
				if err != nil {
					return // too late
				}
				s, err := client.Bridge(t.Context(), conn, protocol.MCPClient{Workspace: workspace})
				if err != nil {
					return
				}
				_, _ = io.WriteString(s, requests)
				lines := bufio.NewScanner(s)
				lines.Scan()
				came <- struct{}{}
				for lines.Scan() { // until the kernel ends the stream
				}
				_ = s.Close()
			})
		}
		<-came
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
		if n := d.mcpClients.Load(); n != 0 {
			t.Errorf("%d clients are still being served", n)
		}
		go func() {
			for range came {
			}
		}()
		all.Wait()
		close(came)
	}
}

// A call that runs when its kernel is stopped is answered over the network, while nobody connects any more.
func TestStopAnswersCallsOfTheNetwork(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	slow, err := tool.Func("slow.work", "Works.", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read},
		func(ctx context.Context, _ struct{}) (string, error) {
			close(began)
			select {
			case <-end:
				return "worked", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
	kerneltest.OK(t, err)
	d, err := Start(t.Context(), kernel.Config{State: kerneltest.StateDir(t), Tools: []*tool.Tool{slow}})
	kerneltest.OK(t, err)
	at, err := d.ServeWeb(Web{Address: "127.0.0.1:0", Workspace: t.TempDir()})
	kerneltest.OK(t, err)
	_, value, err := d.Kernel.Tokens.Create(t.Context(), kerneltest.Human(t, d.Kernel), token.Token{Role: token.Operator})
	kerneltest.OK(t, err)
	answered := make(chan string, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), "POST", at+"/v1/tools/slow.work/call", strings.NewReader("{}"))
		if err != nil {
			answered <- err.Error()
			return
		}
		r.Header.Set("Authorization", "Bearer "+value)
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		answered <- string(text)
	}()
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop() }()
	where, err := url.Parse(at)
	kerneltest.OK(t, err)
	for { // until it listens no more
		conn, err := net.DialTimeout("tcp", where.Host, time.Second)
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(end)
	if got := <-answered; !strings.Contains(got, `"worked"`) {
		t.Errorf("the call was answered with %s", got)
	}
	kerneltest.OK(t, <-stopped)
}

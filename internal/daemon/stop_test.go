package daemon

import (
	"bufio"
	"io"
	"sync"
	"testing"

	"callgate/internal/client"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
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

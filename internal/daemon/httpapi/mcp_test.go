//go:build unix

package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/httpapi"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
)

// This test's binary also plays an MCP client in a process of its own.
const clientVar = "CALLGATE_TEST_CLIENT"

func TestMain(m *testing.M) {
	if part := os.Getenv(clientVar); part != "" {
		if err := play(part); err != nil {
			fmt.Println("error:", err)
		}
		return
	}
	os.Exit(m.Run())
}

// part is what a client in a process of its own does.
type part struct {
	Socket, Workspace string
	Over              string // stream or web
	Forms             bool   // over the web: it says that its forms are shown to a human
	Orphan            bool   // it begins when its parent has ended
}

// wait waits until a condition holds.
func wait(holds func() bool) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		<-tick.C
	}
}

// play is a client that can show forms, and accepts each. It prints whether it
// was asked, and the result of its call.
func play(text string) error {
	var p part
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	if parent, err := strconv.Atoi(os.Getenv("PARENT")); err == nil && p.Orphan {
		wait(func() bool { return os.Getppid() != parent })
	}
	if p.Over == "web" {
		return p.web()
	}
	return p.stream()
}

const remove = `"name":"filesystem.delete","arguments":{"path":"a.txt"}`

// stream plays a client of the stateful protocol.
func (p part) stream() error {
	conn, err := client.Unix(p.Socket)(context.Background())
	if err != nil {
		return err
	}
	s, err := client.Bridge(context.Background(), conn, protocol.MCPClient{Workspace: p.Workspace})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(s, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
		`"capabilities":{"elicitation":{}},"clientInfo":{"name":"inside","version":"1"}}}`)
	fmt.Fprintln(s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+remove+`}}`)
	for lines := bufio.NewScanner(s); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		switch {
		case m.Method == "elicitation/create":
			fmt.Println("form")
			fmt.Fprintf(s, `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":true}}}`+"\n", m.ID)
		case string(m.ID) == "2":
			fmt.Println(lines.Text())
			return nil
		}
	}
	return io.ErrUnexpectedEOF
}

// web plays a client of the stateless protocol. A form comes as the result of the
// call.
func (p part) web() error {
	settings, err := json.Marshal(protocol.MCPHTTPClient{
		MCPClient: protocol.MCPClient{Workspace: p.Workspace}, NoAuth: true, Forms: p.Forms,
	})
	if err != nil {
		return err
	}
	body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + remove + `,` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"inside","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1"+protocol.MCPHTTPPath, strings.NewReader(body))
	if err != nil {
		return err
	}
	for key, value := range map[string]string{
		protocol.MCPClientHeader: string(settings),
		"Content-Type":           "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "filesystem.delete",
	} {
		r.Header.Set(key, value)
	}
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return client.Unix(p.Socket)(ctx)
	}}}
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if strings.Contains(string(said), "input_required") {
		fmt.Println("form")
	}
	fmt.Println(string(said))
	return err
}

// serve serves a kernel in this very process on a socket.
func serve(t *testing.T) (socket string, k *kernel.Kernel) {
	t.Helper()
	k, err := kernel.Open(t.Context(), kernel.Config{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ending, end := context.WithCancel(context.Background())
	clients := new(atomic.Int64)
	api := httpapi.New(k, httpapi.Lifecycle{
		Context: ending, Stop: func() {}, MCPClients: clients, ApprovalWait: time.Millisecond,
	})
	server := &http.Server{
		Handler:     api,
		ConnContext: route.WithPeer,
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		end()
		_ = server.Shutdown(context.Background())
		wait(func() bool { return clients.Load() == 0 }) // Shutdown does not wait for streams
		api.Close()
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return socket, k
}

// TestNoForms has clients approve a dangerous call of their own. The kernel shows
// no form to a process that it started itself, nor to a client over HTTP unless the
// process that listens says that a human sees its forms.
func TestNoForms(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		part
		asked bool // a form is shown
	}{
		"a stream of what the kernel started":            {part{Over: "stream"}, false},
		"a stream of another process":                    {part{Over: "stream", Orphan: true}, true},
		"the web":                                        {part{Over: "web", Orphan: true}, false},
		"the web, with forms":                            {part{Over: "web", Orphan: true, Forms: true}, true},
		"the web of what the kernel started, with forms": {part{Over: "web", Forms: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.Socket, _ = serve(t)
			c.Workspace = t.TempDir()
			file := filepath.Join(c.Workspace, "a.txt")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(c.part)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", `"$1"; true`, "sh", self)
			if c.Orphan {
				cmd = exec.Command("sh", "-c", `PARENT=$$ "$1" &`, "sh", self)
			}
			cmd.Env = append(os.Environ(), clientVar+"="+string(text), "GORACE=atexit_sleep_ms=0")
			out, err := cmd.Output() // until all processes that have it ended
			if err != nil {
				t.Fatal(err)
			}
			said := string(out)
			_, gone := os.Stat(file)
			switch asked := strings.HasPrefix(said, "form\n"); {
			case asked != c.asked:
				t.Errorf("it was asked: %v: %s", asked, said)
			case !asked && (!strings.Contains(said, "waiting for approval") || gone != nil):
				t.Errorf("no form was shown, the file is %v: %s", gone, said)
			case asked && c.Over == "stream" && gone == nil:
				t.Errorf("the form was accepted, and nothing ran: %s", said)
			}
		})
	}
}

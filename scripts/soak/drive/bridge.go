//go:build linux

package drive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"callgate/scripts/soak/history"
)

// bridge is a process of callgate mcp, and the MCP client that has it.
type bridge struct {
	*process
	in io.WriteCloser

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	eof     chan struct{} // closed when it writes no more
}

// reply is a JSON-RPC answer.
type reply struct {
	ID     int `json:"id"`
	Result *struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// openBridge starts a bridge and says hello. Whoever comes second gets the same.
func (g *group) openBridge() (*bridge, error) {
	g.opening.Lock()
	defer g.opening.Unlock()
	b := g.bridge
	if b != nil && !b.over() {
		return b, nil
	}
	if b != nil && !b.wasShot() {
		const words = "it ended by itself while its client was there, with code %d: %s"
		g.log.problem(history.Untold, "callgate mcp", fmt.Sprintf(words, b.ProcessState.ExitCode(), tail(b.err.String())))
	}
	p := &process{Cmd: exec.Command(g.Binary, "mcp", "--builtin", "all", "--mode", "direct"),
		out: &bytes.Buffer{}, err: &bytes.Buffer{}, done: make(chan struct{})}
	p.Env, p.Dir, p.Stderr = g.env, g.work, p.err
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.WaitDelay = time.Second
	in, err := p.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, write := io.Pipe()
	p.Stdout = write
	if err := g.launch("bridge", p); err != nil {
		return nil, err
	}
	go func() {
		<-p.done
		_ = write.Close() // what it wrote has been read
	}()
	b = &bridge{process: p, in: in, waiting: map[int]chan reply{}, eof: make(chan struct{})}
	go b.listen(out)
	g.bridge = b
	const hello = `"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"soak","version":"1"}`
	if _, err := b.ask("initialize", json.RawMessage("{"+hello+"}")); err != nil {
		return nil, err
	}
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return b, err
}

func (b *bridge) listen(out io.Reader) {
	defer close(b.eof)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r reply
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.Result == nil && r.Error == nil {
			continue // a notification
		}
		b.mu.Lock()
		if c := b.waiting[r.ID]; c != nil {
			c <- r
			delete(b.waiting, r.ID)
		}
		b.mu.Unlock()
	}
}

// ask sends a request and waits for its answer.
func (b *bridge) ask(method string, params json.RawMessage) (reply, error) {
	answer := make(chan reply, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = answer
	_, err := fmt.Fprintf(b.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
	b.mu.Unlock()
	if err != nil {
		b.ended(time.Second)
	}
	select {
	case r := <-answer:
		return r, nil
	case <-b.eof:
		<-b.done
		select {
		case r := <-answer: // it came before the end
			return r, nil
		default:
		}
		return reply{}, fmt.Errorf("the bridge ended with code %d: %s", b.ProcessState.ExitCode(), tail(b.err.String()))
	case <-time.After(patience):
		return reply{}, fmt.Errorf("the bridge gave no answer within %s", patience)
	}
}

func tail(s string) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-300):]
}

// overBridge makes calls through a bridge.
func (g *group) overBridge(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		b, err := g.openBridge()
		if err != nil { // if nobody killed it, the next to open one says so
			wait(ctx, 5*time.Millisecond)
			continue
		}
		p := g.propose(rng, "bridge")
		params, _ := json.Marshal(map[string]any{"name": p.wire(), "arguments": p.args})
		r, err := b.ask("tools/call", params)
		told, text := toldByReply(r, err)
		if told == history.Silent && b.wasShot() {
			told = history.Gone
		}
		g.answered(p.op, told, text)
	}
}

// toldByReply is what a JSON-RPC answer tells. The words of a failed call begin with
// its kind; those of a JSON-RPC error say what became of the call.
func toldByReply(r reply, err error) (history.Told, string) {
	if err != nil {
		return history.Silent, err.Error()
	}
	if r.Error != nil {
		words := r.Error.Message + string(r.Error.Data)
		for _, doubt := range []string{"in doubt", "in_doubt", "may have", "may or may not"} {
			if strings.Contains(words, doubt) {
				return history.InDoubt, words
			}
		}
		return history.NotBegun, words
	}
	var text strings.Builder
	for _, c := range r.Result.Content {
		text.WriteString(c.Text)
	}
	if !r.Result.IsError {
		return history.Success, text.String()
	}
	return toldByWords(text.String()), text.String()
}

package mcpserver

import (
	"context"
	"math"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/journal"
	"callgate/tool"
)

// maxProgress bounds what one notification says.
const maxProgress = 1 << 10

// progress passes on what a call prints while it runs, to a client that wants
// it. A nil one passes nothing on.
type progress struct {
	session *sdk.ServerSession
	token   any
	out     <-chan journal.Output
	stop    context.CancelFunc
	last    float64 // it only ever grows
	told    bool    // something was told
}

// listen starts to listen, before the call starts. It is nil when the client
// did not ask for it.
func (g *client) listen(req *sdk.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	ctx, stop := context.WithCancel(g.ctx)
	return &progress{session: req.Session, token: token, out: g.host.kernel.Output.Subscribe(ctx), stop: stop}
}

func (p *progress) close() {
	if p != nil {
		p.stop()
	}
}

func (p *progress) output() <-chan journal.Output {
	if p == nil {
		return nil
	}
	return p.out
}

// tell passes on one piece of output, and what came in meanwhile. What servers
// count is told as they count it; of what is printed a client that reads slowly
// is told less often, and nobody waits.
func (p *progress) tell(ctx context.Context, f *pendingCall, first journal.Output) {
	var printed strings.Builder
	for out, more := first, true; more; {
		if f.has(out.Call) {
			line := string(out.Text)
			if at, total, rest, counted := counts(out.Stream, line); counted {
				p.tellPrinted(ctx, &printed)
				p.notify(ctx, p.counted(at), total, rest)
			} else {
				printed.WriteString(line)
			}
		}
		select {
		case out = <-p.out:
		default:
			more = false
		}
	}
	p.tellPrinted(ctx, &printed)
}

// tellPrinted tells what was printed, the last of it when it is much.
func (p *progress) tellPrinted(ctx context.Context, printed *strings.Builder) {
	if printed.Len() == 0 {
		return
	}
	words := strings.TrimSpace(printed.String())
	printed.Reset()
	if n := len(words); n > maxProgress { // the last of it is the news
		words = "…" + strings.ToValidUTF8(words[n-maxProgress:], "")
	}
	p.last, p.told = math.Floor(p.last)+1, true
	p.notify(ctx, p.last, 0, words)
}

// counted is where a server says that it is, which only ever grows.
func (p *progress) counted(at float64) float64 {
	if p.told && at <= p.last {
		at = math.Nextafter(p.last, math.Inf(1))
	}
	p.last, p.told = at, true
	return at
}

func (p *progress) notify(ctx context.Context, at, total float64, words string) {
	_ = p.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
		ProgressToken: p.token, Progress: at, Total: total, Message: strings.TrimSpace(words),
	}) // a client that has gone is told nothing
}

// counts reads a line of the stream on which servers tell how far they are:
// "3/10 words".
func counts(stream, line string) (at, total float64, rest string, ok bool) {
	if stream != "progress" {
		return 0, 0, line, false
	}
	number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	done, of, _ := strings.Cut(number, "/")
	at, err := strconv.ParseFloat(done, 64)
	if err != nil || math.IsNaN(at) || math.IsInf(at, 0) {
		return 0, 0, line, false
	}
	if total, err = strconv.ParseFloat(of, 64); err != nil || math.IsNaN(total) || math.IsInf(total, 0) {
		total = 0
	}
	return at, total, tool.TruncateTo(rest, maxProgress), true
}

// end passes on what was printed last, so that it comes before the answer.
func (p *progress) end(ctx context.Context, f *pendingCall) {
	if p == nil {
		return
	}
	select {
	case out := <-p.out:
		p.tell(ctx, f, out)
	default:
	}
}

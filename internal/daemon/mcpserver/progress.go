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

// mostProgress bounds what one notification says.
const mostProgress = 1 << 10

// progress passes on what a call prints while it runs, to a client that wants
// it. A nil one passes nothing on.
type progress struct {
	session *sdk.ServerSession
	token   any
	out     <-chan journal.Output
	stop    context.CancelFunc
	last    float64 // it only ever grows
}

// listen starts to listen, before the call starts. It is nil when the client
// did not ask for it.
func (g *guest) listen(req *sdk.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	ctx, stop := context.WithCancel(g.ctx)
	return &progress{session: req.Session, token: token, out: g.host.kernel.Live.Listen(ctx), stop: stop}
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

// tell passes on one piece of output, and what came in meanwhile: a client that
// reads slowly is told less often, and nobody waits.
func (p *progress) tell(ctx context.Context, f *flight, first journal.Output) {
	params := &sdk.ProgressNotificationParams{ProgressToken: p.token}
	said := p.take(f, first, params)
	for more := true; more; {
		select {
		case out := <-p.out:
			said = p.take(f, out, params) || said
		default:
			more = false
		}
	}
	if !said {
		return
	}
	params.Progress = p.last
	params.Message = strings.TrimSpace(params.Message)
	if n := len(params.Message); n > mostProgress { // the last of it is the news
		params.Message = "…" + strings.ToValidUTF8(params.Message[n-mostProgress:], "")
	}
	_ = p.session.NotifyProgress(ctx, params) // a client that has gone is told nothing
}

// take adds a piece of output to a notification, if it is of the flight.
func (p *progress) take(f *flight, out journal.Output, params *sdk.ProgressNotificationParams) bool {
	if !f.has(out.Call) {
		return false
	}
	line := string(out.Text)
	at, total, rest, counted := counts(out.Stream, line)
	switch {
	case counted && at > p.last:
		p.last = at
	case counted || params.Total > 0:
		p.last = math.Nextafter(p.last, math.Inf(1))
	default:
		p.last = math.Floor(p.last) + 1
	}
	if counted {
		params.Total, line = total, rest
	}
	params.Message += line
	return true
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
	return at, total, tool.ClipTo(rest, mostProgress), true
}

// end passes on what was printed last, so that it comes before the answer.
func (p *progress) end(ctx context.Context, f *flight) {
	if p == nil {
		return
	}
	select {
	case out := <-p.out:
		p.tell(ctx, f, out)
	default:
	}
}

package calls

import (
	"context"
	"math"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel/scripts"
	"callgate/internal/protocol"
	"callgate/tool"
)

// maxProgress bounds the message of one notification.
const maxProgress = 1 << 10

// progress passes the output of a running call on to a client that wants it. A
// nil one passes nothing on.
type progress struct {
	session *sdk.ServerSession
	token   any
	out     *outputbus.Listener
	stop    context.CancelFunc
	last    float64 // the protocol wants it to grow
	sent    bool    // something was sent
}

// listen subscribes to the output of calls. It must be called before the call
// starts. It returns nil if the client does not want progress.
func (c *Calls) listen(r *Request) *progress {
	if r.ProgressToken == nil {
		return nil
	}
	ctx, stop := context.WithCancel(c.ctx)
	return &progress{session: r.Session, token: r.ProgressToken, out: c.Kernel.Output.Subscribe(ctx), stop: stop}
}

func (p *progress) close() {
	if p != nil {
		p.stop()
	}
}

// ready returns a channel that receives a value when there is output to send.
func (p *progress) ready() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.out.Ready()
}

// send sends the output that waits. Each count of a server is one notification. Printed
// text is joined, so that a slow client gets fewer messages.
func (p *progress) send(ctx context.Context, call *pending) {
	if p == nil {
		return
	}
	var printed strings.Builder
	for _, out := range p.out.Take() {
		if !call.includes(out.Call) {
			continue
		}
		line := string(out.Text)
		if at, total, rest, counted := parseCount(out.Stream, line); counted {
			p.sendPrinted(ctx, &printed)
			p.notify(ctx, p.grow(at), total, rest)
		} else {
			printed.WriteString(protocol.Output(out).Display())
		}
	}
	p.sendPrinted(ctx, &printed)
}

// sendPrinted sends what was printed; of a long text, the end.
func (p *progress) sendPrinted(ctx context.Context, printed *strings.Builder) {
	if printed.Len() == 0 {
		return
	}
	text := strings.TrimSpace(printed.String())
	printed.Reset()
	if n := len(text); n > maxProgress {
		text = "…" + strings.ToValidUTF8(text[n-maxProgress:], "")
	}
	p.last, p.sent = math.Floor(p.last)+1, true
	p.notify(ctx, p.last, 0, text)
}

// grow returns a server's count, or a little more than the last one if it did
// not grow.
func (p *progress) grow(at float64) float64 {
	if p.sent && at <= p.last {
		at = math.Nextafter(p.last, math.Inf(1))
	}
	p.last, p.sent = at, true
	return at
}

func (p *progress) notify(ctx context.Context, at, total float64, text string) {
	_ = p.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
		ProgressToken: p.token, Progress: at, Total: total, Message: strings.TrimSpace(text),
	}) // the client may have left
}

// parseCount reads a line of the stream on which servers report progress, or scripts:
// "3/10 text".
func parseCount(stream, line string) (at, total float64, rest string, ok bool) {
	if stream != "progress" && stream != scripts.OutputStream {
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

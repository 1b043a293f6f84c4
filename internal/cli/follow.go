package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

type tailFlags struct {
	count  int
	follow bool
	live   bool
	after  uint64
}

// tail shows the newest records, and goes on with new ones when asked to.
//
// One that follows never is the kernel itself: it would keep a kernel that is
// being restarted from coming back. It reads what there is, lets go, and then
// watches the socket.
func (p *program) tail(ctx context.Context, t tailFlags) error {
	last := t.after
	err := p.with(ctx, false, func(k *kernel) error {
		q := protocol.JournalQuery{Newest: true, Limit: t.count}
		if t.after > 0 {
			q = protocol.JournalQuery{After: t.after}
		} else if t.count <= 0 {
			q.Limit = 1
		}
		for {
			records, err := k.Journal(ctx, q)
			if err != nil {
				return err
			}
			for _, r := range records {
				last = r.Seq
				if t.after == 0 && t.count <= 0 {
					break // only where to go on from
				}
				if err := p.record(r); err != nil {
					return err
				}
			}
			if q.Newest || len(records) < protocol.MaxRecords {
				return nil
			}
			q.After = last
		}
	})
	if err != nil || !t.follow {
		return err
	}
	return p.follow(ctx, last, t.live)
}

func (p *program) record(r protocol.Record) error {
	if p.json {
		return p.jsonLine(r)
	}
	return writeError(p.style(p.Stdout).Record(p.Stdout, r))
}

// event shows a record, or a piece of what a running call prints.
func (p *program) event(e protocol.Event) error {
	switch {
	case e.Record != nil:
		return p.record(*e.Record)
	case p.json:
		return p.jsonLine(e)
	}
	for line := range strings.Lines(string(e.Output.Text)) {
		if _, err := fmt.Fprintf(p.Stdout, "  %s %s | %s\n", e.Output.Call, e.Output.Stream, render.Safe(strings.TrimRight(line, "\r\n"))); err != nil {
			return writeError(err)
		}
	}
	return nil
}

// follow shows each record after last and, when live, what calls print, until
// ctx ends. When the stream breaks it comes back, and goes on after the last
// record that it showed.
func (p *program) follow(ctx context.Context, last uint64, live bool) error {
	dir, err := p.stateDir()
	if err != nil {
		return err
	}
	c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer c.Close()
	const patient = time.Second
	pause, told := 10*time.Millisecond, false
	for ctx.Err() == nil {
		for e, err := range c.Follow(ctx, last, live) {
			if err != nil {
				if kind := tool.KindOf(err); kind != tool.Unavailable && kind != tool.Cancelled {
					return err
				}
				break
			}
			if e.Record != nil && e.Record.Seq <= last {
				continue
			}
			if err := p.event(e); err != nil {
				return err
			}
			if pause, told = 10*time.Millisecond, false; e.Record != nil {
				last = e.Record.Seq
			}
		}
		if pause == patient && !told && !p.json {
			p.status("callgate: no kernel answers; waiting for one")
			told = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, patient)
	}
	return nil
}

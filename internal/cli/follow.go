package cli

import (
	"context"
	"time"

	"callgate/internal/client"
	"callgate/internal/journal"
	"callgate/tool"
)

type tailFlags struct {
	count  int
	follow bool
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
		q := journal.Query{Newest: true, Limit: t.count}
		if t.after > 0 {
			q = journal.Query{After: t.after}
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
			if q.Newest || len(records) < journal.MaxRows {
				return nil
			}
			q.After = last
		}
	})
	if err != nil || !t.follow {
		return err
	}
	return p.follow(ctx, last)
}

func (p *program) record(r journal.Record) error {
	if p.json {
		return p.jsonLine(r)
	}
	return written(p.style(p.Stdout).Record(p.Stdout, r))
}

// follow shows each record after last, until ctx ends. When the stream breaks
// it comes back, and goes on after the last record that it showed.
func (p *program) follow(ctx context.Context, last uint64) error {
	dir, err := p.stateDir()
	if err != nil {
		return err
	}
	c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer c.Close()
	const patient = time.Second
	pause, told := 10*time.Millisecond, false
	for ctx.Err() == nil {
		for r, err := range c.Follow(ctx, last) {
			if err != nil {
				if kind := tool.KindOf(err); kind != tool.Unavailable && kind != tool.Cancelled {
					return err
				}
				break
			}
			if r.Seq <= last {
				continue
			}
			if err := p.record(r); err != nil {
				return err
			}
			last, pause, told = r.Seq, 10*time.Millisecond, false
		}
		if pause == patient && !told && !p.json {
			p.say("callgate: no kernel answers; waiting for one")
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

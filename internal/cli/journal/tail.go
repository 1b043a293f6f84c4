package journal

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// tail is log tail.
//
// A command that follows the journal never runs a kernel while it waits: that
// would keep a kernel that is being restarted from coming back. It reads the
// records there are, closes its connection, and then watches the socket.
type tail struct {
	*command.Env
	count  int
	follow bool
	live   bool
	after  uint64
	since  string
	until  string
}

func newTail(e *command.Env) *cobra.Command {
	t := &tail{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "tail", Short: "Show the newest records",
		Example: "  callgate log tail -n 50\n  callgate log tail --since yesterday --until today\n" +
			"  callgate log tail -f\n  callgate log tail --after 120 --json",
		Args: cobra.NoArgs,
	}, t.run)
	c.Flags().IntVarP(&t.count, "lines", "n", 20, "print `N` records")
	c.Flags().BoolVarP(&t.follow, "follow", "f", false, "wait for new records, also after a restart of the kernel")
	c.Flags().BoolVar(&t.live, "live", false, "with -f: also print the output of running calls")
	c.Flags().Uint64Var(&t.after, "after", 0, "print all records after number `SEQ` instead")
	c.Flags().StringVar(&t.since, "since", "",
		"print all records from `TIME` on instead: yesterday, 12h, 7d, 2026-01-31T09:00")
	c.Flags().StringVar(&t.until, "until", "", "leave out records at `TIME` or later: today, 2h, 2026-01-31")
	c.MarkFlagsMutuallyExclusive("after", "since")
	c.MarkFlagsMutuallyExclusive("until", "follow")
	return c
}

func (t *tail) run(ctx context.Context, _ []string) error {
	last := t.after
	err := t.With(ctx, func(k *command.Kernel) (err error) {
		last, err = t.newest(ctx, k)
		return err
	})
	if err != nil || !t.follow {
		return err
	}
	return t.followFrom(ctx, last)
}

// newest shows the records that there are, and returns the number of the last.
func (t *tail) newest(ctx context.Context, k *command.Kernel) (last uint64, err error) {
	last = t.after
	since, until, err := t.within()
	if err != nil {
		return last, err
	}
	q := protocol.JournalQuery{Newest: true, Limit: t.count}
	switch {
	case !since.IsZero() || !until.IsZero():
		if last, err = firstSince(ctx, k, since); err != nil {
			return last, err
		}
		q = protocol.JournalQuery{After: last}
	case t.after > 0:
		q = protocol.JournalQuery{After: t.after}
	case t.count <= 0:
		q.Limit = 1
	}
	for {
		records, err := k.Journal(ctx, q)
		if err != nil {
			return last, err
		}
		for _, r := range records {
			if !until.IsZero() && !r.Time.Before(until) {
				return last, nil
			}
			last = r.Seq
			if q.Newest && t.count <= 0 {
				break // only where to go on from
			}
			if err := t.record(r); err != nil {
				return last, err
			}
		}
		if q.Newest || len(records) < protocol.MaxRecords {
			return last, nil
		}
		q.After = last
	}
}

func (t *tail) record(r protocol.Record) error {
	if t.JSON {
		return t.WriteJSONLine(r)
	}
	return command.WriteError(t.Style(t.Stdout).Record(t.Stdout, r))
}

// event shows a record, or a piece of what a running call prints.
func (t *tail) event(e protocol.Event) error {
	switch {
	case e.Record != nil:
		return t.record(*e.Record)
	case t.JSON:
		return t.WriteJSONLine(e)
	}
	for line := range strings.Lines(e.Output.Display()) {
		text := text.Safe(strings.TrimRight(line, "\r\n"))
		if _, err := fmt.Fprintf(t.Stdout, "  %s %s | %s\n", e.Output.Call, e.Output.Stream, text); err != nil {
			return command.WriteError(err)
		}
	}
	return nil
}

// The pauses before the stream of records is opened again.
const (
	minPause = 10 * time.Millisecond
	maxPause = time.Second
)

// followFrom shows each record after last and, with --live, what calls print,
// until ctx ends. A broken stream is opened again after the last record that was
// shown.
func (t *tail) followFrom(ctx context.Context, last uint64) error {
	dir, err := t.StateDir()
	if err != nil {
		return err
	}
	c := client.New(client.Options{
		Dial: client.UnixAt(dir.Socket), Kernel: command.KernelProcess(dir),
		Say: func(text string) { t.Status("callgate: %s", text) },
	})
	defer c.Close()
	pause, reported := minPause, false
	for ctx.Err() == nil {
		for e, err := range c.Follow(ctx, last, t.live) {
			if err != nil {
				if kind := tool.KindOf(err); kind != tool.Unavailable && kind != tool.Cancelled {
					return err
				}
				break
			}
			if e.Record != nil && e.Record.Seq <= last {
				continue
			}
			if err := t.event(e); err != nil {
				return err
			}
			if pause, reported = minPause, false; e.Record != nil {
				last = e.Record.Seq
			}
		}
		if pause == maxPause && !reported && !t.JSON {
			t.Status("callgate: no kernel answers; waiting for one")
			reported = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
	return nil
}

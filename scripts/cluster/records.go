//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/scripts/cluster/judge"
	"callgate/scripts/cluster/world"
)

// records reads the journals of all nodes, and has each node verify all of them. Nothing is hindered any more; a node
// that the last fault had end by itself is started again.
func (c *cluster) records(ctx context.Context) (*judge.Records, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	found := &judge.Records{Begun: map[string]bool{}, Ended: map[string][]judge.Ended{}}
	for _, n := range c.nodes {
		if err := c.keepReady(ctx, n); err != nil {
			return nil, err
		}
	}
	for _, n := range c.nodes {
		kernel := client.New(client.Options{Dial: client.UnixAt(statedir.Dir(n.State()).Socket)})
		defer kernel.Close()
		if err := errors.Join(readJournal(ctx, kernel, found), verify(ctx, kernel, n, found)); err != nil {
			return nil, fmt.Errorf("the journal of %s: %w", n.Name, err)
		}
	}
	return found, nil
}

// keepReady waits until a node serves, and starts it as often as it ends before.
func (c *cluster) keepReady(ctx context.Context, n *world.Node) error {
	for {
		if n.Ended() {
			if err := n.Start(); err != nil {
				return err
			}
		}
		err := n.WaitReady(ctx, c.certs.Client(time.Second))
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func readJournal(ctx context.Context, kernel *client.Client, into *judge.Records) error {
	for after := uint64(0); ; {
		page, err := kernel.Journal(ctx, protocol.JournalQuery{After: after, Limit: protocol.MaxRecords})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			switch r.Kind {
			case protocol.RecordKindBegun:
				into.Begun[r.Call] = true
			case protocol.RecordKindEnded:
				into.Ended[r.Call] = append(into.Ended[r.Call], judge.Ended(r.End.Status))
			}
		}
		after = page[len(page)-1].Seq
	}
}

// verify has a node verify its own journal, and those of the others.
func verify(ctx context.Context, kernel *client.Client, n *world.Node, into *judge.Records) error {
	report, err := client.VerifyNodes(ctx, kernel)
	if err != nil {
		return err
	}
	into.Verified += report.Records
	for _, p := range report.Problems {
		into.Problems = append(into.Problems, fmt.Sprintf("%s verifies its own: record %d: %s", n.Name, p.Seq, p.What))
	}
	for _, other := range report.Nodes {
		for _, p := range other.Report.Problems {
			into.Problems = append(into.Problems, fmt.Sprintf("%s verifies that of %s: record %d: %s", n.Name, other.Name,
				p.Seq, p.What))
		}
	}
	return nil
}

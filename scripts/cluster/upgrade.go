//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"callgate/scripts/cluster/drive"
	"callgate/scripts/cluster/judge"
	"callgate/scripts/cluster/world"
)

// upgrade replaces the program of each node in turn, while clients call, and fails for one call that went wrong.
func upgrade(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("upgrade", flag.ContinueOnError)
	before := f.String("before", "", "the program of this harness before the upgrade")
	rounds := f.Int("rounds", 2, "how often all nodes are replaced")
	clients := f.Int("clients", 8, "how many clients call at once")
	if err := f.Parse(args); err != nil {
		return err
	}
	now, err := os.Executable()
	if err != nil {
		return err
	}
	if *before == "" {
		return errors.New("say which program was there --before: build scripts/cluster of an earlier commit")
	}
	c, err := newCluster(ctx, 3, *before)
	if err != nil {
		return err
	}
	calling, stop := context.WithCancel(ctx)
	defer stop()
	all := &drive.Clients{
		Nodes: c.nodes, Token: c.token, Run: strconv.FormatInt(time.Now().UnixNano(), 36), Accounts: 8,
		Work: 20 * time.Millisecond, Patience: time.Minute, Client: c.certs.Client(time.Minute),
	}
	var ended sync.WaitGroup
	for i := range *clients {
		ended.Go(func() { all.Call(calling, i, 1) })
	}
	began := time.Now()
	for round := range *rounds {
		program := now
		if round%2 == 1 {
			program = *before // and back: two versions side by side, in either direction
		}
		for _, n := range c.nodes {
			if err := c.replace(ctx, n, program); err != nil {
				return errors.Join(err, c.close(true))
			}
			fmt.Printf("%6.1fs %s is replaced\n", time.Since(began).Seconds(), n.Name)
		}
	}
	stop()
	ended.Wait()
	outcomes := all.Outcomes()
	r := judge.Judge(outcomes, c.ledger.Writes())
	for _, o := range outcomes {
		if o.Verdict != judge.Done {
			r.Violations = append(r.Violations, fmt.Sprintf("%s: %s after %d tries: %s", o.Key, o.Verdict, o.Tries, o.Last))
		}
	}
	return c.tell(r, nil, time.Since(began), outcomes)
}

// replace drains a node, ends it, and starts it with another program.
func (c *cluster) replace(ctx context.Context, n *world.Node, program string) error {
	drain := exec.CommandContext(ctx, n.Program, "drain", "--timeout", "30s")
	drain.Env, drain.Dir = n.Env(), n.Workspace()
	if out, err := drain.CombinedOutput(); err != nil {
		return fmt.Errorf("drain of %s: %w: %s", n.Name, err, out)
	}
	n.Stop()
	n.Program = program
	if err := n.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return n.WaitReady(ctx, c.certs.Client(time.Second))
}

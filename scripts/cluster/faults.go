//go:build linux

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"callgate/scripts/cluster/drive"
	"callgate/scripts/cluster/judge"
	"callgate/scripts/cluster/world"
)

// faults hinders a cluster while clients call it, and judges.
func faults(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	number := f.Int("faults", 1000, "how many faults")
	minutes := f.Int("minutes", 60, "the most minutes that it may take")
	clients := f.Int("clients", 12, "how many clients call at once")
	nodes := f.Int("nodes", 3, "how many nodes")
	lease := f.Duration("lease", 5*time.Second, "of a node")
	seed := f.Uint64("seed", uint64(time.Now().UnixNano()), "of what is chosen")
	skew := f.Bool("skew", true, "also set clocks wrong, for which the program is built anew")
	quiet := f.Bool("quiet", false, "do not tell each fault")
	if err := f.Parse(args); err != nil {
		return err
	}
	program, remove, err := nodeProgram(*skew)
	if err != nil {
		return err
	}
	defer remove()
	c, err := newCluster(ctx, *nodes, program, "CALLGATE_LEASE="+lease.String())
	if err != nil {
		return err
	}
	fmt.Printf("seed %d, %d nodes, %d clients, lease %v\n", *seed, *nodes, *clients, *lease)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(*minutes)*time.Minute)
	defer cancel()
	calling, stop := context.WithCancel(ctx)
	all := &drive.Clients{
		Nodes: c.nodes, Token: c.token, Run: fmt.Sprint(*seed), Accounts: 8, Work: 30 * time.Millisecond,
		Patience: 3 * time.Minute, Client: c.certs.Client(40 * time.Second),
	}
	var ended sync.WaitGroup
	for i := range *clients {
		ended.Go(func() { all.Call(calling, i, *seed) })
	}
	began := time.Now()
	hinder := &drive.Faults{
		Network: c.network, Server: c.server, DB: c.db, Nodes: c.nodes, Lease: *lease, Skewed: *skew,
		Note: func(text string) {
			if !*quiet {
				fmt.Printf("%8.1fs %s\n", time.Since(began).Seconds(), text)
			}
		},
	}
	keeping := make(chan struct{})
	go hinder.KeepAll(calling, keeping)
	counts := hinder.Run(ctx, *number, *seed)
	stop()
	<-keeping
	for _, n := range c.nodes {
		hinder.Keep(n)
	}
	ended.Wait()
	took := time.Since(began)
	return c.tell(c.judge(context.WithoutCancel(ctx), all, hinder), counts, took, all.Outcomes())
}

// judge holds what clients were told against what happened, and against what the journals say.
func (c *cluster) judge(ctx context.Context, all *drive.Clients, hinder *drive.Faults) judge.Report {
	report := judge.Judge(all.Outcomes(), c.ledger.Writes())
	for _, failed := range hinder.Failed() {
		report.Violations = append(report.Violations, "the harness could not "+failed)
	}
	records, err := c.records(ctx)
	if err != nil {
		report.Violations = append(report.Violations, err.Error())
		return report
	}
	report.AddRecords(records, all.Outcomes(), c.ledger.Writes())
	return report
}

// nodeProgram is what nodes run: this program, or one whose clock can be set wrong.
func nodeProgram(skew bool) (program string, remove func(), err error) {
	if !skew {
		program, err = os.Executable()
		return program, func() {}, err
	}
	scratch, err := os.MkdirTemp("", "cluster-program")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(scratch) }
	if program, err = world.BuildSkewed(scratch, "./scripts/cluster"); err != nil {
		remove()
	}
	return program, remove, err
}

// tell prints what was found; violations are an error.
func (c *cluster) tell(r judge.Report, counts map[string]int, took time.Duration, outcomes []judge.Outcome) error {
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("%6d  %s\n", counts[kind], kind)
	}
	var waits []time.Duration
	for _, o := range outcomes {
		waits = append(waits, o.Answered.Sub(o.Sent))
	}
	slices.Sort(waits)
	fmt.Printf("%d calls in %v: %d done, %d refused, %d in doubt, %d without an answer (of the last two %d had "+
		"happened); %d writes came after their fence and were refused\n", len(outcomes), took.Round(time.Second),
		r.Done, r.NotDone, r.InDoubt, r.NoAnswer, r.DoubtDone, r.Refused)
	if r.Verified > 0 {
		fmt.Printf("%d records of all journals were verified\n", r.Verified)
	}
	if n := len(waits); n > 0 {
		fmt.Printf("until the answer: median %v, 99 %% %v, longest %v\n", waits[n/2], waits[n*99/100], waits[n-1])
	}
	if len(r.Violations) == 0 {
		fmt.Println("no violation")
		return c.close(false)
	}
	for _, v := range r.Violations[:min(20, len(r.Violations))] {
		fmt.Println("VIOLATION:", v)
	}
	for name, what := range map[string]any{"outcomes.json": outcomes, "writes.json": c.ledger.Writes()} {
		if text, err := json.MarshalIndent(what, "", " "); err == nil {
			_ = os.WriteFile(filepath.Join(c.folder, name), text, 0o600)
		}
	}
	_ = c.close(true)
	return fmt.Errorf("%d violations", len(r.Violations))
}

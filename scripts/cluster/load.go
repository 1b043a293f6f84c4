//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"callgate/scripts/cluster/drive"
	"callgate/scripts/cluster/judge"
)

// load measures clusters of one node and more.
func load(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	seconds := f.Int("seconds", 15, "how long each is measured")
	clients := f.Int("clients", 16, "how many clients call at once")
	most := f.Int("nodes", 3, "how many nodes at most")
	shared := f.Int("accounts", 0, "how many accounts the clients share; 0: each has its own")
	if err := f.Parse(args); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Println("nodes  calls/s  median  99 %  processor time of a call: nodes, PostgreSQL")
	for n := 1; n <= *most; n++ {
		if err := loadOne(ctx, program, n, *clients, *shared, time.Duration(*seconds)*time.Second); err != nil {
			return err
		}
	}
	return nil
}

func loadOne(ctx context.Context, program string, nodes, clients, shared int, d time.Duration) error {
	c, err := newCluster(ctx, nodes, program)
	if err != nil {
		return err
	}
	before := c.processorTime()
	outcomes := c.call(ctx, clients, shared, d)
	after := c.processorTime()
	var waits []time.Duration
	for _, o := range outcomes {
		waits = append(waits, o.Answered.Sub(o.Sent))
	}
	slices.Sort(waits)
	r := judge.Judge(outcomes, c.ledger.Writes())
	if r.Done != len(outcomes) || len(r.Violations) > 0 || r.Done == 0 {
		_ = c.close(true)
		return fmt.Errorf("of %d calls %d were done; %q", len(outcomes), r.Done, r.Violations)
	}
	n := len(waits)
	fmt.Printf("%5d  %7.0f  %6.1f  %4.1f ms  %.2f ms, %.2f ms\n", nodes, float64(n)/d.Seconds(),
		float64(waits[n/2].Microseconds())/1000, float64(waits[n*99/100].Microseconds())/1000,
		(after.nodes-before.nodes)*1000/float64(n), (after.database-before.database)*1000/float64(n))
	return c.close(false)
}

// call has clients call for a while.
func (c *cluster) call(ctx context.Context, clients, accounts int, d time.Duration) []judge.Outcome {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	all := &drive.Clients{
		Nodes: c.nodes, Token: c.token, Run: strconv.FormatInt(time.Now().UnixNano(), 36), Accounts: accounts,
		Patience: time.Minute, Client: c.certs.Client(time.Minute),
	}
	var ended sync.WaitGroup
	for i := range clients {
		ended.Go(func() { all.Call(ctx, i, 1) })
	}
	ended.Wait()
	return all.Outcomes()
}

// used is processor time in seconds.
type used struct{ nodes, database float64 }

func (c *cluster) processorTime() (u used) {
	for _, n := range c.nodes {
		u.nodes += secondsOf(n.PID())
	}
	out, _ := exec.Command("pgrep", "-P", strconv.Itoa(c.db.PID())).Output() // none: nothing is counted
	for _, pid := range append(strings.Fields(string(out)), strconv.Itoa(c.db.PID())) {
		number, _ := strconv.Atoi(pid)
		u.database += secondsOf(number)
	}
	return u
}

// secondsOf is the processor time of a process; 0 if it has ended.
func secondsOf(pid int) float64 {
	const perSecond = 100 // of the clock that /proc counts in
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / perSecond
}

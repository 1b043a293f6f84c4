// Program clustersim says by simulation how far one database carries many nodes, for docs/guides/sizing.md. What a call
// and a heartbeat cost is measured elsewhere, and given by flags.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clustersim:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	m := Model{HeartbeatEvery: lease / 5}
	f := flag.NewFlagSet("clustersim", flag.ContinueOnError)
	nodes := f.String("nodes", "1,10,100,300,1000,3000", "how many nodes, each with a line of its own")
	f.IntVar(&m.Cores, "cores", 16, "of the database's machine")
	f.Float64Var(&m.CallsPerNode, "calls", 5, "of each node, a second")
	f.DurationVar(&m.Call, "call", 2200*time.Microsecond, "processor time of the database for a call")
	f.DurationVar(&m.Heartbeat, "heartbeat", 170*time.Microsecond, "for a heartbeat")
	f.DurationVar(&m.List, "list", 115*time.Microsecond, "for an empty list of nodes")
	f.DurationVar(&m.ListRow, "row", 6300*time.Nanosecond, "for each node in the list")
	f.DurationVar(&m.ListEvery, "list-every", time.Second, "how often a node that forwards reads the list; 0: none does")
	f.IntVar(&m.Connections, "connections", 12, "of each node")
	seconds := f.Int("seconds", 60, "how long the simulation lasts")
	if err := f.Parse(args); err != nil {
		return err
	}
	fmt.Fprintln(w, "nodes  connections  calls/s  done/s  cores busy  of that nodes  heartbeat 99 %  missed")
	for word := range strings.SplitSeq(*nodes, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || m.Cores < 1 {
			return fmt.Errorf("%q nodes on %d cores: write numbers from 1 on", word, m.Cores)
		}
		m.Nodes = n
		r := Simulate(m, time.Duration(*seconds)*time.Second, 1)
		fmt.Fprintf(w, "%5d  %11d  %7.0f  %6.0f  %8.0f %%  %11.1f %%  %14s  %6d\n", n, r.Connections, r.Calls,
			r.Done, 100*r.Use, 100*r.Nodes, r.Wait.Round(10*time.Microsecond), r.Missed)
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// run is one run of the program.
type run struct {
	config  config
	env     []string // of every command
	missing []string // packages that could not be installed
	pkgs    packages
	close   func()

	mu sync.Mutex // one writer at a time on the standard output
}

func newRun(ctx context.Context, c config) (*run, error) {
	r := &run{config: c, missing: missingPackages(), close: func() {}}
	bin, err := filepath.Abs("bin")
	if err != nil {
		return nil, err
	}
	r.env = []string{"CGO_ENABLED=0", "CALLGATE_BIN=" + filepath.Join(bin, "callgate"), "CALLGATE_BUILT=" + bin}
	if r.pkgs, err = listPackages(ctx, "."); err != nil {
		return nil, err
	}
	return r, r.startPostgres()
}

// say prints to the standard output, whole.
func (r *run) say(format string, args ...any) { fmt.Fprintf(r, format, args...) }

// Write writes to the standard output, after what others write.
func (r *run) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return os.Stdout.Write(p)
}

// printSlowest names the packages and tests that took longest, which is where a
// run can be made shorter. A test that runs beside others may only have waited.
func printSlowest(w io.Writer, results []result) {
	for _, kind := range []string{"packages", "tests"} {
		var list []took
		for _, res := range results {
			for _, t := range res.times {
				if strings.Contains(t.name, " ") == (kind == "tests") && t.seconds >= 5 {
					list = append(list, took{t.name + " (" + res.name + ")", t.seconds})
				}
			}
		}
		if len(list) == 0 {
			return
		}
		slices.SortStableFunc(list, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
		fmt.Fprintf(w, "\nslowest %s\n", kind)
		for _, t := range list[:min(12, len(list))] {
			fmt.Fprintf(w, "%6.0f s  %s\n", t.seconds, t.name)
		}
	}
}

var errStages = errors.New("not every stage passed")

// report prints the table of stages, the skipped tests, and a line with the
// totals. It returns an error if a stage failed.
func (r *run) report(w io.Writer, results []result, wall time.Duration) error {
	var (
		total  result
		failed []error
	)
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "stage\twall time\tCPU time\ttests\tskipped\t")
	row := func(res result, how string) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t %s\n", res.name, seconds(res.wall), seconds(res.cpu),
			res.counts.passed+res.counts.failed, res.counts.skipped, how)
	}
	for _, res := range results {
		how := ""
		if res.err != nil {
			how = "FAILED"
			failed = append(failed, fmt.Errorf("%s: %w (%s)", res.name, res.err, filepath.Join(logs, res.name+".log")))
		}
		row(res, how)
		total.cpu += res.cpu
		total.counts.add(res.counts)
		total.skips = append(total.skips, res.skips...)
	}
	total.name, total.wall = "all", wall
	row(total, "")
	if err := table.Flush(); err != nil {
		return err
	}
	printSlowest(w, results)
	if err := r.reportSkips(w, total.skips); err != nil && r.config.only == "" {
		failed = append(failed, err)
	}
	for _, err := range failed {
		fmt.Fprintf(w, "\nFAILED %v\n", err)
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", total.counts.passed, total.counts.failed, total.counts.skipped)
	if len(failed) > 0 {
		return errStages
	}
	return nil
}

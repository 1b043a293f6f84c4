// Command check runs the stages of `make test` and `make race` and reports how
// each ended, how long it took and which tests were skipped. scripts/test.sh
// starts it after it has installed what the tests need.
//
//	check test    what continuous integration runs
//	check race    every Go test, with the race detector and without -short
//
// Packages in raceList run with the race detector in both. The other packages
// run without it in `make test`, which is two to five times as fast. The output
// of every stage is kept in .scratch/check/.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var c config
	flag.IntVar(&c.count, "count", 0, "run each Go test this many times, and ignore cached results (0: use them)")
	flag.IntVar(&c.parallel, "p", 0, "how many packages to test at a time (0: what the go command chooses)")
	flag.StringVar(&c.only, "only", "", "run only the stages with these names, separated by commas")
	flag.Usage = usage
	flag.Parse()
	stages, ok := map[string]func(*run) []stage{"test": testStages, "race": raceStages}[flag.Arg(0)]
	if flag.NArg() != 1 || !ok {
		usage()
		os.Exit(2)
	}
	c.short = flag.Arg(0) == "test"
	if err := check(c, stages); err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./scripts/check [flags] test|race")
	flag.PrintDefaults()
}

// config is what the command line chooses.
type config struct {
	short    bool
	count    int
	parallel int
	only     string
}

// logs is the folder that keeps the output of the stages of the latest run.
const logs = ".scratch/check"

func makeLogs() error { return os.MkdirAll(logs, 0o755) }

// check runs the stages in the current folder, which is the module's root.
func check(c config, stages func(*run) []stage) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := makeLogs(); err != nil {
		return err
	}
	unlock, err := lockFolder(filepath.Join(logs, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	r, err := newRun(ctx, c)
	if err != nil {
		return err
	}
	defer r.close()
	began := time.Now()
	chosen, err := choose(stages(r), c.only)
	if err != nil {
		return err
	}
	results := runStages(ctx, r, chosen)
	return r.report(os.Stdout, results, time.Since(began))
}

// choose returns the stages with these names, or all of them.
func choose(all []stage, names string) ([]stage, error) {
	if names == "" {
		return all, nil
	}
	var chosen []stage
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(s stage) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no stage %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// lockFolder waits until no other run uses this checkout: runs share bin/ and
// the database server of the tests.
func lockFolder(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		fmt.Println("check: another run uses this folder; waiting for it to end")
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			return nil, err
		}
	}
	return func() { _ = f.Close() }, nil
}

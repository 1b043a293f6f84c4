//go:build linux

// Soak drives real processes of the built program, kills and hinders them at random,
// and judges what clients were told against what really happened. It exits with 1 and
// keeps its folder when it finds a violation. Packages drive and history say what is
// done and what must hold.
//
//	soak --binary bin/callgate --kills 2000 --minutes 30 [--seed N]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"callgate/scripts/soak/child"
	"callgate/scripts/soak/drive"
)

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	if len(args) == 3 && args[0] == "server" {
		return (&child.Server{Folder: args[1], Ledger: args[2]}).Run(os.Stdin, os.Stdout)
	}
	if len(args) == 3 && args[0] == "model" {
		return model(args[1], args[2])
	}
	return soak(args)
}

func model(address, heard string) error {
	log, err := os.OpenFile(heard, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return http.Serve(l, &child.Model{Log: log})
}

func soak(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := drive.Config{Self: self, Out: os.Stdout}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.StringVar(&c.Binary, "binary", "bin/callgate", "the program to drive")
	flags.StringVar(&c.Person, "person", "bin/person", "what plays a person at a terminal: scripts/person, built")
	flags.StringVar(&c.Folder, "folder", "", "where the run keeps everything (default a new one)")
	flags.StringVar(&c.NPM, "npm", ".scratch/npm", "where the servers of npm are, if they are")
	flags.Uint64Var(&c.Seed, "seed", rand.Uint64N(1_000_000), "repeats the plan of a run")
	flags.IntVar(&c.Groups, "groups", 4, "how many kernels at a time")
	flags.IntVar(&c.Kills, "kills", 2000, "end after so many kills")
	flags.IntVar(&c.Show, "show", 3, "how many violations of each kind to show")
	minutes := flags.Float64("minutes", 30, "end after this time")
	plan := flags.Bool("plan", false, "only print the plan")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c.Limit = time.Duration(*minutes * float64(time.Minute))
	if *plan {
		drive.PrintPlan(os.Stdout, c, 20)
		return nil
	}
	return drives(c)
}

func drives(c drive.Config) error {
	var err error
	for _, path := range []*string{&c.Binary, &c.Person, &c.NPM} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if c.Folder == "" {
		if c.Folder, err = os.MkdirTemp("", "callgate-soak-"); err != nil {
			return err
		}
	}
	fmt.Printf("soak: seed %d, folder %s\n", c.Seed, c.Folder)
	drive.PrintPlan(os.Stdout, c, 3)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report, err := drive.Run(ctx, c)
	report.Print(io.Writer(os.Stdout), c.Show)
	if err != nil {
		return err
	}
	if n := len(report.Violations); n > 0 {
		return fmt.Errorf("%d violations; repeat with --seed %d; everything is in %s", n, c.Seed, c.Folder)
	}
	return os.RemoveAll(c.Folder)
}

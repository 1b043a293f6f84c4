//go:build linux

// Cluster runs several kernels on one PostgreSQL, each in a network namespace of its own, as real processes: it hinders
// them and judges what clients were told against what really happened, measures them, or upgrades them under load. It
// needs root, and keeps its folder when something is wrong.
//
//	cluster faults --faults 1000 --minutes 40 [--seed N]
//	cluster load --seconds 20
//	cluster upgrade --before OLD-PROGRAM
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"callgate/internal/cli"
	"callgate/scripts/cluster/effects"
)

func main() {
	if len(os.Args) > 1 && os.Getenv(effects.ServerVariable) != "" {
		os.Exit(node(os.Args[1:])) // this process is a node, or a command at one
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// node is Callgate's own command line, with the tool that changes accounts.
func node(args []string) int {
	add, err := effects.Tool()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cli.Main(args, add)
}

func start(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "faults":
			return faults(ctx, args[1:])
		case "load":
			return load(ctx, args[1:])
		case "upgrade":
			return upgrade(ctx, args[1:])
		}
	}
	return errors.New("say faults, load or upgrade; see the head of main.go")
}

package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/version"
	"callgate/tool"
)

// upInfo is what up says with --json, in one line.
type upInfo struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
	State   string `json:"state"`
	Socket  string `json:"socket"`
}

func (p *program) upCommand() *cobra.Command {
	var attached bool
	var idle time.Duration
	c := p.leaf("up", "Run a kernel until a signal ends it",
		"  callgate up\n  callgate up --state /var/lib/callgate", cobra.NoArgs,
		func(ctx context.Context, _ []string) error { return p.up(ctx, attached, idle) })
	c.Long = `Run a kernel in the foreground. Every other command of this user is then its
client, so that all of them share one set of locks, approvals and records.

The first SIGINT or SIGTERM ends it once the calls that run have finished; a
second one ends it at once.`
	c.Flags().BoolVar(&attached, "attached", false, "end when standard input ends")
	c.Flags().DurationVar(&idle, "background", 0, "for its clients: it ends when nobody needed it for so long")
	_ = c.Flags().MarkHidden("attached")
	return c
}

func (p *program) downCommand() *cobra.Command {
	return p.leaf("down", "End the kernel in the background, once the calls that run have finished", "", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		dir, err := p.stateDir()
		if err != nil {
			return err
		}
		c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
		defer c.Close()
		switch status, err := c.Status(ctx); {
		case tool.KindOf(err) == tool.Unavailable:
			p.status("no kernel runs")
			return nil
		case err != nil && !status.Background:
			return err
		}
		if err := c.Stop(ctx); err != nil {
			return err
		}
		p.status("the kernel ends")
		return nil
	})
}

func (p *program) up(ctx context.Context, attached bool, idle time.Duration) error {
	dir, err := p.stateDir()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	start := daemon.Start
	if idle > 0 {
		start = daemon.StartBackground
	}
	d, err := start(ctx, daemon.Config{State: dir.String(), Tools: p.Tools, Log: log})
	if err != nil {
		return err
	}
	if attached {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		go func() {
			_, _ = io.Copy(io.Discard, p.Stdin)
			stop()
		}()
	}
	me := client.New(client.Options{Dial: d.Dial})
	if err := p.announce(ctx, upInfo{version.Version, os.Getpid(), dir.String(), d.Socket}, me); err != nil {
		_ = d.Stop()
		return err
	}
	err = d.WaitIdle(ctx, idle)
	if err == nil && !p.json {
		p.status("\n%s", waitMessage(me))
	}
	me.Close()
	if stopped := d.Stop(); err == nil {
		err = stopped
	}
	return err
}

// announce says where the kernel is, and what is wrong with its sources.
func (p *program) announce(ctx context.Context, at upInfo, me *client.Client) error {
	if p.json {
		return p.jsonLine(at)
	}
	s := p.style(p.Stdout)
	_, err := fmt.Fprintf(p.Stdout, "%s %s, process %d\n  state   %s\n  socket  %s\n%s\n",
		s.Strong("callgate"), at.Version, at.PID, at.State, at.Socket, s.Faint("Ctrl-C ends it."))
	if err != nil {
		return writeError(err)
	}
	status, err := me.Status(ctx)
	if err != nil {
		return err
	}
	for _, problem := range status.Problems {
		p.status("callgate: %s", problem)
	}
	return nil
}

// waitMessage says what the end waits for.
func waitMessage(me *client.Client) string {
	status, _ := me.Status(context.Background()) // one that cannot be asked any more has nothing to finish
	switch status.Calls {
	case 0:
		return "stopping…"
	case 1:
		return "finishing 1 call… (a second signal ends it at once)"
	default:
		return fmt.Sprintf("finishing %d calls… (a second signal ends them at once)", status.Calls)
	}
}

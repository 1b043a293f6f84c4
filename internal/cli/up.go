package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/client"
	"callgate/internal/daemon"
)

// serving is what up says with --json, in one line.
type serving struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
	State   string `json:"state"`
	Socket  string `json:"socket"`
}

func (p *program) upCommand() *cobra.Command {
	var attached bool
	c := p.leaf("up", "Run a kernel until a signal ends it",
		"  callgate up\n  callgate up --state /var/lib/callgate", cobra.NoArgs,
		func(ctx context.Context, _ []string) error { return p.up(ctx, attached) })
	c.Long = `Run a kernel in the foreground. Every other command of this user is then its
client, so that all of them share one set of locks, approvals and records.

The first SIGINT or SIGTERM ends it once the calls that run have finished; a
second one ends it at once.`
	c.Flags().BoolVar(&attached, "attached", false, "end when standard input ends")
	_ = c.Flags().MarkHidden("attached")
	return c
}

func (p *program) up(ctx context.Context, attached bool) error {
	dir, err := p.stateDir()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	d, err := daemon.Start(ctx, daemon.Config{State: dir.String(), Tools: p.Tools, Log: log})
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
	if err := p.announce(ctx, serving{daemon.Version, os.Getpid(), dir.String(), d.Socket}, me); err != nil {
		_ = d.Stop()
		return err
	}
	err = d.Wait(ctx)
	if err == nil && !p.json {
		p.say("\n%s", farewell(me))
	}
	me.Close()
	if stopped := d.Stop(); err == nil {
		err = stopped
	}
	return err
}

// announce says where the kernel is, and what is wrong with its sources.
func (p *program) announce(ctx context.Context, at serving, me *client.Client) error {
	if p.json {
		return p.jsonLine(at)
	}
	s := p.style(p.Stdout)
	_, err := fmt.Fprintf(p.Stdout, "%s %s, process %d\n  state   %s\n  socket  %s\n%s\n",
		s.Strong("callgate"), at.Version, at.PID, at.State, at.Socket, s.Faint("Ctrl-C ends it."))
	if err != nil {
		return written(err)
	}
	status, err := me.Status(ctx)
	if err != nil {
		return err
	}
	for _, problem := range status.Problems {
		p.say("callgate: %s", problem)
	}
	return nil
}

// farewell says what the end waits for.
func farewell(me *client.Client) string {
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

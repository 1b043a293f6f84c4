// Package top has the command that shows what the kernel does, live.
package top

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol/activity"
	screen "callgate/internal/tui/top"
	"callgate/tool"
)

// top is top.
type top struct {
	*command.Env
	once  bool
	every time.Duration
}

// Commands returns the command top.
func Commands(e *command.Env) []*cobra.Command {
	t := &top{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "top", Short: "Show what the kernel does, live",
		Long: `Show what the running kernel does: calls under way and what they wait for, what waits
for a human, calls a second, how often tools were called and how long they took, what
models were asked, tokens and spend, the servers' health. Counts are since the kernel
started. q leaves.`,
		Example: "  callgate top\n  callgate top --once\n  callgate top --json | jq .calls", Args: cobra.NoArgs,
	}, t.run)
	c.Flags().BoolVar(&t.once, "once", false, "print one picture, and end; with --json as JSON")
	c.Flags().DurationVar(&t.every, "every", time.Second, "the `TIME` between two pictures")
	return []*cobra.Command{c}
}

func (t *top) run(ctx context.Context, _ []string) error {
	if t.every < 100*time.Millisecond {
		return tool.Errorf("cli.top", tool.Invalid, "--every %v is too short", t.every).WithHint("write 100ms or more")
	}
	dir, err := t.StateDir()
	if err != nil {
		return err
	}
	// It never runs a kernel: that would have nothing to show, and keep another from starting.
	c := client.New(client.Options{Dial: client.UnixAt(dir.Socket), Kernel: command.KernelProcess(dir)})
	defer c.Close()
	fetch := func(ctx context.Context) (activity.Activity, error) {
		a, err := client.Activity(ctx, c)
		if tool.KindOf(err) == tool.Unavailable {
			return a, tool.Errorf("cli.top", tool.Unavailable, "no kernel is running").WithHint("start one with callgate up")
		}
		return a, err
	}
	_, terminal := command.Terminal(t.Stdout)
	if !t.once && !t.JSON && terminal {
		return screen.Run(ctx, screen.Options{
			Fetch: fetch, Every: t.every, In: t.Stdin, Out: t.Stdout, Environment: os.Environ(),
			NoColor: !t.Style(t.Stdout).Color,
		})
	}
	a, err := fetch(ctx)
	if err != nil {
		return err
	}
	if t.JSON {
		return t.WriteJSON(a)
	}
	style := t.Style(t.Stdout)
	for _, line := range screen.Render(a, nil, 120, 0) {
		if !style.Color {
			line = screen.Plain(line)
		}
		if _, err := fmt.Fprintln(t.Stdout, strings.TrimRight(line, " ")); err != nil {
			return command.WriteError(err)
		}
	}
	return nil
}

package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/tool"
)

// readyTime bounds how long a kernel may take to say that it is ready: whoever asks, asks again.
const readyTime = 5 * time.Second

// ready is ready.
type ready struct{ *command.Env }

func newReady(e *command.Env) *cobra.Command {
	r := &ready{e}
	return e.Leaf(&cobra.Command{
		Use: "ready", Short: "Say whether a kernel runs and serves calls",
		Long: `Say whether the kernel of the state directory serves calls, by its exit code too. No
kernel is started for it: it is for those who look after one, as a health check in a
container does. It has 5 seconds to answer. Over HTTP, GET /readyz says the same.`,
		Example: "  callgate ready && echo yes",
		Args:    cobra.NoArgs,
	}, r.run)
}

func (r *ready) run(ctx context.Context, _ []string) error {
	dir, err := r.StateDir()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	kernel := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer kernel.Close()
	status, err := kernel.Status(ctx)
	if err != nil {
		if held := daemon.Unserved(dir); held != nil {
			return err
		}
		return tool.Errorf("cli.ready", tool.Unavailable, "no kernel runs on %s", dir).WithHint("callgate up runs one")
	}
	if r.JSON {
		return r.WriteJSON(readyInfo{status.Version, status.PID})
	}
	_, err = fmt.Fprintf(r.Stdout, "ready: process %d, version %s\n", status.PID, status.Version)
	return err
}

// readyInfo is what ready writes with --json.
type readyInfo struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
}

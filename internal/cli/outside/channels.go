package outside

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the commands channels and triggers.
func Commands(e *command.Env) []*cobra.Command {
	channels := &cobra.Command{
		Use: "channels", Aliases: []string{"channel"}, Short: "Show where an app's messages go, and what became of them",
		Long: `Show the channels of the app here, send a message through one, and look after the
messages that were sent. A message that was given up is a dead letter: it is kept,
and can be tried again under the same ID.`,
		Example: `  callgate channels list
  callgate channels test ops
  callgate channels dead
  callgate channels retry delivery-3f`,
	}
	triggers := &cobra.Command{
		Use: "triggers", Aliases: []string{"trigger"}, Short: "Show what starts turns by itself, and the events that came",
		Long: `Show the triggers of the apps that run without a client (callgate app start), and
the events that they took in. An event whose turn was given up is a dead letter: it
is kept, and can be tried again.`,
		Example: `  callgate triggers list
  callgate triggers events
  callgate triggers dead
  callgate triggers retry event-3f`,
	}
	return []*cobra.Command{
		e.Group(channels, newChannels(e), newTest(e), newDeliveries(e, false), newDeliveries(e, true), newResend(e)),
		e.Group(triggers, newTriggers(e), newEvents(e, false), newEvents(e, true), newRetry(e)),
	}
}

// channelList is channels list.
type channelList struct{ *command.Env }

func newChannels(e *command.Env) *cobra.Command {
	l := &channelList{e}
	return e.Leaf(&cobra.Command{
		Use: "list", Short: "List the channels of the app here", Args: cobra.NoArgs,
	}, l.run)
}

func (l *channelList) run(ctx context.Context, _ []string) error {
	return l.Session(ctx, command.SessionOptions{Quiet: true}, func(_ *command.Kernel, s *client.Session) error {
		found, err := s.Channels(ctx)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "the app here has no channels; every app can write to its conversation",
			func() error { return render.Outside{Style: l.Style(l.Stdout)}.Channels(l.Stdout, found) })
	})
}

// test is channels test.
type test struct{ *command.Env }

func newTest(e *command.Env) *cobra.Command {
	t := &test{e}
	return e.Leaf(&cobra.Command{
		Use: "test CHANNEL [TEXT]", Short: "Send a message through a channel of the app here, and say whether it arrived",
		Example: "  callgate channels test ops \"is anybody there?\"", Args: cobra.MinimumNArgs(1),
	}, t.run)
}

func (t *test) run(ctx context.Context, args []string) error {
	words := "A message that tries this channel."
	if len(args) > 1 {
		words = strings.Join(args[1:], " ")
	}
	t.BackgroundKernel = true // what is on its way goes on
	options := command.SessionOptions{Human: true, Quiet: true}
	return t.Session(ctx, options, func(_ *command.Kernel, s *client.Session) error {
		d, err := s.TestChannel(ctx, args[0], words)
		if err != nil {
			return err
		}
		return sayDelivery(t.Env, d)
	})
}

// sayDelivery says what became of a delivery.
func sayDelivery(e *command.Env, d protocol.Delivery) error {
	if e.JSON {
		return e.WriteJSON(d)
	}
	switch {
	case d.State == protocol.TaskDone:
		e.Status("delivered to %s: %s", d.Channel, d.ID)
	case d.State.Final():
		return tool.Errorf(op, tool.Failed, "%s was not delivered to %s: %s", d.ID, d.Channel, d.Error)
	case d.Error != "":
		e.Status("not delivered to %s yet, and it is tried again: %s", d.Channel, d.Error)
	default:
		e.Status("on its way to %s: %s", d.Channel, d.ID)
	}
	return nil
}

// deliveries is channels sent, and channels dead.
type deliveries struct {
	*command.Env
	dead  bool
	limit int
}

func newDeliveries(e *command.Env, dead bool) *cobra.Command {
	d := &deliveries{Env: e, dead: dead}
	use, short := "sent", "List the messages that were sent, the newest first"
	if dead {
		use, short = "dead", "List the messages that were given up, the newest first"
	}
	c := e.Leaf(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}, d.run)
	c.Flags().IntVarP(&d.limit, "limit", "n", 100, "list at most `N`")
	return c
}

func (d *deliveries) run(ctx context.Context, _ []string) error {
	none := "no message was sent"
	if d.dead {
		none = "no message was given up"
	}
	return d.With(ctx, func(k *command.Kernel) error {
		found, err := client.OutsideOf(k.Client).Deliveries(ctx, d.dead, d.limit)
		if err != nil {
			return err
		}
		return command.WriteList(d.Env, found, none, func() error {
			return render.Outside{Style: d.Style(d.Stdout)}.Deliveries(d.Stdout, found)
		})
	})
}

// resend is channels retry.
type resend struct{ *command.Env }

func newResend(e *command.Env) *cobra.Command {
	r := &resend{e}
	return e.Leaf(&cobra.Command{
		Use: "retry ID", Short: "Have a message tried again that was given up", Args: cobra.ExactArgs(1),
	}, r.run)
}

func (r *resend) run(ctx context.Context, args []string) error {
	r.BackgroundKernel = true // what is on its way goes on
	return r.WithKey(ctx, func(k *command.Kernel) error {
		dead, err := client.OutsideOf(k.Client).Deliveries(ctx, true, 0)
		if err != nil {
			return err
		}
		id, err := byPrefix(dead, args[0], "messages", func(d protocol.Delivery) string { return d.ID })
		if err != nil {
			return err
		}
		d, err := client.OutsideOf(k.Client).RetryDelivery(ctx, id)
		if err != nil {
			return err
		}
		return sayDelivery(r.Env, d)
	})
}

// byPrefix is the ID of the only one that begins with an ID, or that ID itself.
func byPrefix[T any](list []T, id, things string, idOf func(T) string) (string, error) {
	found, ok, err := command.FindByPrefix(list, id, things, idOf)
	if err != nil || !ok {
		return id, err
	}
	return idOf(found), nil
}

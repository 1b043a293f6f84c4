package machine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// nodes is nodes.
type nodes struct {
	*command.Env
	locks bool
}

func newNodes(e *command.Env) *cobra.Command {
	n := &nodes{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "nodes", Short: "List the machines that share this kernel's database",
		Long: `List the nodes: the kernels, each on its machine, that share one PostgreSQL database. A node
is up, draining (it begins nothing new), lost (its lease is over, and it did not say that it ends)
or down. One leads: it moves the jobs of all nodes' tasks to their times; if it is gone, another does
soon, and tasks run meanwhile. A kernel that keeps everything in its state directory shares nothing,
and has none.
DUE is how many tasks should run there now, and do not; LOCK WAITS how many claims wait there for what all
nodes share. --locks lists those: who holds what, and who waits for whom, at whichever node.`,
		Args: cobra.NoArgs,
	}, n.run)
	c.Flags().BoolVar(&n.locks, "locks", false, "list what calls hold and wait for of what all nodes share")
	return c
}

func (n *nodes) run(ctx context.Context, _ []string) error {
	return n.With(ctx, func(k *command.Kernel) error {
		if n.locks {
			return n.showLocks(ctx, k)
		}
		list, err := client.Nodes(ctx, k.Client)
		if err != nil {
			return err
		}
		if n.JSON {
			return n.WriteJSON(list)
		}
		if len(list) == 0 {
			n.Status("this kernel is alone: it keeps everything in its state directory")
			return nil
		}
		return n.show(list)
	})
}

func (n *nodes) show(list []operations.Node) error {
	rows := make([][]render.Cell, len(list))
	for i, one := range list {
		name, left := one.Name+remark(one), "over"
		if one.LeaseLeft > 0 {
			left = text.Duration(one.LeaseLeft)
		}
		rows[i] = []render.Cell{
			render.Bold(text.OneLine(name)), render.Plain(one.ID[:min(8, len(one.ID))]), render.Plain(one.State),
			render.Plain(one.Version), render.Plain(one.Address), render.Plain(text.Duration(n.Now().Sub(one.Since))),
			render.Plain(text.Duration(one.Lag) + " ago"), render.Plain(left), render.Plain(strconv.Itoa(one.Calls)),
			render.Plain(strconv.Itoa(one.Conversations)), render.Plain(strconv.Itoa(one.Backlog.Due)),
			render.Plain(strconv.Itoa(one.Backlog.LockWaits)),
		}
	}
	head := []string{"NAME", "ID", "STATE", "VERSION", "ADDRESS", "SINCE", "HEARTBEAT", "LEASE", "CALLS", "CONVERSATIONS",
		"DUE", "LOCK WAITS"}
	if err := n.Style(n.Stdout).Table(n.Stdout, head, rows); err != nil {
		return err
	}
	for _, one := range list {
		if one.State == "lost" {
			n.Status("%s is lost: %s", text.OneLine(one.Name), one.Backlog)
		}
	}
	return nil
}

// showLocks lists what all nodes share and calls hold or wait for.
func (n *nodes) showLocks(ctx context.Context, k *command.Kernel) error {
	list, err := client.NodeLocks(ctx, k.Client)
	if err != nil {
		return err
	}
	if n.JSON {
		return n.WriteJSON(list)
	}
	if len(list) == 0 {
		n.Status("no call holds anything that all nodes share")
		return nil
	}
	rows := make([][]render.Cell, len(list))
	for i, c := range list {
		waits := ""
		if c.Waits {
			if waits = c.Behind.String(); c.BehindNode != "" {
				waits += " at " + c.BehindNode
			}
		}
		rows[i] = []render.Cell{
			render.Bold(text.OneLine(c.Resource)), render.Plain(c.Mode.String()), render.Plain(text.OneLine(c.Node)),
			render.Plain(text.OneLine(c.Holder.String())), render.Plain(text.Duration(n.Now().Sub(c.Since))),
			render.Plain(text.OneLine(waits)),
		}
	}
	return n.Style(n.Stdout).Table(n.Stdout, []string{"RESOURCE", "MODE", "NODE", "CALL", "SINCE", "WAITS FOR"}, rows)
}

// remark says what sets a node apart.
func remark(n operations.Node) string {
	switch {
	case n.This && n.Leader:
		return " (this, leads)"
	case n.This:
		return " (this)"
	case n.Leader:
		return " (leads)"
	}
	return ""
}

// drain is drain.
type drain struct {
	*command.Env
	undo    bool
	timeout time.Duration
}

func newDrain(e *command.Env) *cobra.Command {
	d := &drain{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "drain [NODE]", Short: "Have a node begin nothing new, and wait for what runs",
		Long: `Have this node, or the one with a name or an ID, begin nothing new: no session, no conversation,
no task and no trigger. What runs goes on, and is waited for: calls, turns and tasks. Sessions that
are open stay open. Then the machine can be stopped. --undo has the node go on.`,
		Example: "  callgate drain\n  callgate drain web-2 --timeout 10m\n  callgate drain --undo",
		Args:    cobra.MaximumNArgs(1),
	}, d.run)
	c.Flags().BoolVar(&d.undo, "undo", false, "have it go on")
	c.Flags().DurationVar(&d.timeout, "timeout", 5*time.Minute,
		"wait at most this `DURATION` for what runs; 0: do not wait")
	return c
}

func (d *drain) run(ctx context.Context, args []string) error {
	ask := operations.Drain{Node: strings.Join(args, ""), Undo: d.undo, By: d.UserName()}
	return d.WithKey(ctx, func(k *command.Kernel) error {
		if k.InProcess() && ask.Node == "" {
			return tool.Errorf("cli.drain", tool.Conflict, "no kernel is running here: there is nothing to drain").
				WithHint("name another node: callgate nodes lists them")
		}
		node, err := client.Drain(ctx, k.Client, ask)
		if err != nil {
			return err
		}
		if !d.undo {
			d.Status("%s is to begin nothing new", text.OneLine(node.Name))
			node, err = d.wait(ctx, k, node)
		}
		if d.JSON {
			if failed := d.WriteJSON(node); failed != nil {
				return failed
			}
			return err
		}
		switch {
		case err != nil:
			return err
		case d.undo:
			d.Status("%s goes on", text.OneLine(node.Name))
		case node.Idle():
			d.Status("nothing runs there; %s open", amount.Of(node.Sessions, "session"))
		case node.State != "draining":
			d.Status("it is %s", node.State)
		}
		return nil
	})
}

// wait waits until nothing runs at a node, and says what it waits for. Another node hears that it is drained with its
// next heartbeat, and the one after that tells what it has to do since.
func (d *drain) wait(ctx context.Context, k *command.Kernel, node operations.Node) (operations.Node, error) {
	said, deadline, unheard := "", d.Now().Add(d.timeout), 2
	if node.This {
		unheard = 0
	}
	for d.timeout > 0 && (unheard > 0 || !node.Idle()) && node.State == "draining" {
		if now := runs(node); now != said && !node.Idle() {
			said = now
			d.Status("waiting for %s", said)
		}
		if d.Now().After(deadline) {
			return node, tool.Errorf("cli.drain", tool.Timeout, "after %v there still run %s", d.timeout, runs(node)).
				WithHint("it begins nothing new; wait again with callgate drain, or have it go on with --undo")
		}
		select {
		case <-ctx.Done():
			return node, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
		list, err := client.Nodes(ctx, k.Client)
		if err != nil {
			return node, err
		}
		for _, one := range list {
			if one.ID != node.ID {
				continue
			}
			if one.Heartbeat.After(node.Heartbeat) {
				unheard--
			}
			node = one
		}
	}
	return node, nil
}

// runs says what runs at a node.
func runs(n operations.Node) string {
	return fmt.Sprintf("%s, %s, %s", amount.Of(n.Calls, "call"), amount.Of(n.Turns, "turn"), amount.Of(n.Tasks, "task"))
}

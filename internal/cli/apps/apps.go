// Package apps has the commands that write, check and accept app files.
package apps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/app/starter"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the commands init and app. Others are children of app that other
// packages have.
func Commands(e *command.Env, others ...*cobra.Command) []*cobra.Command {
	group := &cobra.Command{Use: "app", Short: "Check an app file, look at its agents and modules, and have it run"}
	own := []*cobra.Command{newCheck(e), newWhere(e), newTrust(e), newSchema(e)}
	return []*cobra.Command{newInit(e), e.Group(group, append(own, others...)...)}
}

// initialize is init.
type initialize struct {
	*command.Env
	force bool
}

func newInit(e *command.Env) *cobra.Command {
	i := &initialize{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "init [DIR]", Short: "Write a callgate.yaml with the rules for agents in a folder",
		Example: "  callgate init\n  callgate init ~/project",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, i.run)
	c.Flags().BoolVar(&i.force, "force", false, "overwrite an existing file")
	return c
}

func (i *initialize) run(_ context.Context, args []string) error {
	const op = "cli.init"
	if len(args) == 1 {
		i.Workspace = args[0]
	}
	folder, err := i.WorkspaceDir()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, app.Filename)
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if i.force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, mode, 0o644)
	if err == nil {
		_, err = f.Write(starter.Text(folder))
		err = errors.Join(err, f.Close())
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return tool.Errorf(op, tool.Conflict, "%s already exists", path).WithHint("edit it, or overwrite it with --force")
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(op, tool.NotFound, "there is no folder %s", folder)
	case err != nil:
		return &tool.Error{Op: op, Kind: tool.Failed, Message: path + " cannot be written", Err: err}
	case i.JSON:
		return i.WriteJSON(map[string]string{"file": path})
	}
	_, err = fmt.Fprintf(i.Stdout, `wrote %s

Next:
  read it: it says what runs at once, what asks you first, and what is denied
  callgate tools list                       what agents may call here
  callgate chat                             talk to an agent in this folder
  callgate tools call filesystem.list       a first call
  callgate log tail                         what happened
  callgate up                               one kernel for all your agents, in its own terminal
`, path)
	return command.WriteError(err)
}

// check is app check.
type check struct{ *command.Env }

func newCheck(e *command.Env) *cobra.Command {
	c := &check{e}
	return e.Leaf(&cobra.Command{
		Use: "check [FILE]", Short: "Check an app file for mistakes",
		Example: "  callgate app check\n  callgate app check other.yaml",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, c.run)
}

func (c *check) run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		c.AppFile = args[0]
	}
	return c.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, s *client.Session) error {
		switch {
		case c.JSON:
			return c.WriteJSON(s.Session)
		case s.AppFile == "" && len(s.AppFiles) == 0:
			c.Status("there is no callgate.yaml here; callgate init writes one")
		case s.AppFile == "":
			c.Status("%s is valid; there is no callgate.yaml here", s.AppFiles[0])
		default:
			c.Status("%s is valid: app %s", s.AppFile, s.App)
		}
		return nil
	})
}

// trust is app trust.
type trust struct {
	*command.Env
	yes    bool
	revoke bool
}

func newTrust(e *command.Env) *cobra.Command {
	t := &trust{Env: e}
	c := e.Leaf(&cobra.Command{
		Use:     "trust",
		Short:   "Review and accept what an app file needs consent for",
		Example: "  callgate app trust\n  callgate app trust --revoke",
		Args:    cobra.NoArgs,
	}, t.run)
	c.Flags().BoolVar(&t.yes, "yes", false, "accept without asking; at a terminal the code is still to be typed")
	t.BindToken(c)
	c.Flags().BoolVar(&t.revoke, "revoke", false, "take back what was accepted")
	return c
}

// run shows what an app file needs consent for, and asks the human to accept it.
func (t *trust) run(ctx context.Context, _ []string) error {
	options := command.SessionOptions{Human: true, Quiet: true}
	return t.Session(ctx, options, func(k *command.Kernel, s *client.Session) error {
		if t.revoke {
			if err := s.Trust(ctx, protocol.AppConsent, protocol.Trust{Revoke: true, By: t.UserName()}); err != nil {
				return err
			}
			t.Status("taken back: %s has the floor again, until you accept what it asks for", s.AppFile)
			return nil
		}
		if s.PendingConsent == "" {
			t.Status("this app file needs no consent that it does not have")
			return nil
		}
		t.Status("%s asks you to let it do this (+ is new, - is gone):\n\n  %s\n",
			s.AppFile, strings.ReplaceAll(s.PendingConsent, "\n", "\n  "))
		if ok, err := t.Consent(ctx, k, t.yes, "Accept?"); err != nil || !ok {
			return err
		}
		err := s.Trust(ctx, protocol.AppConsent, protocol.Trust{Launch: s.PendingConsent, By: t.UserName()})
		if err != nil {
			return err
		}
		t.Status("accepted")
		return nil
	})
}

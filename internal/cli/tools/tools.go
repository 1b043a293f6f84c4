// Package tools has the commands that list, show, find and call tools, and show
// how a model sees them.
package tools

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/argv"
	"callgate/internal/cli/command"
	"callgate/internal/cli/preflight"
	"callgate/internal/client"
	"callgate/internal/protocol"
)

// Commands returns the commands tools, search, learned, plan and surface.
func Commands(e *command.Env) []*cobra.Command {
	group := &cobra.Command{Use: "tools", Short: "List, show and call tools"}
	return []*cobra.Command{
		e.Group(group, newList(e), newFind(e), newModels(e), newShow(e), newDocs(e), newCall(e), newHostCall(e),
			preflight.Command(e)),
		newSearch(e), newLearned(e), Plan(e), newSurface(e),
	}
}

// list is tools list.
type list struct{ *command.Env }

func newList(e *command.Env) *cobra.Command {
	l := &list{e}
	return e.Leaf(&cobra.Command{
		Use: "list [WORD]", Short: "List tools",
		Example: "  callgate tools list\n  callgate tools list file", Args: cobra.MaximumNArgs(1),
	}, l.run)
}

func (l *list) run(ctx context.Context, args []string) error {
	return l.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, s *client.Session) error {
		tools, err := s.Tools(ctx)
		if err != nil {
			return err
		}
		if len(args) == 1 {
			word := strings.ToLower(args[0])
			tools = slices.DeleteFunc(tools, func(t protocol.Tool) bool {
				return !strings.Contains(strings.ToLower(t.Name+" "+t.Short+" "+t.Description), word)
			})
		}
		l.SayAppFiles(s.Session)
		switch {
		case l.JSON:
			return l.WriteJSON(append([]protocol.Tool{}, tools...))
		case len(tools) == 0:
			l.Status("no tools")
			return nil
		}
		return command.WriteError(l.Style(l.Stdout).Tools(l.Stdout, tools))
	})
}

// show is tools show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show NAME", Short: "Show a tool: its parameters, examples and policy",
		Example: "  callgate tools show filesystem.read\n  callgate tools show Read", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completion{e}.name,
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, session *client.Session) error {
		t, err := session.Tool(ctx, args[0])
		if err != nil {
			return err
		}
		if s.JSON {
			return s.WriteJSON(t)
		}
		return command.WriteError(s.Style(s.Stdout).Tool(s.Stdout, t, s.Self()+" tools call"))
	})
}

// completion completes the names of tools and their parameters.
type completion struct{ *command.Env }

// quiet opens a session whose warnings do not mix with the completions.
func (c completion) quiet(ctx context.Context, do func(*client.Session) error) {
	_ = c.Session(ctx, command.SessionOptions{Quiet: true}, func(_ *command.Kernel, s *client.Session) error {
		return do(s)
	})
}

func (c completion) name(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return command.Complete(cmd, func(ctx context.Context) (found []string) {
		c.quiet(ctx, func(s *client.Session) error {
			tools, err := s.Tools(ctx)
			for _, t := range tools {
				if strings.HasPrefix(t.Name, word) {
					about, _, _ := strings.Cut(t.Description, "\n")
					found = append(found, t.Name+"\t"+about)
				}
			}
			return err
		})
		return found
	})
}

// parameters completes a tool's name, and then its flags.
func (c completion) parameters(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return c.name(cmd, args, word)
	}
	if !strings.HasPrefix(word, "-") {
		return nil, cobra.ShellCompDirectiveDefault // a value may be a file
	}
	return command.Complete(cmd, func(ctx context.Context) (found []string) {
		c.quiet(ctx, func(s *client.Session) error {
			t, err := s.Tool(ctx, args[0])
			if err != nil {
				return err
			}
			params, err := argv.Params(t.Input)
			for _, param := range params {
				found = append(found, "--"+param.Flag()+"\t"+param.Description)
			}
			found = append(found, "--args\tall arguments as JSON", "--no-wait\tdo not wait for a human",
				"--json\tthe result as JSON", "--help\tthe tool's parameters")
			return err
		})
		return found
	})
}

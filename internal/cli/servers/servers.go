// Package servers has the commands that manage upstream MCP servers. They are
// children of the command mcp.
package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the children of the command mcp.
func Commands(e *command.Env) []*cobra.Command {
	one := oneServer{e}
	all := []*cobra.Command{
		newList(e), newSearch(e), newInstall(e), newAdd(e), newRemove(e), newTrust(e),
		one.command("refresh NAME", "Start a server and read its tools", one.refresh),
		one.command("restart NAME", "Restart a server", one.restart),
		newLogin(e),
		newLogs(e),
		newItems(e, "resources", "resources NAME [URI]", "List a server's resources, or read one"),
		newItems(e, "prompts", "prompts NAME [PROMPT [KEY=VALUE ...]]", "List a server's prompts, or fill one in"),
	}
	for _, c := range all {
		if strings.Contains(c.Use, "NAME") && c.Name() != "add" && c.Name() != "install" {
			c.ValidArgsFunction = command.CompleteFirst(names(e))
		}
	}
	return all
}

// quietly opens a session without printing the app's warnings: many are about
// the very servers that the command is about.
func quietly(ctx context.Context, e *command.Env, do func(*client.Session) error) error {
	return e.Session(ctx, command.SessionOptions{Quiet: true}, func(_ *command.Kernel, s *client.Session) error {
		return do(s)
	})
}

// names completes the names of servers.
func names(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = quietly(ctx, e, func(s *client.Session) error {
			list, err := s.Servers(ctx)
			for _, one := range list {
				found = append(found, one.Name)
			}
			return err
		})
		return found
	}
}

// list is mcp servers.
type list struct{ *command.Env }

func newList(e *command.Env) *cobra.Command {
	l := &list{e}
	return e.Leaf(&cobra.Command{
		Use: "servers", Short: "List the app's MCP servers", Args: cobra.NoArgs,
	}, l.run)
}

func (l *list) run(ctx context.Context, _ []string) error {
	return quietly(ctx, l.Env, func(s *client.Session) error {
		found, err := s.Servers(ctx)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "this app has no MCP servers; callgate mcp add adds one", func() error {
			return l.Style(l.Stdout).Servers(l.Stdout, found)
		})
	})
}

// oneServer is mcp refresh and mcp restart.
type oneServer struct{ *command.Env }

func (o oneServer) command(use, short string, run func(context.Context, *client.Session, string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}
	return o.Leaf(c, func(ctx context.Context, args []string) error {
		return quietly(ctx, o.Env, func(s *client.Session) error { return run(ctx, s, args[0]) })
	})
}

func (o oneServer) refresh(ctx context.Context, s *client.Session, name string) error {
	st, err := s.Refresh(ctx, name)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.WriteJSON(st)
	}
	_, err = fmt.Fprintf(o.Stdout, "%s: %s\n", text.Safe(st.Name), amount.Of(st.Tools, "tool"))
	return command.WriteError(err)
}

func (o oneServer) restart(ctx context.Context, s *client.Session, name string) error {
	st, err := s.Restart(ctx, name)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.WriteJSON(st)
	}
	_, err = fmt.Fprintf(o.Stdout, "%s is %s, process %d\n", text.Safe(st.Name), st.State, st.Pid)
	return command.WriteError(err)
}

// newLogin is mcp login.
func newLogin(e *command.Env) *cobra.Command {
	return e.Leaf(&cobra.Command{
		Use: "login NAME", Short: "Log in to a remote server in your browser", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, args []string) error {
		options := command.SessionOptions{Human: true, Quiet: true}
		return e.Session(ctx, options, func(k *command.Kernel, s *client.Session) error {
			return login(ctx, e, k, s, args[0])
		})
	})
}

func login(ctx context.Context, e *command.Env, k *command.Kernel, s *client.Session, name string) error {
	show := func(l protocol.Login) {
		if w := l.With; w != nil && w.Authorize == w.Token {
			e.Status("the login of %s is bound to the issuer %s, at %s", name, text.Safe(w.Issuer), text.Safe(w.Authorize))
		} else if w != nil {
			e.Status("the login of %s is bound to the issuer %s: you log in at %s, the code goes to %s",
				name, text.Safe(w.Issuer), text.Safe(w.Authorize), text.Safe(w.Token))
		}
		e.Status("open this page and log in:\n%s", l.URL)
	}
	ask := func(question string) (bool, error) {
		e.Status("%s", text.Safe(question))
		return e.Consent(ctx, k, false, "Go on with this login?")
	}
	if err := s.Login(ctx, name, e.UserName(), show, ask); err != nil {
		return err
	}
	e.Status("logged in to %s", name)
	return nil
}

// logs is mcp logs.
type logs struct {
	*command.Env
	lines int
}

func newLogs(e *command.Env) *cobra.Command {
	l := &logs{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "logs NAME", Short: "Show a server's standard error", Args: cobra.ExactArgs(1),
	}, l.run)
	c.Flags().IntVarP(&l.lines, "lines", "n", 200, "print the last `N` lines")
	return c
}

func (l *logs) run(ctx context.Context, args []string) error {
	return quietly(ctx, l.Env, func(s *client.Session) error {
		lines, err := s.Logs(ctx, args[0], fmt.Sprint(l.lines))
		if err != nil {
			return err
		}
		if l.JSON {
			return l.WriteJSON(lines)
		}
		for _, line := range lines {
			at := line.Time.Local().Format("15:04:05.000")
			if _, err := fmt.Fprintf(l.Stdout, "%s %s %s\n", at, line.Stream, text.Safe(line.Text)); err != nil {
				return command.WriteError(err)
			}
		}
		return nil
	})
}

// items is mcp resources and mcp prompts: what servers have beside tools.
type items struct {
	*command.Env
	kind string
}

func newItems(e *command.Env, kind, use, short string) *cobra.Command {
	i := &items{e, kind}
	return e.Leaf(&cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
	}, i.run)
}

func (i *items) run(ctx context.Context, args []string) error {
	return quietly(ctx, i.Env, func(s *client.Session) error {
		if len(args) == 1 {
			found, err := s.ServerItems(ctx, args[0], i.kind)
			if err != nil {
				return err
			}
			return i.WriteJSON(found)
		}
		item := protocol.ServerItem{Name: args[1], Args: map[string]string{}}
		for _, pair := range args[2:] {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return tool.Errorf("cli", tool.Invalid, "%q is not KEY=VALUE", tool.Truncate(pair))
			}
			item.Args[key] = value
		}
		found, err := s.ServerItem(ctx, args[0], i.kind, item)
		if err != nil {
			return err
		}
		return i.WriteJSON(json.RawMessage(found))
	})
}

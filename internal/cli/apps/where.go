package apps

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app/inforce"
	"callgate/internal/cli/command"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/protocol"
)

// where is app where.
type where struct{ *command.Env }

func newWhere(e *command.Env) *cobra.Command {
	w := &where{e}
	return e.Leaf(&cobra.Command{
		Use: "where", Short: "Show which app files are in force here, what each brings, and what wins",
		Example: "  callgate app where\n  callgate app where -C ~/project",
		Args:    cobra.NoArgs,
	}, w.run)
}

func (w *where) run(ctx context.Context, _ []string) error {
	options := command.SessionOptions{Quiet: true, Where: true}
	return w.Session(ctx, options, func(_ *command.Kernel, s *client.Session) error {
		if w.JSON {
			return w.WriteJSON(s.Session)
		}
		return w.Print(whereText(s.Session))
	})
}

func whereText(s protocol.Session) string {
	var b strings.Builder
	if len(s.AppFiles) == 0 {
		b.WriteString("no app file is in force: what no rule names is decided by its risk\n")
	} else {
		fmt.Fprintf(&b, "in force: %s\n", strings.Join(s.AppFiles, ", "))
	}
	if s.Where == nil {
		return b.String()
	}
	b.WriteString("\nhow they were found\n")
	for _, line := range s.Where.Search {
		fmt.Fprintf(&b, "  %s\n", text.OneLine(line))
	}
	for _, f := range s.Where.Files {
		level := "the project's"
		if f.Level == protocol.LevelUser {
			level = "your own"
		}
		fmt.Fprintf(&b, "\n%s (%s)\n", inforce.Short(f.Path), level)
		part := func(name string, values []string, between string) {
			if len(values) > 0 {
				fmt.Fprintf(&b, "  %-8s %s\n", name, text.OneLine(strings.Join(values, between)))
			}
		}
		part("servers", f.Servers, ", ")
		part("APIs", f.APIs, ", ")
		part("agents", f.Agents, ", ")
		part("skills", f.Skills, ", ")
		part("profiles", f.Profiles, ", ")
		part("sets up", f.Modules, ", ")
		part("rules", f.Rules, ", ")
		for _, wait := range f.Waits {
			part("waits", []string{wait}, "")
		}
	}
	if len(s.Where.Wins) > 0 {
		b.WriteString("\nwhere they differ\n")
		for _, line := range s.Where.Wins {
			fmt.Fprintf(&b, "  %s\n", text.OneLine(line))
		}
	}
	return b.String()
}

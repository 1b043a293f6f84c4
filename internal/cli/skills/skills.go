// Package skills has the commands that list, show, check, make and accept skills.
package skills

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/nearest"
	"callgate/internal/protocol"
	"callgate/internal/skill"
	"callgate/internal/visible"
	"callgate/tool"
)

const op = "cli.skills"

// Commands returns the command skills.
func Commands(e *command.Env) []*cobra.Command {
	group := &cobra.Command{
		Use: "skills", Short: "List, check, make and accept skills",
		Long: `List, check, make and accept skills: folders with a SKILL.md that tell a model how
something is done. They come from the app file (dev.skills), from your own folder
(~/.config/callgate/skills, if the app has allow_user_skills), from .claude/skills and
.agents/skills of the project and of your home, and from Callgate itself. A model reads
none before you accepted it: an app's with callgate app trust, others with skills accept.`,
		Example: `  callgate skills list
  callgate skills show make-release
  callgate skills accept make-release
  callgate skills new make-release --states`,
	}
	show, accept, revoke := newShow(e), newAccept(e, false), newAccept(e, true)
	for _, c := range []*cobra.Command{show, accept, revoke} {
		c.ValidArgsFunction = command.CompleteFirst(known(e))
	}
	return []*cobra.Command{e.Group(group, newList(e), show, newCheck(e), newNew(e), accept, revoke)}
}

// known completes the names of skills.
func known(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.Session(ctx, command.SessionOptions{Quiet: true}, func(_ *command.Kernel, s *client.Session) error {
			list, err := s.Skills(ctx)
			for _, one := range list {
				found = append(found, one.Command+"\t"+one.Source+", "+one.State)
			}
			return err
		})
		return found
	}
}

// list is skills list.
type list struct{ *command.Env }

func newList(e *command.Env) *cobra.Command {
	l := &list{e}
	return e.Leaf(&cobra.Command{
		Use: "list", Short: "List the skills that agents here have, or could have",
		Example: "  callgate skills list --json", Args: cobra.NoArgs,
	}, l.run)
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.Session(ctx, command.SessionOptions{Quiet: true}, func(_ *command.Kernel, s *client.Session) error {
		found, err := s.Skills(ctx)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "there are no skills", func() error { return writeTable(l.Stdout, found) })
	})
}

func writeTable(w io.Writer, found []protocol.FoundSkill) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSOURCE\tSTATE\tDIGEST\tWHAT")
	for _, s := range found {
		about := s.Description
		if s.Problem != "" {
			about = s.Problem
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n",
			visible.Text(s.Command), s.Source, s.State, short(s.Digest), visible.Clip(oneLine(about), 60))
	}
	return command.WriteError(t.Flush())
}

func short(digest string) string { return digest[:min(12, len(digest))] }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// find returns the skill of a name; source chooses where several have it.
func find(all []protocol.FoundSkill, name, source string) (protocol.FoundSkill, error) {
	var names []string
	for _, s := range all {
		if strings.EqualFold(s.Command, strings.TrimPrefix(name, "/")) && (source == "" || source == s.Source) {
			return s, nil
		}
		names = append(names, s.Command)
	}
	e := tool.Errorf(op, tool.NotFound, "there is no skill %s", tool.Truncate(name))
	if near := nearest.Name(strings.ToLower(name), names); near != "" {
		return protocol.FoundSkill{}, e.WithHint("did you mean %s? callgate skills list shows all", near)
	}
	return protocol.FoundSkill{}, e.WithHint("callgate skills list shows them")
}

// show is skills show.
type show struct {
	*command.Env
	source string
}

func newShow(e *command.Env) *cobra.Command {
	s := &show{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "show NAME", Short: "Show a skill as a model would read it, and what lies beside it",
		Example: "  callgate skills show make-release", Args: cobra.ExactArgs(1),
	}, s.run)
	bindSource(c, &s.source)
	return c
}

func bindSource(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "source", "", "where several have the name: user, app, project, home or callgate")
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.Session(ctx, command.SessionOptions{Quiet: true}, func(_ *command.Kernel, in *client.Session) error {
		all, err := in.Skills(ctx)
		if err != nil {
			return err
		}
		found, err := find(all, args[0], s.source)
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(found)
		}
		return write(s.Stdout, found)
	})
}

// write shows a skill, with nothing hidden.
func write(w io.Writer, s protocol.FoundSkill) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", visible.Text(s.Command), visible.Text(s.Description))
	fmt.Fprintf(&b, "from %s (%s), %s, sha256 %s\n", visible.Text(s.Path), s.Source, s.State, short(s.Digest))
	if s.Problem != "" {
		fmt.Fprintf(&b, "it cannot be read: %s\n", visible.Lines(s.Problem))
	}
	if len(s.States) > 0 {
		fmt.Fprintf(&b, "states: %s\n", strings.Join(s.States, ", "))
	}
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "note: %s\n", visible.Text(note))
	}
	if s.Text != "" {
		fmt.Fprintf(&b, "\n%s\n", visible.Lines(s.Text))
	}
	_, err := io.WriteString(w, b.String())
	return command.WriteError(err)
}

// check is skills check.
type check struct{ *command.Env }

func newCheck(e *command.Env) *cobra.Command {
	c := &check{e}
	return e.Leaf(&cobra.Command{
		Use: "check DIR", Short: "Check the folder of a skill for mistakes",
		Example: "  callgate skills check skills/make-release",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, c.run)
}

// below is a path as the workspace sees it.
func below(e *command.Env, path string) (string, error) {
	folder, err := e.WorkspaceDir()
	if err != nil || filepath.IsAbs(path) {
		return path, err
	}
	return filepath.Join(folder, path), nil
}

// checked is what skills check found.
type checked struct {
	Name   string   `json:"name"`
	Digest string   `json:"digest"`
	Files  int      `json:"files"`
	States int      `json:"states,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

func (c *check) run(_ context.Context, args []string) error {
	dir, err := below(c.Env, args[0])
	if err != nil {
		return err
	}
	s, err := skill.Load(dir)
	if err != nil {
		return err
	}
	made := checked{Name: s.Name, Digest: s.Digest, Files: len(s.Files), Notes: s.Notes}
	if s.Machine != nil {
		made.States = len(s.Machine.States)
	}
	if c.JSON {
		return c.WriteJSON(made)
	}
	for _, note := range s.Notes {
		c.Status("%s", note)
	}
	c.Status("%s is valid: skill %s, %d files beside it, %d states, sha256 %s",
		args[0], s.Name, made.Files, made.States, short(s.Digest))
	return nil
}

// create is skills new.
type create struct {
	*command.Env
	states bool
	below  string
}

func newNew(e *command.Env) *cobra.Command {
	n := &create{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "new NAME", Short: "Make the folder of a skill to start from",
		Example: "  callgate skills new make-release\n  callgate skills new fix-fault --states --in .agents/skills",
		Args:    cobra.ExactArgs(1),
	}, n.run)
	c.Flags().BoolVar(&n.states, "states", false, "with states, each with its own tools")
	c.Flags().StringVar(&n.below, "in", "skills", "the folder in which it is made")
	return c
}

func (n *create) run(_ context.Context, args []string) error {
	folder, err := below(n.Env, n.below)
	if err != nil {
		return err
	}
	dir, err := skill.New(folder, args[0], n.states)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, skill.TextFile)
	if n.JSON {
		return n.WriteJSON(map[string]string{"file": file})
	}
	n.Status("wrote %s; an app has it by dev.skills: - {command: %s, path: %s}",
		file, args[0], filepath.ToSlash(filepath.Join(n.below, args[0])))
	return nil
}

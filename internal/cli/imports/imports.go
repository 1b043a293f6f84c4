// Package imports has the command that imports MCP servers from the
// configurations of coding agents.
package imports

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/importer"
	"callgate/tool"
)

const long = `Reads the configurations of Claude Code and Desktop, Cursor, VS Code, Codex,
opencode, Gemini CLI, Qwen Code, Crush and Copilot, project and user, or the
files that are named (a server.json of the MCP registry too). The servers of the
project go into the project's app file, and those of the user into the user's
(~/.config/callgate/callgate.yaml), which is in force in every folder. Without
--apply it also prints the entry to paste into each client.

Secrets in plain text are not copied: a reference takes their place. --secrets
move puts their values into the store of callgate secrets, --secrets keep copies
them as they are; at a terminal you are asked.`

// Commands returns the command import.
func Commands(e *command.Env) []*cobra.Command {
	i := &imports{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "import [FILE ...]", Short: "Import MCP servers from coding agents", Long: long,
		Example: `  callgate import --dry-run        show what is found
  callgate import                  write it into the app files
  callgate import --apply          and replace it by Callgate in the agents' own files
  callgate import --undo           restore all files`,
		Args: cobra.ArbitraryArgs, ValidArgsFunction: command.CompleteFiles,
	}, i.run)
	f := c.Flags()
	f.BoolVar(&i.dryRun, "dry-run", false, "only show what is found")
	f.BoolVar(&i.apply, "apply", false,
		"replace the servers by one Callgate entry in the agents' own files; the old files are kept")
	f.BoolVar(&i.undo, "undo", false, "restore all files that imports changed")
	f.BoolVar(&i.force, "force", false, "with --undo: also restore files that were changed since")
	f.StringVar(&i.secrets, "secrets", "",
		"what becomes of secrets in plain text: `move` (into the store) or keep (copied as they are)")
	f.BoolVar(&i.keepSecrets, "keep-secrets", false, "copy secrets in plain text")
	_ = f.MarkHidden("keep-secrets") // what --secrets keep was called before
	f.StringSliceVar(&i.clients, "client", nil, "only from these `CLIENTS`: "+strings.Join(importer.Clients(), ", "))
	c.MarkFlagsMutuallyExclusive("dry-run", "apply", "undo")
	return []*cobra.Command{c}
}

// imports is import.
type imports struct {
	*command.Env
	dryRun, apply, undo, force, keepSecrets bool
	clients                                 []string
	secrets                                 string // move, keep or nothing
}

func (i *imports) run(ctx context.Context, files []string) error {
	if i.undo {
		return i.undoAll(ctx)
	}
	switch i.secrets {
	case "", move:
	case keep:
		i.keepSecrets = true
	default:
		return tool.Errorf("cli", tool.Invalid, "--secrets is %q", tool.Truncate(i.secrets)).WithHint("write move or keep")
	}
	found, err := i.read(files)
	if err != nil {
		return err
	}
	if i.JSON {
		err = i.WriteJSON(found)
	} else {
		err = command.WriteError(i.show(found))
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		i.Status("no MCP servers are configured here")
	}
	if i.dryRun || len(found) == 0 {
		return nil
	}
	return i.takeOver(ctx, found)
}

// read finds the servers in the files that are named, or in all there are.
func (i *imports) read(files []string) ([]importer.FoundServer, error) {
	folder, err := i.WorkspaceDir()
	if err != nil {
		return nil, err
	}
	env := importer.Env{Workspace: folder, Home: i.Getenv("HOME"), Getenv: i.Getenv}
	sources, err := i.sources(files, env)
	if err != nil {
		return nil, err
	}
	var found []importer.FoundServer
	for _, s := range sources {
		list, problems := importer.Read(s, env, importer.Options{KeepSecrets: i.keepSecrets, SecretVars: true})
		found = append(found, list...)
		for _, problem := range problems {
			i.Status("callgate: %s", problem)
		}
	}
	return importer.Merge(found), nil
}

// The widest command and note that are shown; --json has all of them.
const (
	commandWidth = 60
	noteWidth    = 100
)

// show writes the servers that were found, and below them the notes on each.
func (i *imports) show(found []importer.FoundServer) error {
	if len(found) == 0 {
		return nil
	}
	rows := make([][]render.Cell, len(found))
	for at, f := range found {
		what := f.Server.URL
		if what == "" {
			what = strings.Join(append([]string{f.Server.Command}, f.Server.Args...), " ")
		}
		if f.Disabled {
			what = "(disabled) " + what
		}
		rows[at] = []render.Cell{
			render.Bold(f.Server.Name), render.Plain(f.Source.Client), render.Plain(text.Clip(what, commandWidth)),
		}
	}
	if err := i.Style(i.Stdout).Table(i.Stdout, []string{"NAME", "FROM", "WHAT"}, rows); err != nil {
		return err
	}
	notes := ""
	for _, f := range found {
		for _, note := range f.Notes {
			if i.secrets == move && setsMoved(f, note) {
				continue
			}
			notes += text.Wrap(f.Server.Name+": "+note, noteWidth, "  ")
		}
	}
	if notes == "" {
		return nil
	}
	_, err := fmt.Fprint(i.Stdout, "\n", notes)
	return err
}

// setsMoved reports a note to set a secret that is moved into the store.
func setsMoved(f importer.FoundServer, note string) bool {
	return slices.ContainsFunc(f.Secrets(), func(s importer.Secret) bool {
		return strings.HasPrefix(note, "set the secret "+s.Name+" ")
	})
}

// sources are the files to read.
func (i *imports) sources(files []string, env importer.Env) ([]importer.Source, error) {
	var sources []importer.Source
	for _, file := range files {
		path, err := i.Abs(file)
		if err != nil {
			return nil, err
		}
		sources = append(sources, importer.SourceOf(path, env))
	}
	if len(files) == 0 {
		sources = importer.Find(env)
	}
	if len(i.clients) == 0 {
		return sources, nil
	}
	return slices.DeleteFunc(sources, func(s importer.Source) bool { return !slices.Contains(i.clients, s.Client) }), nil
}

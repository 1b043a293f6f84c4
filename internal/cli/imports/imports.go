// Package imports has the command that imports MCP servers from the
// configurations of coding agents.
package imports

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app/edit"
	"callgate/internal/cli/appfile"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/importer"
	"callgate/internal/importer/backup"
	"callgate/tool"
)

const long = `Reads the configurations of Claude Code and Desktop, Cursor, VS Code, Codex,
opencode, Gemini CLI, Qwen Code, Crush and Copilot, project and user, or the
files that are named (a server.json of the MCP registry too), and writes their
servers into this folder's app file. Secrets that stand there in plain text are
not copied: a reference takes their place, and what to set is said.`

// Commands returns the command import.
func Commands(e *command.Env) []*cobra.Command {
	i := &imports{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "import [FILE ...]", Short: "Take over the MCP servers that your coding agents already have", Long: long,
		Example: `  callgate import --dry-run        what is there
  callgate import                  write it into callgate.yaml
  callgate import --apply          and put Callgate in its place, in the agents' own files
  callgate import --undo           as it was`,
		Args: cobra.ArbitraryArgs, ValidArgsFunction: command.CompleteFiles,
	}, i.run)
	f := c.Flags()
	f.BoolVar(&i.dryRun, "dry-run", false, "only show what is there")
	f.BoolVar(&i.apply, "apply", false,
		"put one Callgate entry in the place of the servers, in the agents' own files; the old ones are kept")
	f.BoolVar(&i.undo, "undo", false, "give the agents' files back as they were")
	f.BoolVar(&i.force, "force", false, "with --undo: also files that have changed since")
	f.BoolVar(&i.keepSecrets, "keep-secrets", false, "copy secrets as they stand")
	f.StringSliceVar(&i.clients, "client", nil, "only of these clients: "+strings.Join(importer.Clients(), ", "))
	c.MarkFlagsMutuallyExclusive("dry-run", "apply", "undo")
	return []*cobra.Command{c}
}

// imports is import.
type imports struct {
	*command.Env
	dryRun, apply, undo, force, keepSecrets bool
	clients                                 []string
}

func (i *imports) run(ctx context.Context, files []string) error {
	if i.undo {
		return i.undoAll()
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
	skipped, err := i.writeApp(ctx, found)
	if err != nil {
		return err
	}
	return i.replaceSources(sourcesOf(found), skipped)
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

// show writes the servers that were found.
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
			what = "(turned off) " + what
		}
		if len(f.Notes) > 0 {
			what += "  — " + strings.Join(f.Notes, "; ")
		}
		rows[at] = []render.Cell{render.Bold(f.Server.Name), render.Plain(f.Source.Client), render.Plain(what)}
	}
	return i.Style(i.Stdout).Table(i.Stdout, []string{"NAME", "FROM", "WHAT"}, rows)
}

// sources are the files to read.
func (i *imports) sources(files []string, env importer.Env) ([]importer.Source, error) {
	var sources []importer.Source
	for _, file := range files {
		path, err := command.Abs(file)
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

// sourcesOf are the files that servers were found in.
func sourcesOf(found []importer.FoundServer) []importer.Source {
	var list []importer.Source
	for _, f := range found {
		if !slices.Contains(list, f.Source) {
			list = append(list, f.Source)
		}
	}
	return list
}

// writeApp puts servers into the app file, all in one change. A server that is
// there already stays as it is. It returns those that were skipped.
func (i *imports) writeApp(ctx context.Context, found []importer.FoundServer) (skipped []importer.FoundServer, err error) {
	path, text, err := appfile.Read(i.Env)
	if err != nil {
		return nil, err
	}
	modules, err := appfile.BuiltinModules(ctx, i.Env)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range found {
		if one.Disabled {
			skipped = append(skipped, one)
			continue
		}
		next, err := edit.AddServer(text, one.Server, modules)
		switch {
		case tool.KindOf(err) == tool.Conflict:
			i.Status("callgate: %s is in the app file already, and stays as it is", one.Server.Name)
		case err != nil:
			i.Status("callgate: %s is not taken over: %v", one.Server.Name, err)
			skipped = append(skipped, one)
		default:
			text = next
			names = append(names, one.Server.Name)
		}
	}
	if len(names) == 0 {
		return skipped, nil
	}
	if err := appfile.Replace(path, text); err != nil {
		return nil, err
	}
	i.Status("wrote %s into %s; none runs before you accept it: callgate mcp trust NAME", strings.Join(names, ", "), path)
	return skipped, nil
}

// replaceSources puts Callgate in the place of the servers, or prints how to. A
// file with a server that was skipped stays as it is.
func (i *imports) replaceSources(sources []importer.Source, skipped []importer.FoundServer) error {
	entry := importer.Entry{Command: "callgate", Args: []string{"mcp"}}
	if self, err := os.Executable(); err == nil {
		entry.Command = self
	}
	if !i.apply {
		i.printEntries(sources, entry)
		return nil
	}
	dir, err := i.backupDir()
	if err != nil {
		return err
	}
	for _, s := range sources {
		if at := slices.IndexFunc(skipped, func(f importer.FoundServer) bool { return f.Source == s }); at >= 0 {
			i.Status("callgate: %s stays as it is, because %s is not taken over", s.Path, skipped[at].Name)
			continue
		}
		change, err := importer.Replace(s, entry)
		if err != nil {
			i.Status("callgate: %v", err)
			continue
		}
		if change.None() {
			continue
		}
		kept, err := backup.Apply(change, dir)
		if err != nil {
			return err
		}
		i.Status("%s now has Callgate alone; callgate import --undo gives it back (%s)", s.Path, kept.ID)
	}
	return nil
}

// printEntries prints the entry to paste into the configuration of each client.
func (i *imports) printEntries(sources []importer.Source, entry importer.Entry) {
	printed := map[string]bool{}
	for _, s := range sources {
		if !printed[s.Client] {
			printed[s.Client] = true
			i.Status("\n%s", importer.Snippet(s.Client, entry))
		}
	}
}

func (i *imports) backupDir() (string, error) {
	dir, err := i.StateDir()
	return filepath.Join(dir.String(), "backups"), err
}

// undoAll restores every file, the newest change first.
func (i *imports) undoAll() error {
	dir, err := i.backupDir()
	if err != nil {
		return err
	}
	list, err := backup.List(dir)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		i.Status("nothing is to be undone")
	}
	var failed error
	for _, b := range list {
		if err := backup.Undo(b, i.force); err != nil {
			i.Status("callgate: %v", err)
			failed = err
			continue
		}
		if _, err := fmt.Fprintln(i.Stdout, text.Safe(b.Path)); err != nil {
			return command.WriteError(err)
		}
	}
	return failed
}

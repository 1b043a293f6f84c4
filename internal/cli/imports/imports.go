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
servers into the workspace's app file. Without --apply it also prints the entry to
paste into each client. Secrets in plain text are not copied: a reference takes
their place, and the notes say which secrets to set.`

// Commands returns the command import.
func Commands(e *command.Env) []*cobra.Command {
	i := &imports{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "import [FILE ...]", Short: "Import MCP servers from coding agents", Long: long,
		Example: `  callgate import --dry-run        show what is found
  callgate import                  write it into callgate.yaml
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
	f.BoolVar(&i.keepSecrets, "keep-secrets", false, "copy secrets in plain text")
	f.StringSliceVar(&i.clients, "client", nil, "only from these `CLIENTS`: "+strings.Join(importer.Clients(), ", "))
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
			notes += text.Wrap(f.Server.Name+": "+note, noteWidth, "  ")
		}
	}
	if notes == "" {
		return nil
	}
	_, err := fmt.Fprint(i.Stdout, "\n", notes)
	return err
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
func (i *imports) writeApp(
	ctx context.Context, found []importer.FoundServer,
) (skipped []importer.FoundServer, err error) {
	path, before, err := appfile.Read(i.Env)
	if err != nil {
		return nil, err
	}
	modules, err := appfile.BuiltinModules(ctx, i.Env)
	if err != nil {
		return nil, err
	}
	var names []string
	next := before
	for _, one := range found {
		if one.Disabled {
			skipped = append(skipped, one)
			continue
		}
		if one.Server.Command != "" { // it ran beside the client until now
			one.Server.Isolation.Mode = "contained"
		}
		more, err := edit.AddServer(next, one.Server, modules)
		switch {
		case tool.KindOf(err) == tool.Conflict:
			i.Status("callgate: %s is already in the app file, and stays as it is", one.Server.Name)
		case err != nil:
			i.Status("callgate: %s is not imported: %v", one.Server.Name, err)
			skipped = append(skipped, one)
		default:
			next = more
			names = append(names, one.Server.Name)
		}
	}
	if len(names) == 0 {
		return skipped, nil
	}
	if err := i.change(backup.Change{Path: path, Before: before, Next: next, Create: before == nil}); err != nil {
		return nil, err
	}
	i.Status("added %s to %s; accept each before it runs: callgate mcp trust NAME", strings.Join(names, ", "), path)
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
	for _, s := range sources {
		if at := slices.IndexFunc(skipped, func(f importer.FoundServer) bool { return f.Source == s }); at >= 0 {
			i.Status("callgate: %s stays as it is, because %s is not imported", s.Path, skipped[at].Name)
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
		if err := i.change(change); err != nil {
			return err
		}
		i.Status("%s now has only Callgate; callgate import --undo restores it", s.Path)
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

// change writes a file so that it can be restored.
func (i *imports) change(c backup.Change) error {
	dir, err := i.backupDir()
	if err != nil {
		return err
	}
	_, err = backup.Apply(c, dir)
	return err
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
		i.Status("there is nothing to undo")
	}
	code := 0
	for _, b := range list {
		if err := backup.Undo(b, i.force); err != nil {
			i.Status("callgate: %v", err)
			code = command.CodeOf(tool.KindOf(err))
			continue
		}
		if _, err := fmt.Fprintln(i.Stdout, text.Safe(b.Path)); err != nil {
			return command.WriteError(err)
		}
	}
	if code == command.CodeOf(tool.Conflict) {
		i.Status("  to restore what was changed since, too: %s import --undo --force", i.Self())
	}
	return command.Exit(code)
}

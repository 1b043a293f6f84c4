package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app/edit"
	"callgate/internal/cli/render"
	"callgate/internal/importer"
	"callgate/internal/importer/backup"
	"callgate/tool"
)

// importFlags are what import does beyond looking.
type importFlags struct {
	dryRun, apply, undo, force, keepSecrets bool
	clients                                 []string
}

func (p *program) importCommand() *cobra.Command {
	var f importFlags
	c := p.leaf("import [FILE ...]", "Take over the MCP servers that your coding agents already have", `  callgate import --dry-run        what is there
  callgate import                  write it into callgate.yaml
  callgate import --apply          and put Callgate in its place, in the agents' own files
  callgate import --undo           as it was`,
		cobra.ArbitraryArgs, func(ctx context.Context, args []string) error {
			if f.undo {
				return p.undoImport(f.force)
			}
			return p.importServers(ctx, args, f)
		})
	c.Long = `Reads the configurations of Claude Code and Desktop, Cursor, VS Code, Codex,
opencode, Gemini CLI, Qwen Code, Crush and Copilot, project and user, or the
files that are named (a server.json of the MCP registry too), and writes their
servers into this folder's app file. Secrets that stand there in plain text are
not copied: a reference takes their place, and what to set is said.`
	c.ValidArgsFunction = nil // files
	fl := c.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "only show what is there")
	fl.BoolVar(&f.apply, "apply", false, "put one Callgate entry in the place of the servers, in the agents' own files; the old ones are kept")
	fl.BoolVar(&f.undo, "undo", false, "give the agents' files back as they were")
	fl.BoolVar(&f.force, "force", false, "with --undo: also files that have changed since")
	fl.BoolVar(&f.keepSecrets, "keep-secrets", false, "copy secrets as they stand")
	fl.StringSliceVar(&f.clients, "client", nil, "only of these clients: "+strings.Join(importer.Clients(), ", "))
	c.MarkFlagsMutuallyExclusive("dry-run", "apply", "undo")
	return c
}

func (p *program) importServers(ctx context.Context, files []string, f importFlags) error {
	sources, err := p.importSources(files, f.clients)
	if err != nil {
		return err
	}
	env, err := p.importEnv()
	if err != nil {
		return err
	}
	var found []importer.FoundServer
	for _, s := range sources {
		list, problems := importer.Read(s, env, importer.Options{KeepSecrets: f.keepSecrets, SecretVars: true})
		found = append(found, list...)
		for _, problem := range problems {
			p.status("callgate: %s", problem)
		}
	}
	found = importer.Merge(found)
	if p.json {
		if err := p.writeJSON(found); err != nil {
			return err
		}
	} else if err := writeError(p.style(p.Stdout).Imported(p.Stdout, found)); err != nil {
		return err
	}
	if f.dryRun || len(found) == 0 {
		if len(found) == 0 {
			p.status("no MCP servers are configured here")
		}
		return nil
	}
	left, err := p.writeImported(ctx, found)
	if err != nil {
		return err
	}
	return p.replaceSources(sourcesOf(found), left, f.apply)
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

// importSources are the files to read: those that are named, or all there are.
func (p *program) importSources(files, clients []string) ([]importer.Source, error) {
	env, err := p.importEnv()
	if err != nil {
		return nil, err
	}
	var sources []importer.Source
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, &tool.Error{Op: "cli", Kind: tool.Invalid, Message: "the path " + tool.Truncate(file) + " cannot be followed", Err: err}
		}
		sources = append(sources, importer.SourceOf(path, env))
	}
	if len(files) == 0 {
		sources = importer.Find(env)
	}
	if len(clients) == 0 {
		return sources, nil
	}
	var some []importer.Source
	for _, s := range sources {
		for _, c := range clients {
			if s.Client == c {
				some = append(some, s)
			}
		}
	}
	return some, nil
}

func (p *program) importEnv() (importer.Env, error) {
	folder, err := p.folder()
	return importer.Env{Workspace: folder, Home: p.Getenv("HOME"), Getenv: p.Getenv}, err
}

// writeImported puts servers into the app file, all in one change, and returns
// those that could not be. Those that are there already stay as they are.
func (p *program) writeImported(ctx context.Context, found []importer.FoundServer) (left []importer.FoundServer, err error) {
	path, text, err := p.readApp()
	if err != nil {
		return nil, err
	}
	modules, err := p.builtinModules(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range found {
		if one.Disabled {
			left = append(left, one)
			continue
		}
		next, err := edit.AddServer(text, one.Server, modules)
		switch {
		case tool.KindOf(err) == tool.Conflict:
			p.status("callgate: %s is in the app file already, and stays as it is", one.Server.Name)
		case err != nil:
			p.status("callgate: %s is not taken over: %v", one.Server.Name, err)
			left = append(left, one)
		default:
			text = next
			names = append(names, one.Server.Name)
		}
	}
	if len(names) == 0 {
		return left, nil
	}
	if err := replaceFile(path, text); err != nil {
		return nil, err
	}
	p.status("wrote %s into %s; none runs before you accept it: callgate mcp trust NAME", strings.Join(names, ", "), path)
	return left, nil
}

// replaceSources puts Callgate in the servers' place, or says how to. A file
// with a server that was left behind stays as it is.
func (p *program) replaceSources(sources []importer.Source, left []importer.FoundServer, apply bool) error {
	entry := importer.Entry{Command: "callgate", Args: []string{"mcp"}}
	if self, err := os.Executable(); err == nil {
		entry.Command = self
	}
	dir, err := p.backupDir()
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, s := range sources {
		if !apply {
			if !told[s.Client] {
				told[s.Client] = true
				p.status("\n%s", importer.Snippet(s.Client, entry))
			}
			continue
		}
		if i := slices.IndexFunc(left, func(f importer.FoundServer) bool { return f.Source == s }); i >= 0 {
			p.status("callgate: %s stays as it is, because %s is not taken over", s.Path, left[i].Name)
			continue
		}
		change, err := importer.Replace(s, entry)
		if err != nil {
			p.status("callgate: %v", err)
			continue
		}
		if change.None() {
			continue
		}
		kept, err := backup.Apply(change, dir)
		if err != nil {
			return err
		}
		p.status("%s now has Callgate alone; callgate import --undo gives it back (%s)", s.Path, kept.ID)
	}
	return nil
}

func (p *program) backupDir() (string, error) {
	dir, err := p.stateDir()
	return filepath.Join(dir.String(), "backups"), err
}

// undoImport gives every file back, the newest change first.
func (p *program) undoImport(force bool) error {
	dir, err := p.backupDir()
	if err != nil {
		return err
	}
	list, err := backup.List(dir)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		p.status("nothing is to be undone")
	}
	var failed error
	for _, b := range list {
		if err := backup.Undo(b, force); err != nil {
			p.status("callgate: %v", err)
			failed = err
			continue
		}
		if _, err := fmt.Fprintln(p.Stdout, render.Safe(b.Path)); err != nil {
			return writeError(err)
		}
	}
	return failed
}

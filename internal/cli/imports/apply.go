package imports

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/app/edit"
	"callgate/internal/cli/appfile"
	"callgate/internal/cli/command"
	"callgate/internal/importer"
	"callgate/internal/importer/backup"
	"callgate/internal/protocol"
	"callgate/tool"
)

// What --secrets says.
const (
	move = "move"
	keep = "keep"
)

// takeOver writes the servers into the app files, moves their secrets, and puts
// Callgate in their place. A client's file is the last to be written: until then
// everything still stands where it was.
func (i *imports) takeOver(ctx context.Context, found []importer.FoundServer) error {
	moves, err := i.asksToMove(found)
	if err != nil {
		return err
	}
	modules, err := appfile.BuiltinModules(ctx, i.Env)
	if err != nil {
		return err
	}
	user, project := i.split(found)
	var skipped []importer.FoundServer
	for _, part := range []struct {
		found []importer.FoundServer
		file  func() (string, []byte, error)
		own   bool // it is the user's file
	}{{project, func() (string, []byte, error) { return appfile.Read(i.Env) }, false}, {user, i.readUserFile, true}} {
		if len(part.found) == 0 {
			continue
		}
		path, before, err := part.file()
		if err != nil {
			return err
		}
		left, err := i.writeApp(appFile{path, before, part.own}, part.found, modules)
		if err != nil {
			return err
		}
		skipped = append(skipped, left...)
	}
	if moves {
		if err := i.moveSecrets(ctx, found, skipped); err != nil {
			return err
		}
	}
	return i.replaceSources(sourcesOf(found), skipped)
}

// split parts the servers that are for everything that the user does from those
// of the project. Without a home there is no file of the user's.
func (i *imports) split(found []importer.FoundServer) (user, project []importer.FoundServer) {
	for _, one := range found {
		if one.ForUser() && i.UserFile() != "" {
			user = append(user, one)
		} else {
			project = append(project, one)
		}
	}
	return user, project
}

func (i *imports) readUserFile() (string, []byte, error) {
	path := i.UserFile()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	if err != nil {
		return "", nil, &tool.Error{Op: "cli", Kind: tool.Failed, Message: "the user's app file cannot be read", Err: err}
	}
	return path, text, nil
}

// appFile is an app file that servers are written into.
type appFile struct {
	path   string
	before []byte // nil: there is none yet
	user   bool   // it is the user's, and not a project's
}

// writeApp puts servers into an app file, all in one change. A server that is
// there already stays as it is. It returns those that were skipped.
func (i *imports) writeApp(
	file appFile, found []importer.FoundServer, modules []string,
) (skipped []importer.FoundServer, err error) {
	var names []string
	next := file.before
	for _, one := range found {
		if one.Disabled {
			skipped = append(skipped, one)
			continue
		}
		if one.Server.Command != "" && !file.user { // it ran beside the client until now
			one.Server.Isolation.Mode = "contained"
		}
		more, err := edit.AddServer(next, one.Server, modules)
		switch {
		case tool.KindOf(err) == tool.Conflict:
			i.Status("callgate: %s is already in the app file %s, and stays as it is", one.Server.Name, file.path)
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
	change := backup.Change{
		Path: file.path, Before: file.before, Next: next, Create: file.before == nil, Private: file.user,
	}
	if err := i.change(change); err != nil {
		return nil, err
	}
	where := file.path
	if file.user {
		where += ", which is in force in every folder"
	}
	i.Status("added %s to %s; accept them before they run: callgate mcp trust --all", strings.Join(names, ", "), where)
	return skipped, nil
}

// asksToMove decides whether the secrets that were found go into the store. With
// --apply the only other place of their values is taken away, so somebody has to
// say what becomes of them.
func (i *imports) asksToMove(found []importer.FoundServer) (bool, error) {
	var names []string
	for _, one := range found {
		for _, s := range one.Secrets() {
			if !one.Disabled && !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	switch {
	case len(names) == 0 || i.secrets == move:
		return len(names) > 0, nil
	case i.AtTerminal():
		i.Status("%s in plain text: %s", amount.Of(len(names), "secret"), strings.Join(names, ", "))
		return i.Confirm(false, "Move them into the store of callgate secrets?")
	case i.apply:
		return false, tool.Errorf("cli", tool.Invalid, "the clients' files hold %s in plain text: %s",
			amount.Of(len(names), "secret"), strings.Join(names, ", ")).
			WithHint("say --secrets move to put them into the store, or --secrets keep to copy them as they are")
	}
	return false, nil // the notes say which to set, and where their values are
}

// moveSecrets puts the secrets of the servers that were imported into the store.
// A secret that the store has already stays as it is.
func (i *imports) moveSecrets(ctx context.Context, found, skipped []importer.FoundServer) error {
	dir, err := i.backupDir()
	if err != nil {
		return err
	}
	return i.WithKey(ctx, func(k *command.Kernel) error {
		kept, err := k.Secrets().List(ctx)
		if err != nil {
			return err
		}
		has := func(name string) bool {
			return slices.ContainsFunc(kept, func(s protocol.Secret) bool { return s.Name == name })
		}
		var moved []string
		for _, s := range secretsOf(found, skipped) {
			if has(s.Name) {
				i.Status("callgate: there is a secret %s already, and it stays as it is", s.Name)
				continue
			}
			if err := k.Secrets().Set(ctx, s.Name, protocol.SetSecret{Value: []byte(s.Value), By: i.UserName()}); err != nil {
				return err
			}
			moved = append(moved, s.Name)
		}
		if kept, err = k.Secrets().List(ctx); err != nil {
			return err
		}
		for _, s := range kept {
			if slices.Contains(moved, s.Name) {
				if err := backup.KeepSecret(s.Name, s.Set, dir); err != nil {
					return err
				}
			}
		}
		if len(moved) > 0 {
			i.Status("moved into the store of secrets: %s", strings.Join(moved, ", "))
		}
		return nil
	})
}

// secretsOf are the secrets of the servers that were not skipped, each once.
func secretsOf(found, skipped []importer.FoundServer) []importer.Secret {
	var all []importer.Secret
	for _, one := range found {
		same := func(s importer.FoundServer) bool { return s.Server.Name == one.Server.Name }
		if slices.ContainsFunc(skipped, same) {
			continue
		}
		for _, s := range one.Secrets() {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// sourcesOf are the files that servers were found in.
func sourcesOf(found []importer.FoundServer) []importer.Source {
	var list []importer.Source
	for _, f := range found {
		for _, s := range f.Sources() {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// entry is how clients start this program, with what decides where its kernel
// and the user's app file are: clients pass on few variables.
func (i *imports) entry() importer.Entry {
	entry := importer.Entry{Command: "callgate", Args: []string{"mcp"}}
	if self, err := os.Executable(); err == nil {
		entry.Command = self
	}
	for _, name := range []string{"CALLGATE_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		value := i.Getenv(name)
		if name == "CALLGATE_STATE" && i.State != "" {
			value = i.State
		}
		if filepath.IsAbs(value) {
			entry.Env = append(entry.Env, importer.Variable{Name: name, Value: value})
		}
	}
	return entry
}

// replaceSources puts Callgate in the place of the servers, or prints how to. A
// file with a server that was skipped stays as it is.
func (i *imports) replaceSources(sources []importer.Source, skipped []importer.FoundServer) error {
	entry, home := i.entry(), i.Getenv("HOME")
	if !i.apply {
		printed := map[string]bool{}
		for _, s := range sources {
			if !printed[s.Client] {
				printed[s.Client] = true
				i.Status("\n%s", importer.Snippet(s.Client, entry.Placed(s, home)))
			}
		}
		return nil
	}
	for _, s := range sources {
		stays := func(f importer.FoundServer) bool { return slices.Contains(f.Sources(), s) }
		if at := slices.IndexFunc(skipped, stays); at >= 0 {
			i.Status("callgate: %s stays as it is, because %s is not imported", s.Path, skipped[at].Name)
			continue
		}
		change, err := importer.Replace(s, entry.Placed(s, home))
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

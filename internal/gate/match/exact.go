package match

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"callgate/internal/gate/shellcmd"
)

// keyAll holds all arguments of an exact call; beside it keyPaths holds the paths that they
// meant, keyFiles the digests of the scripts that its command line names, and keyOwn the
// folders in which it ran what the workspace has not.
const (
	keyAll   = "="
	keyPaths = "=paths"
	keyFiles = "=files"
	keyOwn   = "=own"
)

// exactCall is one call with all its arguments.
type exactCall struct {
	args  map[string]any
	paths map[string]any // parameter to list, relative to the workspace; nil: not kept
	files map[string]any // path, relative to the workspace, to the digest of a script; nil: none is named
	own   []any          // folders, relative to the workspace; nil: none, or not kept
}

// unimportant are the arguments of shell.bash that do not change what is done.
var unimportant = []string{"description", "timeout"}

// Exact returns the pattern of the calls with exactly these arguments.
func Exact(args map[string]any) *Pattern {
	return &Pattern{exact: &exactCall{args: plain(args).(map[string]any)}}
}

// ExactCall returns the pattern of this very call: the same arguments, which name
// the same files. What a command line is said to do does not count.
func ExactCall(c *Call) *Pattern {
	e := &exactCall{args: plain(c.significant(c.Args)).(map[string]any)}
	if len(c.Paths) > 0 {
		e.paths = c.relativePaths()
	}
	if text, ok := c.Args[paramCommand].(string); ok {
		e.files, ok = c.scripts(text)
		if !ok {
			return nil
		}
		for _, dir := range c.ownFolders(text) {
			e.own = append(e.own, dir)
		}
	}
	return &Pattern{exact: e}
}

// scripts are the files that a command line runs, with the digests of what is in them. It
// returns false if one is not known before the line runs, or cannot be read.
func (c *Call) scripts(text string) (files map[string]any, ok bool) {
	for _, cmd := range c.line(text).Each() {
		for _, w := range cmd.Scripts() {
			for _, place := range cmd.Places() {
				if !w.Static || place == shellcmd.Anywhere {
					return nil, false
				}
				path := c.resolve(c.resolve(c.start(), place), w.Text)
				if !isWithin(c.Workspace, path) {
					continue // the sandbox keeps what commands cannot write
				}
				digest := c.disk().Digest(path)
				if digest == "" {
					return nil, false
				}
				if files == nil {
					files = map[string]any{}
				}
				files[c.relative(path)] = digest
			}
		}
	}
	return files, true
}

// isUnchanged reports whether the scripts that the call names are what they were, and its
// folders bring nothing that they did not.
func (e *exactCall) isUnchanged(c *Call) bool {
	for path, digest := range e.files {
		if c.disk().Digest(c.resolve(c.Workspace, path)) != digest {
			return false
		}
	}
	text, ok := c.Args[paramCommand].(string)
	if !ok {
		return true
	}
	return !slices.ContainsFunc(c.ownFolders(text), func(dir string) bool { return !slices.Contains(e.own, any(dir)) })
}

// Scripts are the files, relative to the workspace, to whose content the pattern is bound.
func (p *Pattern) Scripts() []string {
	if p.exact == nil {
		return nil
	}
	return sortedKeys(p.exact.files)
}

// bound says what an exact call is bound to beside its arguments.
func (e *exactCall) bound() string {
	text := ""
	for _, path := range sortedKeys(e.files) {
		digest, _ := e.files[path].(string)
		text += ", with " + quote(path) + " as it is (sha256 " + digest + ")"
	}
	for _, dir := range e.own {
		text += ", in " + compact(dir) + ", which brings its own files that programs run"
	}
	return text
}

func (e *exactCall) fits(c *Call) bool {
	if !reflect.DeepEqual(c.significant(e.args), plain(c.significant(c.Args))) {
		return false
	}
	return e.paths == nil || reflect.DeepEqual(e.paths, c.relativePaths())
}

// key is the arguments without those that only describe a call of the shell.
func (e *exactCall) key() string { return compact(withoutDescription(e.args)) }

func (c *Call) key() string { return compact(withoutDescription(plain(c.Args).(map[string]any))) }

// significant leaves out what only describes a call of the shell.
func (c *Call) significant(args map[string]any) map[string]any {
	if c.Module != "shell" {
		return args
	}
	return withoutDescription(args)
}

func withoutDescription(args map[string]any) map[string]any {
	args = maps.Clone(args)
	maps.DeleteFunc(args, func(name string, _ any) bool { return slices.Contains(unimportant, name) })
	return args
}

func (c *Call) relativePaths() map[string]any {
	m := make(map[string]any, len(c.Paths))
	for param, paths := range c.Paths {
		list := make([]any, len(paths))
		for i, p := range paths {
			if rel, err := filepath.Rel(c.Workspace, p); err == nil {
				p = rel
			}
			list[i] = filepath.ToSlash(p)
		}
		m[param] = list
	}
	return m
}

func (e *exactCall) form() map[string]any {
	m := map[string]any{keyAll: e.args}
	if e.paths != nil {
		m[keyPaths] = e.paths
	}
	if len(e.files) > 0 {
		m[keyFiles] = e.files
	}
	if len(e.own) > 0 {
		m[keyOwn] = e.own
	}
	return m
}

func compileExact(m map[string]any, form any) (*Pattern, error) {
	args, ok := plain(form).(map[string]any)
	if !ok {
		return nil, &Error{keyAll, describe(form), "all arguments of the call, as a mapping"}
	}
	e := &exactCall{args: args}
	for _, key := range sortedKeys(m) {
		switch key {
		case keyAll:
		case keyPaths:
			if e.paths, ok = plain(m[key]).(map[string]any); !ok {
				return nil, &Error{key, describe(m[key]), "the paths by parameter, as a mapping"}
			}
		case keyFiles:
			if e.files, ok = plain(m[key]).(map[string]any); !ok {
				return nil, &Error{key, describe(m[key]), "the digests of files by path, as a mapping"}
			}
		case keyOwn:
			if e.own, ok = plain(m[key]).([]any); !ok {
				return nil, &Error{key, describe(m[key]), "a list of folders"}
			}
		default:
			return nil, &Error{key, "beside =", "= alone: it holds all arguments of the call"}
		}
	}
	return &Pattern{exact: e}, nil
}

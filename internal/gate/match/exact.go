package match

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
)

// keyAll holds all arguments of an exact call; keyPaths, beside it, the paths
// that they meant.
const (
	keyAll   = "="
	keyPaths = "=paths"
)

// exactCall is one call with all its arguments.
type exactCall struct {
	args  map[string]any
	paths map[string]any // parameter to list, relative to the workspace; nil: not kept
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
	return &Pattern{exact: e}
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
		default:
			return nil, &Error{key, "beside =", "= alone: it holds all arguments of the call"}
		}
	}
	return &Pattern{exact: e}, nil
}

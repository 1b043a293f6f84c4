package match

import (
	"maps"
	"path"
	"path/filepath"
	"slices"

	"callgate/internal/gate/shellcmd"
	"callgate/internal/weburl"
)

// Suggest returns patterns that a human may keep after a yes to a call, narrowest
// first: for a command its program and subcommand with any arguments, for a file
// the folder that it is in, for what leaves the machine its destination. All of them fit
// the call. It may return none.
func Suggest(c *Call) []*Pattern {
	var forms []map[string]any
	if text, ok := c.Args[paramCommand].(string); ok {
		for _, list := range shellcmd.Suggest(c.line(text)) {
			forms = append(forms, map[string]any{paramCommand: oneOrList(list)})
		}
		forms = append(forms, c.inFolder(forms)...)
	} else {
		if len(c.Paths) > 0 {
			forms = c.suggestFolders()
		}
		forms = c.boundToDestinations(forms)
	}
	var out []*Pattern
	for _, form := range forms {
		p, err := Compile(form)
		if err != nil || slices.ContainsFunc(out, func(q *Pattern) bool { return q.String() == p.String() }) {
			continue
		}
		if p.Fits(c) {
			out = append(out, p)
		}
	}
	return out
}

// inFolder are the forms for the very folder that a command runs in, which count where the
// others do not.
func (c *Call) inFolder(forms []map[string]any) (there []map[string]any) {
	dir, _ := c.Args[paramFolder].(string)
	if dir == "" || c.start() == c.Workspace {
		return nil
	}
	for _, form := range forms {
		if p, err := Compile(form); err == nil && !p.Fits(c) {
			there = append(there, map[string]any{paramCommand: form[paramCommand], paramFolder: map[string]any{keyExact: dir}})
		}
	}
	return there
}

// boundToDestinations adds to each form where the call sends data: the scheme, host and
// port of an address, with any path, and any other destination as it is. Without another
// form that alone is one. A destination that cannot be written takes all forms away.
func (c *Call) boundToDestinations(forms []map[string]any) []map[string]any {
	bound := map[string]any{}
	for _, param := range c.Destinations {
		value, ok := c.Args[param]
		if !ok || value == nil || value == "" {
			continue
		}
		bound[param] = map[string]any{keyExact: value}
		if text, ok := value.(string); ok {
			if u, err := weburl.Parse(text); err == nil && u.User == nil {
				bound[param] = u.Destination() + "/**"
			}
		}
	}
	switch {
	case len(bound) == 0:
		return forms
	case len(forms) == 0 && len(c.Paths) == 0:
		return []map[string]any{bound}
	}
	for _, form := range forms {
		maps.Copy(form, bound)
	}
	return forms
}

func oneOrList(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// suggestFolders offers the files themselves, their kind in the folder, the
// folder, and the outermost folder.
func (c *Call) suggestFolders() []map[string]any {
	steps := []func(rel string) string{
		func(rel string) string { return escapeGlob(rel) },
		func(rel string) string {
			if ext := path.Ext(rel); ext != "" && ext != path.Base(rel) {
				return path.Join(escapeGlob(path.Dir(rel)), "*"+escapeGlob(ext))
			}
			return ""
		},
		func(rel string) string { return below(path.Dir(rel)) },
		func(rel string) string {
			for path.Dir(rel) != "." {
				rel = path.Dir(rel)
			}
			return below(rel)
		},
	}
	var forms []map[string]any
	for i, step := range steps {
		form := make(map[string]any, len(c.Paths))
		for param, paths := range c.Paths {
			var list []string
			for _, p := range paths {
				rel, err := filepath.Rel(c.Workspace, p)
				if err != nil || rel == "." || !filepath.IsLocal(rel) {
					return nil
				}
				glob := step(filepath.ToSlash(rel))
				if glob == "" || i == 3 && path.Dir(filepath.ToSlash(rel)) == "." {
					return forms
				}
				if !slices.Contains(list, glob) {
					list = append(list, glob)
				}
			}
			if len(list) > 0 {
				form[param] = oneOrList(list)
			}
		}
		forms = append(forms, form)
	}
	return forms
}

// below is everything in a folder; nothing is offered for the whole workspace.
func below(dir string) string {
	if dir == "." {
		return ""
	}
	return escapeGlob(dir) + "/**"
}

// escapeGlob writes a path as a glob that means that path alone.
func escapeGlob(s string) string {
	var out []byte
	for i := range len(s) {
		if slices.Contains([]byte(`*?[{}\`), s[i]) {
			out = append(out, '\\')
		}
		out = append(out, s[i])
	}
	return string(out)
}

package match

import (
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"callgate/internal/gate/shellcmd"
	"callgate/internal/module/filesystem/pathglob"
)

// exactTest is one value.
type exactTest struct{ want any }

func (t exactTest) fits(_ *Call, _ string, v any) bool { return reflect.DeepEqual(t.want, plain(v)) }

func (t exactTest) touches(c *Call, param string, v any) Answer { return anyItem(c, param, v, t.fits) }

// rangeTest is a number from min to max.
type rangeTest struct{ min, max float64 }

func (t rangeTest) fits(_ *Call, _ string, v any) bool {
	n, ok := plain(v).(float64)
	return ok && t.min <= n && n <= t.max
}

func (t rangeTest) touches(c *Call, param string, v any) Answer { return anyItem(c, param, v, t.fits) }

// anyItem reports whether a value fits, or an item of it if it is a list.
func anyItem(c *Call, param string, v any, fits func(*Call, string, any) bool) Answer {
	if fits(c, param, v) {
		return Yes
	}
	list, _ := v.([]any)
	for _, item := range list {
		if fits(c, param, item) {
			return Yes
		}
	}
	return No
}

// literalTest is a text or a path without wildcards.
type literalTest string

func (t literalTest) matches(c *Call, s string, bound bool) bool {
	if !bound {
		return s == string(t)
	}
	want := string(t)
	if !path.IsAbs(want) {
		want = path.Join(filepath.ToSlash(c.Workspace), want)
	}
	return filepath.ToSlash(s) == path.Clean(want)
}

func (t literalTest) matchesBelow(c *Call, folder string) bool {
	want := string(t)
	if !path.IsAbs(want) {
		want = path.Join(filepath.ToSlash(c.Workspace), want)
	}
	return strings.HasPrefix(path.Clean(want)+"/", strings.TrimSuffix(filepath.ToSlash(folder), "/")+"/")
}

func (t literalTest) fits(c *Call, param string, v any) bool {
	list, bound := texts(c, param, v)
	return len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return !t.matches(c, s, bound) })
}

func (t literalTest) touches(c *Call, param string, v any) Answer {
	return anyText(c, param, v, t)
}

// globTest is a pattern of paths.
type globTest struct {
	glob     *pathglob.Pattern
	absolute bool
}

func (t globTest) matches(c *Call, s string, bound bool) bool {
	if !bound {
		s = strings.Replace(s, "://", ":/", 1) // a pattern has no empty names
		return t.glob.Matches(strings.TrimPrefix(s, "/"), true) && t.absolute == strings.HasPrefix(s, "/")
	}
	if t.absolute {
		return t.glob.Matches(strings.TrimPrefix(filepath.ToSlash(s), "/"), true)
	}
	rel, err := filepath.Rel(c.Workspace, s)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return false
	}
	return t.glob.Matches(filepath.ToSlash(rel), true)
}

func (t globTest) matchesBelow(c *Call, folder string) bool {
	from := "/"
	if !t.absolute {
		from = c.Workspace
	}
	rel, err := filepath.Rel(from, folder)
	if err != nil {
		return false
	}
	at := t.glob.Start()
	if rel != "." {
		for name := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
			at = t.glob.Step(at, name, true)
		}
	}
	return t.glob.CanMatchBelow(at)
}

func (t globTest) fits(c *Call, param string, v any) bool { return everyText(c, param, v, t.matches) }

func (t globTest) touches(c *Call, param string, v any) Answer {
	return anyText(c, param, v, t)
}

// everyText reports whether every text of an argument fits a glob. A text that is not
// bound as a path and holds "." or ".." names, or empty ones, could mean another
// place than it seems to, and fits nothing.
func everyText(c *Call, param string, v any, fits func(*Call, string, bool) bool) bool {
	list, bound := texts(c, param, v)
	for _, s := range list {
		if !bound && winding(s) || !fits(c, s, bound) {
			return false
		}
	}
	return len(list) > 0
}

// pathTest is a test of texts.
type pathTest interface {
	matches(c *Call, s string, bound bool) bool
	// matchesBelow reports whether something in a folder can match.
	matchesBelow(c *Call, folder string) bool
}

func anyText(c *Call, param string, v any, t pathTest) Answer {
	list, bound := texts(c, param, v)
	best := No
	for _, s := range list {
		if t.matches(c, s, bound) {
			return Yes
		}
		if !bound && winding(s) {
			if t.matches(c, path.Clean(s), bound) {
				return Yes
			}
			best = Unsure
		}
		if bound && c.Folders[s] && t.matchesBelow(c, s) {
			best = Unsure
		}
		if slices.ContainsFunc(c.Entries[s], func(entry string) bool { return t.matches(c, entry, true) }) {
			best = Unsure
		}
	}
	return best
}

// texts returns the texts of an argument, or the canonical paths that they are
// bound to. A list that holds anything but texts gives none.
func texts(c *Call, param string, v any) (list []string, bound bool) {
	if paths, ok := c.Paths[param]; ok {
		return paths, true
	}
	switch v := v.(type) {
	case string:
		return []string{v}, false
	case []any:
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
	}
	return list, false
}

// winding reports whether a text has names that go nowhere or up.
func winding(s string) bool {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	for name := range strings.SplitSeq(s, "/") {
		if name == "." || name == ".." {
			return true
		}
	}
	return strings.Contains(s, "//")
}

// commandTest is a pattern of commands.
type commandTest struct{ pattern *shellcmd.Pattern }

func (t commandTest) fits(c *Call, _ string, v any) bool {
	text, ok := v.(string)
	return ok && c.allowed(text, t.pattern.Allows)
}

func (t commandTest) touches(c *Call, _ string, v any) Answer {
	text, ok := v.(string)
	if !ok {
		return No
	}
	found, sure := c.line(text).Touches(t.pattern)
	switch {
	case found:
		return Yes
	case !sure:
		return Unsure
	}
	return No
}

package app

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/internal/gate/policy"
	"callgate/internal/nearest"
	"callgate/tool"
)

// names lists the modules that an app file may turn on, in order.
func (k KnownModules) names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if !k[name].AlwaysOn {
			names = append(names, name)
		}
	}
	return names
}

// nameRef is a place where the file names a module, and perhaps an action.
type nameRef struct {
	at             position
	module, action string
	permits        bool // the place would permit something
}

func (d *decoder) mention(path, module, action string, permits bool) {
	d.mentions = append(d.mentions, nameRef{d.places[path], module, action, permits})
}

// compile has policy judge the rules, points at what it refuses, and looks up
// every name that the file mentions.
func (d *decoder) compile() {
	warned := make(map[string]bool) // of modules that do not exist, each once
	for _, m := range d.mentions {
		if _, ok := d.known[m.module]; ok || !warned[m.module] {
			warned[m.module] = true
			d.lookup(m)
		}
	}
	rules, err := policy.Compile(d.block, d.constraints)
	var e *tool.Error
	switch {
	case err == nil:
		d.app.Rules = rules
	case errors.As(err, &e) && len(e.Fields) > 0:
		for _, f := range e.Fields {
			path := "tools." + f.Path
			d.fail(d.nearestPosition(path), "write "+f.Want, "%s is %s", tool.TruncateTo(path, 200), f.Got)
		}
	default:
		d.fail(position{}, "", "%s", err)
	}
}

// nearestPosition is where a path stands, or else the nearest thing around it.
func (d *decoder) nearestPosition(path string) position {
	for path != "" {
		if at, ok := d.places[path]; ok {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return position{}
}

// lookup reports an action that its module does not have, and warns of a
// module that does not exist: it may come later, as an MCP server's does.
func (d *decoder) lookup(m nameRef) {
	known, ok := d.known[m.module]
	switch {
	case m.module == "" || m.module == "*" || !ok && d.isServer(m.module):
	case !ok:
		text := "there is no module " + quote(m.module) + " here, so this waits until there is one"
		if close := closestName(m.module, slices.Sorted(maps.Keys(d.known))); close != "" {
			text += "; did you mean " + close + "?"
		}
		d.warn(m.at, text)
	case ok && m.action == "" && m.permits && d.listed && !known.AlwaysOn && !d.on(m.module):
		d.warn(m.at, "the module "+m.module+" is off, because tools.modules does not list it")
	case ok && m.action != "" && m.action != "*" && len(known.Actions) > 0 && !slices.Contains(known.Actions, m.action):
		if bare := strings.TrimPrefix(m.action, m.module+"."); slices.Contains(known.Actions, bare) {
			d.fail(m.at, "write "+bare, "an action is named without its module here, and this is %s", quote(m.action))
			return
		}
		d.fail(m.at, didYouMean(m.action, slices.Compact(slices.Sorted(slices.Values(known.Actions))), "its actions are"), "the module %s has no action %s", m.module, quote(m.action))
	}
}

func (d *decoder) on(module string) bool {
	return slices.ContainsFunc(d.app.Modules, func(m Module) bool { return m.Name == module })
}

func (d *decoder) warn(at position, text string) {
	if full := d.where(at) + ": " + text; !slices.Contains(d.app.Warnings, full) {
		d.app.Warnings = append(d.app.Warnings, full)
	}
}

// didYouMean is the way out of a name that does not exist.
func didYouMean(name string, among []string, all string) string {
	if len(among) == 0 {
		return all + " none"
	}
	out := fmt.Sprintf("%s %s", all, strings.Join(among, ", "))
	if close := closestName(name, among); close != "" {
		out = "did you mean " + close + "? " + out
	}
	return out
}

// closestName returns the name that was probably meant, or "": one that was cut
// short, or mistyped.
func closestName(name string, among []string) string {
	for _, candidate := range among {
		if len(name) >= 3 && strings.HasPrefix(candidate, name) {
			return candidate
		}
	}
	return nearest.Name(strings.ReplaceAll(name, "-", "_"), among)
}

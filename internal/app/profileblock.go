package app

import (
	"maps"
	"slices"
	"strings"

	"callgate/internal/app/node"
	"callgate/tool"
)

// profileRef is where a profile names a server, or a module and perhaps an action
// of it.
type profileRef struct {
	moduleRef
	server string // "": the module is named
}

const profileGives = "name some, such as modules: [filesystem], servers: [github] or actions: [git.status]"

// profilesBlock reads the profiles, each by its name.
func (f *file) profilesBlock(e node.Entry) {
	const form = "write each profile by its name, and under it modules, servers, actions or surface"
	for _, in := range f.Entries(e, form) {
		if !profileForm.MatchString(in.Key) {
			f.Fail(in.KeyAt, "use lower-case letters, digits, - and _, at most 40",
				"%s cannot name a profile", node.Quote(in.Key))
			continue
		}
		f.app.Profiles = append(f.app.Profiles, f.profile(in))
	}
}

func (f *file) profile(e node.Entry) Profile {
	p := Profile{Name: e.Key}
	f.Mapping(levelProfile, e, map[string]node.Read{
		"modules": func(in node.Entry) {
			f.Texts(&p.Modules, "name the modules, such as [filesystem, git]")(in)
			for i, name := range p.Modules {
				f.noteInProfile(in.Item(i), profileRef{moduleRef: moduleRef{module: name}})
			}
		},
		"servers": func(in node.Entry) {
			f.Texts(&p.Servers, "name the MCP servers, such as [github]")(in)
			for i, name := range p.Servers {
				f.noteInProfile(in.Item(i), profileRef{server: name})
			}
		},
		"actions": func(in node.Entry) {
			f.Texts(&p.Actions, "name the actions, such as [filesystem.read, mcp_github.get_issue]")(in)
			for i, name := range p.Actions {
				module, action, err := tool.ParseDotted(name)
				if name != "" && err != nil {
					f.Fail(f.Position(in.Item(i)), "write the module and the action, such as filesystem.read",
						"%s is no action", node.Quote(name))
					continue
				}
				f.noteInProfile(in.Item(i), profileRef{moduleRef: moduleRef{module: module, action: action}})
			}
		},
		"surface": func(in node.Entry) {
			f.Choice(&p.Surface, "auto", "direct", "compact_direct", "discovery")(in)
			if p.Surface == "auto" {
				p.Surface = ""
			}
		},
	})
	if len(p.Modules)+len(p.Servers)+len(p.Actions) == 0 {
		f.Fail(e.KeyAt, profileGives, "the profile %s gives nothing", p.Name)
	}
	return p
}

func (f *file) noteInProfile(path string, ref profileRef) {
	ref.Reader, ref.at = f.Reader, f.Position(path)
	f.links.profiles = append(f.links.profiles, ref)
}

// linkProfiles reports what a profile names and nobody has: a client would be given
// less than is written, and nobody would know why.
func (f *file) linkProfiles() {
	if f.partial {
		return
	}
	for _, ref := range f.links.profiles {
		switch known, ok := f.known[ref.module]; {
		case ref.server != "":
			f.linkServer(ref)
		case ref.module == "": // it was reported where it stands
		case ref.action == "" && strings.HasPrefix(ref.module, mcpModule+"_"):
			ref.Fail(ref.at, "write servers: ["+strings.TrimPrefix(ref.module, mcpModule+"_")+"]",
				"a profile names the servers that it gives in servers, and this is %s", node.Quote(ref.module))
		case !ok && !isOutside(f.app, ref.module):
			f.linkModule(ref)
		case ref.action != "" && len(known.Actions) > 0:
			lookupAction(ref.moduleRef, f.known.Actions(ref.module))
		}
	}
}

// linkModule reports a module that does not exist. That of an executable may come
// later, when its manifest is mended.
func (f *file) linkModule(ref profileRef) {
	names := slices.Sorted(maps.Keys(f.known))
	servers := f.serverNames()
	switch {
	case slices.Contains(servers, ref.module) && ref.action == "":
		ref.Fail(ref.at, "write servers: ["+ref.module+"]", "%s is an MCP server, and no module", node.Quote(ref.module))
	case slices.Contains(servers, ref.module):
		ref.Fail(ref.at, "write "+ServerModule(ref.module)+"."+ref.action,
			"%s is an MCP server, and no module", node.Quote(ref.module))
	case len(f.app.Dirs) > 0 && node.Closest(ref.module, names) == "":
		f.warn(ref.Reader, ref.at, "there is no module "+node.Quote(ref.module)+" here, so this gives nothing")
	default:
		ref.Fail(ref.at, node.DidYouMean(ref.module, names, "the modules are"),
			"there is no module %s", node.Quote(ref.module))
	}
}

func (f *file) linkServer(ref profileRef) {
	if servers := f.serverNames(); !slices.Contains(servers, ref.server) &&
		!slices.Contains(slices.Collect(maps.Keys(f.known)), ServerModule(ref.server)) {
		ref.Fail(ref.at, node.DidYouMean(ref.server, servers, "the servers are"),
			"there is no MCP server %s", node.Quote(ref.server))
	}
}

// serverNames are the servers that the file may name: its own, and those whose
// modules are known.
func (f *file) serverNames() []string {
	var names []string
	for _, s := range f.app.Servers {
		names = append(names, s.Name)
	}
	for name := range f.known {
		server, ok := strings.CutPrefix(name, mcpModule+"_")
		if ok && !isOutside(f.app, name) {
			names = append(names, server)
		}
	}
	slices.Sort(names)
	return names
}

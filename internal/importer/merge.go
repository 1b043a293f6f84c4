package importer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/importer/hide"
)

const maxName = 40 // of a server in an app file

var notInServer = regexp.MustCompile(`[^a-z0-9_-]+`)

// validName makes a name one that an app file takes for a server.
func validName(name string) string {
	name = notInServer.ReplaceAllString(strings.ToLower(name), "-")
	name = strings.Trim(name, "-_")
	if name = strings.TrimRight(name[:min(len(name), maxName)], "-_"); name == "" {
		return "server"
	}
	return name
}

// Merge gives the servers of several configs unique names. Equal servers of one
// name become one; different servers of one name get a number, and a note says
// so. Those that come first keep their names.
func Merge(found []FoundServer) []FoundServer {
	var all []FoundServer
	byModule := map[string]int{} // by the names of their modules, where more names are equal
	byPrint := map[[32]byte]int{}
	for _, f := range found {
		at, taken := uniqueName(byModule, all, &f)
		if taken {
			first := &all[at]
			first.Disabled = first.Disabled && f.Disabled
			if first.Source.Path != f.Source.Path {
				first.note("it stands in %s too", f.Source.Path)
			}
			first.Also = append(first.Also, f.Source)
			continue
		}
		if other, ok := byPrint[f.fingerprint]; ok {
			f.note("it is the same as the server %s", all[other].Server.Name)
		} else {
			byPrint[f.fingerprint] = len(all)
		}
		byModule[app.ServerModule(f.Server.Name)] = len(all)
		all = append(all, f)
	}
	return all
}

// uniqueName gives a server a name that no other has, or finds the same server.
func uniqueName(byModule map[string]int, all []FoundServer, f *FoundServer) (at int, same bool) {
	base := f.Server.Name
	for n := 2; ; n++ {
		at, taken := byModule[app.ServerModule(f.Server.Name)]
		if !taken {
			if f.Server.Name != base {
				f.note("another server is called %s, in %s", base, all[byModule[app.ServerModule(base)]].Source.Path)
			}
			return 0, false
		}
		if all[at].fingerprint == f.fingerprint {
			return at, true
		}
		suffix := fmt.Sprintf("-%d", n)
		f.rename(strings.TrimRight(base[:min(len(base), maxName-len(suffix))], "-_") + suffix)
	}
}

func (f *FoundServer) note(format string, args ...any) {
	f.Notes = append(f.Notes[:len(f.Notes):len(f.Notes)], fmt.Sprintf(format, args...))
}

// rename gives the server another name, and its own secrets too: two servers must
// not share a secret that only one of them was given.
func (f *FoundServer) rename(name string) {
	old := f.Server.Name
	f.Server = clone(f.Server)
	f.Server.Name = name
	notes := slices.Clone(f.Notes)
	for _, secret := range f.hidden {
		was, is := hide.ServerSecret(old, secret), hide.ServerSecret(name, secret)
		each(&f.Server, func(text string) string {
			return strings.ReplaceAll(text, "{{secret."+was+"}}", "{{secret."+is+"}}")
		})
		for i := range notes {
			notes[i] = strings.ReplaceAll(notes[i], "the secret "+was+" ", "the secret "+is+" ")
		}
	}
	was, is := "tools.modules."+app.ServerModule(old)+".", "tools.modules."+app.ServerModule(name)+"."
	for i := range notes {
		notes[i] = strings.ReplaceAll(notes[i], was, is)
	}
	f.Notes = notes
}

// clone is a server whose texts may be changed.
func clone(s app.Server) app.Server {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	if s.OAuth != nil {
		o := *s.OAuth
		s.OAuth = &o
	}
	return s
}

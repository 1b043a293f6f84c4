package servers

import (
	"maps"
	"slices"

	"callgate/internal/source/mcp"
)

// Launch is what a server runs, or where it is reached, in its parts, for a
// human who looks at many servers at once. It has the names of the variables
// and headers that the server is given, never a value.
type Launch struct {
	Command string
	Args    []string
	Dir     string   // empty: the app's folder
	Env     []string // names, sorted
	URL     string
	Headers []string // names, sorted
}

// Names returns the names of the servers, in the app's order.
func (v Scoped) Names() []string {
	var names []string
	for _, one := range v.set.sources(v.scope) {
		names = append(names, one.Config().Name)
	}
	return names
}

func newLaunch(c mcp.Config) Launch {
	env := slices.AppendSeq(slices.Clone(c.EnvAllow), maps.Keys(c.Env))
	slices.Sort(env)
	args := slices.Clone(c.Args)
	for i := range args {
		args[i] = hide(c, args[i])
	}
	return Launch{
		Command: hide(c, c.Command), Args: args, Dir: hide(c, c.Dir), Env: slices.Compact(env),
		URL: hide(c, c.URL), Headers: slices.Sorted(maps.Keys(c.Headers)),
	}
}

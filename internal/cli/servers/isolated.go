package servers

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/app"
	"callgate/internal/cli/command"
	"callgate/internal/source/mcp/isolation"
)

// isolated is the isolation of a server that a command adds, and its flags.
type isolated struct {
	mode               string
	network            bool
	readable, writable []string
	flags              *pflag.FlagSet
}

func (i *isolated) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&i.mode, "isolation", "",
		"`HOW` a command is isolated: sandboxed, contained or none (default: sandboxed, and contained for docker)")
	f.BoolVar(&i.network, "network", false,
		"give a sandboxed server the network (default: where its command fetches it, as npx does)")
	f.StringSliceVar(&i.readable, "readable", nil, "`PATHS` that it sees, too")
	f.StringSliceVar(&i.writable, "writable", nil, "`PATHS` that it sees and may write, too")
	i.flags = f
}

// saysNetwork reports whether the flag of the network was given.
func (i *isolated) saysNetwork() bool { return i.flags != nil && i.flags.Changed("network") }

// of is the isolation of a command: what the flags say, and else the narrowest in which
// such a command can start.
func (i *isolated) of(command string) app.Isolation {
	s := app.Isolation{Mode: i.mode, Network: i.network, Readable: i.readable, Writable: i.writable}
	if s.Mode != "" {
		return s
	}
	s.Mode = "sandboxed"
	switch {
	case isContainers(command):
		s.Mode = "contained"
	case !i.saysNetwork():
		s.Network = isolation.Fetches(command)
	}
	return s
}

// isContainers reports whether a command has a daemon start the server: what the command
// is kept from does not bind that, and a sandboxed one cannot reach it.
func isContainers(command string) bool {
	return slices.Contains([]string{"docker", "podman", "nerdctl"}, filepath.Base(command))
}

// explain says what the server can reach, why, and what opens more or less.
func (i *isolated) explain(e *command.Env, s app.Server) {
	name := filepath.Base(s.Command)
	switch c := s.Isolation; {
	case s.Command == "":
	case c.Mode == "contained" && i.mode == "" && isContainers(s.Command):
		e.Status("it is contained, not sandboxed: %s must reach its daemon, and what the server in the container sees is what "+
			"the arguments of %s say", name, name)
	case c.Mode == "sandboxed":
		text := "it is sandboxed: it sees its folder, the system's programs and a package cache of its own"
		if opened := slices.Concat(c.Readable, c.Writable); len(opened) > 0 {
			text += ", and " + strings.Join(opened, ", ")
		}
		switch {
		case !c.Network:
			text += ", and has no network (--network gives it)"
		case i.saysNetwork():
			text += ", and has the network"
		default:
			text += ", and has the network, because " + name + " fetches it (--network=false takes it away)"
		}
		e.Status("%s", text)
		e.Status("what it needs beyond that is opened with --replace and --readable PATH, --writable PATH, " +
			"or --isolation contained, which hides only known credentials")
	}
}

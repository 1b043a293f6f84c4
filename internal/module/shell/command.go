package shell

import (
	"cmp"
	"context"
	"io"
	"net"
	"slices"

	"callgate/internal/module"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// Line is a command line that the kernel runs by itself, with streams of its own.
type Line struct {
	Command  string
	Env      []string // variables beside the usual ones, as NAME=value
	Readable []string // paths that it may read beside what commands may
	// Dir is the folder that it starts in, and may read; "": the workspace. In a folder other than the workspace
	// nothing is loaded from the workspace by itself: see package launch.
	Dir    string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Run runs a command line in the same sandbox as the tool bash does, with the settings
// that the grant has of the module. It returns when nothing of it is alive.
func (c Config) Run(ctx context.Context, grant tool.Grant, line Line) (sandbox.Exit, error) {
	config := module.SettingsOf(grant, defaults)
	network := config.Network == guarded || config.Network == direct
	r := &run{in: bashArgs{Command: line.Command}, grant: grant, network: network, accepted: line.Dir != ""}
	spec := handler{c}.spec(r, config, cmp.Or(line.Dir, grant.Workspace), &writePaths{})
	spec.Stdin, spec.Stdout, spec.Stderr = line.Stdin, line.Stdout, line.Stderr
	spec.Env = append(spec.Env, line.Env...)
	spec.Readable = append(slices.Clip(spec.Readable), line.Readable...)
	if line.Dir != "" {
		spec.Readable = append(spec.Readable, line.Dir)
	}
	if r.network && config.Network != direct {
		guard, err := config.guard(c.Resolver)
		if err != nil {
			return sandbox.Exit{}, err
		}
		spec.Proxy = func(l net.Listener) (stop func()) { return r.serveProxy(guard.ProxyOn(l, nil)) }
	}
	return sandbox.Run(ctx, spec)
}

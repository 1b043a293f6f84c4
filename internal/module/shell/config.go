package shell

import (
	"errors"
	"net"
	"path/filepath"
	"slices"

	"callgate/internal/module"
	"callgate/internal/netguard"
)

// settings are the settings of the module in an app file.
type settings struct {
	Network      module.Switch `config:"network" narrower:"false" oneof:"direct" help:"true: commands reach public addresses; direct: the whole network"`
	Readable     []string      `config:"readable" narrower:"fewer" help:"absolute paths of folders and files that commands may read beside the workspace"`
	Env          []string      `config:"env" narrower:"fewer" help:"names of variables that commands are given beside the usual ones"`
	GitHooks     bool          `config:"git_hooks" narrower:"false" help:"Git runs the hooks of repositories for commands"`
	AllowedHosts []string      `constraint:"allowed_hosts" help:"the only hosts that commands reach"`
	DeniedHosts  []string      `constraint:"denied_hosts" narrower:"more" help:"hosts that commands never reach"`
	PrivateHosts []string      `constraint:"private_hosts" narrower:"fewer" help:"hosts, addresses or prefixes that commands reach though they are not public"`

	BackgroundAfter module.Seconds `config:"background_after_seconds" range:"0,1800" help:"when a command goes on in the background; 0: never"`
}

// The settings of the network.
const (
	guarded module.Switch = "true"   // public addresses, through the guard
	direct  module.Switch = "direct" // whatever this machine reaches
)

// backgroundAfter is how many seconds somebody waits for a command.
const backgroundAfter = 120

func defaults() *settings { return &settings{BackgroundAfter: backgroundAfter} }

// Check reports what is wrong with the settings.
func (s *settings) Check() error {
	notClean := func(path string) bool { return !filepath.IsAbs(path) || filepath.Clean(path) != path }
	if slices.ContainsFunc(s.Readable, notClean) {
		return errors.New("config.readable must be a list of absolute paths")
	}
	if s.Network == direct && len(s.AllowedHosts)+len(s.DeniedHosts)+len(s.PrivateHosts) > 0 {
		return errors.New("config.network: direct goes around the constraints of hosts; write true, or leave them out")
	}
	_, err := s.guard(nil)
	return err
}

// guard returns the guard that commands with the network go through.
func (s *settings) guard(names netguard.Resolver) (*netguard.Guard, error) {
	return netguard.New(netguard.Rules{
		AllowedHosts: s.AllowedHosts, DeniedHosts: s.DeniedHosts, Private: s.PrivateHosts,
		Setting: "tools.modules.shell.constraints", Interfaces: net.InterfaceAddrs, Resolver: names,
	})
}

// Module returns the module for the kernel.
func Module() module.Module {
	return module.Module{
		Name:     Namespace,
		Summary:  "commands in the workspace's shell",
		Settings: func() any { return defaults() },
		Open: func(h module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: Tools(Config{
				Hidden: h.Hidden, Helpers: h.Helpers, Cache: h.Cache, Process: h.Process,
			})}, nil
		},
	}
}

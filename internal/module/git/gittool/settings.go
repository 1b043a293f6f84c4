package gittool

import (
	"fmt"
	"path"

	"callgate/internal/module"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "git"

// Settings are the settings of the module in an app file.
type Settings struct {
	Timeout        module.Seconds `config:"timeout_seconds" range:"1,600" help:"how long one call may take"`
	NetworkTimeout module.Seconds `config:"network_timeout_seconds" range:"1,1800" help:"how long clone, fetch, pull and push may take"`
	MaxBytes       int            `config:"max_bytes" range:"1024,16777216" help:"how much text of a diff or a file one call gives"`
	AuthorName     string         `config:"author_name" help:"the author of commits, instead of Git's user.name"`
	AuthorEmail    string         `config:"author_email" help:"the author's address, instead of Git's user.email"`
	Network        bool           `constraint:"network" narrower:"false" help:"whether clone, fetch, pull and push may be used"`
	AllowForce     bool           `constraint:"allow_force" narrower:"false" help:"whether a call may say force, and so lose work"`
	Protected      []string       `constraint:"protected_branches" narrower:"more" help:"branches that no call changes or pushes; release/* is a pattern"`
	AllowedHosts   []string       `constraint:"allowed_hosts" help:"the only hosts of remotes"`
	DeniedHosts    []string       `constraint:"denied_hosts" narrower:"more" help:"hosts that no remote may have"`
	PrivateHosts   []string       `constraint:"private_hosts" narrower:"fewer" help:"hosts that may be reached though they are not public"`
}

// Defaults are the settings of an app file that says nothing about the module.
func Defaults() *Settings {
	return &Settings{Timeout: 30, NetworkTimeout: 300, MaxBytes: 128 << 10, Network: true}
}

// Check reports what is wrong with the settings.
func (s *Settings) Check() error {
	for _, pattern := range s.Protected {
		if _, err := path.Match(pattern, "x"); err != nil {
			return fmt.Errorf("constraints.protected_branches: %q is not a pattern", tool.Truncate(pattern))
		}
	}
	_, err := s.Guard()
	return err
}

// Guard returns the guard that decides which hosts remotes may have.
func (s *Settings) Guard() (*netguard.Guard, error) {
	return netguard.New(netguard.Rules{
		AllowedHosts: s.AllowedHosts, DeniedHosts: s.DeniedHosts, Private: s.PrivateHosts,
		Setting: "tools.modules.git.constraints",
	})
}

func (s *Settings) protects(branch string) bool {
	for _, pattern := range s.Protected {
		if ok, _ := path.Match(pattern, branch); ok {
			return true
		}
	}
	return false
}

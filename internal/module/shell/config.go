package shell

import (
	"errors"
	"path/filepath"
	"slices"

	"callgate/internal/module"
)

// settings are the settings of the module in an app file.
type settings struct {
	Network  bool     `config:"network" help:"whether commands may use the network"`
	Readable []string `config:"readable" help:"absolute paths of folders and files that commands may read beside the workspace"`
	Env      []string `config:"env" help:"names of variables that commands are given beside the usual ones"`
}

func defaults() *settings { return &settings{} }

// Check reports what is wrong with the settings.
func (s *settings) Check() error {
	notClean := func(path string) bool { return !filepath.IsAbs(path) || filepath.Clean(path) != path }
	if slices.ContainsFunc(s.Readable, notClean) {
		return errors.New("config.readable must be a list of absolute paths")
	}
	return nil
}

// Module returns the module for the kernel.
func Module() module.Module {
	return module.Module{
		Name:     Namespace,
		Summary:  "commands in the workspace's shell",
		Settings: func() any { return defaults() },
		Open: func(h module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: Tools(Config{Hidden: h.Hidden, Helpers: h.Helpers, Cache: h.Cache})}, nil
		},
	}
}

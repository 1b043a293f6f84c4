package shell

import (
	"path/filepath"
	"slices"

	"callgate/tool"
)

// Settings are the keys of the module's config block in an app file: network,
// whether commands may use it; readable, folders and files that they may read
// beside the workspace; env, names of variables that they are given.
var Settings = []string{"network", "readable", "env"}

// settings is a config block that was checked.
type settings struct {
	network  bool
	readable []string
	env      []string
}

// CheckConfig reports the first thing that is wrong with a config block.
func CheckConfig(config map[string]any) error {
	_, err := readConfig(config)
	return err
}

func readConfig(config map[string]any) (s settings, err error) {
	for name, value := range config {
		switch name {
		case "network":
			var ok bool
			if s.network, ok = value.(bool); !ok {
				return s, wrong(name, "true or false")
			}
		case "readable":
			if s.readable, err = texts(name, value); err != nil {
				return s, err
			}
			if slices.ContainsFunc(s.readable, func(path string) bool { return !filepath.IsAbs(path) || filepath.Clean(path) != path }) {
				return s, wrong(name, "a list of absolute paths")
			}
		case "env":
			if s.env, err = texts(name, value); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

func texts(name string, value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, wrong(name, "a list of texts")
	}
	all := make([]string, len(list))
	for i, v := range list {
		if all[i], ok = v.(string); !ok {
			return nil, wrong(name, "a list of texts")
		}
	}
	return all, nil
}

func wrong(name, want string) error {
	return tool.Errorf("shell.CheckConfig", tool.Invalid, "tools.modules.shell.config.%s must be %s", name, want)
}

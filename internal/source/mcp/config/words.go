package config

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"callgate/internal/launch"
)

// Words are the program and its arguments, as the server is started with them: relative
// paths are meant from the folder that it works for.
func (c Config) Words() []string { return c.WordsIn(c.Dir) }

// WordsIn is Words with a folder under another name.
func (c Config) WordsIn(folder string) []string {
	words := append([]string{c.Command}, c.Args...)
	if c.InDir || folder == "" {
		return words
	}
	return launch.Resolve(words, folder)
}

// PlaceKey tells apart the folders that servers start in: a server keeps its own when
// other settings change, and shares it with none that has other rights.
func (c Config) PlaceKey() string {
	return strings.Join([]string{c.Name, c.Dir, strconv.FormatBool(c.Everywhere), c.Isolation.Mode, c.Command}, "\x00")
}

// Code returns the files and folders of the folder that the server works for which its
// command line runs: they are part of what a person accepts. whole reports that the
// folder itself is what runs. A server that starts in the folder may run any file of it,
// and is sandboxed for that reason, so none is recorded.
func (c Config) Code() (paths []string, whole bool) {
	if c.Command == "" || c.InDir || c.Dir == "" {
		return nil, false
	}
	return launch.Code(c.Words(), c.Dir)
}

// WithModules adds the folder of a Python script to the environment: the script's own
// modules are found there, and nowhere else in the folder that the server works for.
func (c Config) WithModules(words []string, env map[string]string) map[string]string {
	if c.InDir {
		return env
	}
	for _, word := range words {
		if filepath.Ext(word) != ".py" {
			continue
		}
		folder := launch.ModuleFolder(word, c.Dir)
		if folder == "" {
			continue
		}
		all := maps.Clone(env)
		if all == nil {
			all = map[string]string{}
		}
		if old := all["PYTHONPATH"]; old != "" {
			folder += string(os.PathListSeparator) + old
		}
		all["PYTHONPATH"] = folder
		if paths, _ := c.Code(); len(paths) > 0 {
			all["PYTHONDONTWRITEBYTECODE"] = "1" // what was accepted stays as it is
		}
		return all
	}
	return env
}

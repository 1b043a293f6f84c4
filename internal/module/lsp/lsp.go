// Package lsp is the module that asks language servers about code: what is wrong in it, where a
// name is defined and used, what a change of it would be.
//
// # Law
//
// A server is started for a session when a call first needs it, in the sandbox: it reads the
// workspace, has no network, and writes nothing but its cache (package langserver). It ends with
// the session, with the kernel, and when nobody asked it for a while.
//
// The module changes nothing. What a server would change, in a rename, a code action or a
// formatting, is the answer: a patch of files inside the workspace, which the model gives to
// filesystem.apply_patch, a call with rules and locks of its own.
package lsp

import (
	"errors"
	"fmt"
	"strings"

	"callgate/internal/module"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "lsp"

// Module returns the module.
func Module() module.Module {
	return module.Module{
		Name: Namespace, Summary: "Ask language servers: errors, definitions, references, symbols, renames and fixes.",
		Settings: func() any { return defaults() }, NeedsSettings: true,
		Open: func(h module.Host) (*module.Instance, error) {
			p := newPool(h)
			var tools []*tool.Tool
			for _, d := range []module.Definition{
				diagnosticsTool(p), checkTool(p), requestTool(p), notifyChangeTool(p), cancelRequestTool(p),
			} {
				tools = append(tools, d.Tool(Namespace))
			}
			return &module.Instance{Tools: tools, OnSessionEnd: p.endSession, Close: p.close}, nil
		},
	}
}

// settings are what an app file says of the module.
type settings struct {
	Servers  map[string]any `config:"servers" help:"more language servers by name: {command: [rust-analyzer], files: [.rs]}"`
	Wait     module.Seconds `config:"diagnostics_wait" range:"0.1,300" help:"how long a call waits for a server to look at a file"`
	Request  module.Seconds `config:"request_timeout" range:"0.1,300" help:"how long a request may take"`
	Start    module.Seconds `config:"start_timeout" range:"0.1,300" help:"how long a server may take until its first answer"`
	Idle     module.Seconds `config:"idle_timeout" range:"1,86400" help:"how long a server that nobody asks goes on"`
	Readable []string       `config:"readable" narrower:"fewer" help:"folders outside the workspace that servers may read, as absolute paths"`

	known []server
}

func defaults() *settings {
	return &settings{Wait: 15, Request: 30, Start: 60, Idle: 300, known: knownServers}
}

// Check reads the servers that the file names.
func (s *settings) Check() error {
	s.known = nil
	for name, value := range s.Servers {
		one, err := readServer(name, value)
		if err != nil {
			return fmt.Errorf("config.servers.%s: %w", tool.Truncate(name), err)
		}
		s.known = append(s.known, one)
	}
	for _, one := range knownServers {
		if _, replaced := s.Servers[one.name]; !replaced {
			s.known = append(s.known, one)
		}
	}
	return nil
}

// readServer reads one server of an app file.
func readServer(name string, value any) (server, error) {
	block, ok := value.(map[string]any)
	if !ok {
		return server{}, errors.New("it must be a block with command and files")
	}
	one := server{name: name, first: true}
	for key, value := range block {
		switch key {
		case "command", "files":
			list, err := texts(value)
			if err != nil {
				return server{}, fmt.Errorf("%s: %w", key, err)
			}
			if key == "command" {
				one.argv = list
			} else {
				one.files = list
			}
		case "language":
			one.language, ok = value.(string)
			if !ok {
				return server{}, errors.New("language: it must be a text")
			}
		case "settings":
			if one.settings, ok = value.(map[string]any); !ok {
				return server{}, errors.New("settings: it must be a block")
			}
		default:
			return server{}, fmt.Errorf("%s is not known; the keys are command, files, language, settings", tool.Truncate(key))
		}
	}
	if len(one.argv) == 0 || one.argv[0] == "" || len(one.files) == 0 {
		return server{}, errors.New("it needs command, a list of texts, and files, as [.rs]")
	}
	for i, ending := range one.files {
		one.files[i] = strings.ToLower(ending)
	}
	return one, nil
}

func texts(value any) ([]string, error) {
	if text, ok := value.(string); ok {
		return []string{text}, nil
	}
	list, ok := value.([]any)
	all := make([]string, 0, len(list))
	for _, v := range list {
		text, isText := v.(string)
		ok = ok && isText
		all = append(all, text)
	}
	if !ok {
		return nil, errors.New("it must be a list of texts")
	}
	return all, nil
}

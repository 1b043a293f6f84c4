// Package notion is the module that reads a Notion workspace: it searches, and shows
// pages and the rows of databases as text.
//
// # Law
//
// The module only reads. It sends the app's token to one host, the endpoint of its
// settings, through a guard (package netguard). What pages hold is told to the model as
// data. How much one call asks of the server, and how much it returns, is bounded; what
// was left out is said, with how to get it.
//
// Package blocktext writes the blocks and properties of the API as Markdown.
package notion

import (
	"net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "notion"

// Module returns the module.
func Module() module.Module { return moduleWith(fetch.Options{}) }

func moduleWith(opt fetch.Options) module.Module {
	defaults := func() *settings { return defaultSettings(opt) }
	return module.Module{
		Name:       Namespace,
		Summary:    "Search a Notion workspace, and read its pages and databases.",
		Settings:   func() any { return defaults() },
		Credential: true, NeedsSettings: true,
		Open: func(module.Host) (*module.Instance, error) {
			s := defaults()
			if err := s.Check(); err != nil {
				return nil, err
			}
			clients := fetch.NewPool(Namespace, s, (*settings).client)
			return &module.Instance{
				Tools:        []*tool.Tool{fetch.Tools(Namespace, queryTool(clients))[0]},
				OnSessionEnd: clients.EndSession, Close: clients.Close,
			}, nil
		},
	}
}

type clientPool = fetch.Pool[settings, *http.Client]

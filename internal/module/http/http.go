// Package http is the module for HTTP requests: get, head, post, put, patch,
// delete, request, download and upload.
//
// # What may be reached
//
// Every connection is made by a guard (package netguard) that is made from the
// app file's constraints: public hosts, and those that the app lists. The
// guard checks addresses, not names, for each request and each redirect.
//
// # What is sent
//
// The headers that an app file gives a host go to that host alone, and so does
// the credential; over plain http they go only to hosts that the app lists as
// private. They belong to the app: a call can neither read nor replace them. A
// redirect to another host carries no header that could hold a secret, and a
// request that may change something does not follow it at all.
//
// # What comes back
//
// A response is bounded by what it decompresses to, not by what was sent. JSON
// comes back as structured data, text in UTF-8 whatever its encoding was, a
// picture as a picture; for other bytes the result has the type and the size. A
// status of 400 or more is a failure of the call; the body is kept, because it
// holds the reasons.
//
// Nothing of a response is kept for a later call: no cookies, no cache. Only
// connections are, for as long as the settings they were made under are in use.
package http

import (
	"context"
	nethttp "net/http"
	"sync/atomic"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "http"

// Module returns the module.
func Module() module.Module { return moduleWith(fetch.Options{}) }

func moduleWith(opt fetch.Options) module.Module {
	defaults := func() *settings { return defaultSettings(opt) }
	return module.Module{
		Name:       Namespace,
		Summary:    "Call web APIs and fetch or send files over HTTP: get, post, put, patch, delete, download, upload.",
		Settings:   func() any { return defaults() },
		Credential: true,
		Open: func(module.Host) (*module.Instance, error) {
			s := defaults()
			if err := s.Check(); err != nil {
				return nil, err
			}
			p := fetch.NewPool(Namespace, s, (*settings).client)
			return &module.Instance{Tools: tools(p), OnSessionEnd: p.EndSession, Close: p.Close}, nil
		},
	}
}

// tools makes the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func tools(p *clientPool) []*tool.Tool {
	return fetch.Tools(Namespace,
		getTool(p),
		headTool(p),
		postTool(p),
		putTool(p),
		patchTool(p),
		deleteTool(p),
		requestTool(p),
		downloadTool(p),
		uploadTool(p),
	)
}

type (
	definition = module.Definition
	clientPool = fetch.Pool[settings, *nethttp.Client]
)

// httpCall is one call of a tool.
type httpCall struct {
	fetch.Call
	settings *settings
	pooled   *nethttp.Client
	sent     *atomic.Bool // a connection was there to send a request over
}

func handler[In any](
	p *clientPool, name string, run func(context.Context, httpCall, In) (*tool.Result, error),
) tool.Handler {
	return fetch.Handler(p, name, func(
		ctx context.Context, l fetch.Lease[settings, *nethttp.Client], in In,
	) (*tool.Result, error) {
		call := fetch.Call{Op: l.Op, Grant: l.Grant, Settings: &l.Settings.Settings}
		return run(ctx, httpCall{call, l.Settings, l.Client, new(atomic.Bool)}, in)
	})
}

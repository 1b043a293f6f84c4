// Package http is the module that speaks HTTP: get, head, post, put, patch,
// delete, request, download and upload.
//
// # What may be reached
//
// Every connection is made by a guard (package netguard) that was made of the
// app file's constraints: public hosts, and those that the app lists. The
// guard judges addresses, not names, for each request and each redirect.
//
// # What goes along
//
// The headers that an app file gives a host go to that host alone, and so does
// the credential; over plain http they go only to hosts that the app lists as
// private. They are the app's: a call can neither read nor replace them. A
// redirect to another host takes no header along that could hold a secret, and
// is not followed at all by what may change something there.
//
// # What comes back
//
// A response is bounded by what it unpacks to, not by what was sent. JSON comes
// back as structured data, text in UTF-8 whatever it was written in, a picture
// as a picture; of other bytes only the kind and the number are told. A status
// of 400 or more is a failure of the call, with the body kept, for that is
// where the reasons are.
//
// Nothing of a response is kept for a later call: no cookies, no cache. Only
// connections are, for as long as the settings they were made by are in use.
package http

import (
	"context"
	"time"

	"callgate/internal/module"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "http"

// Module is the module.
func Module() module.Module { return moduleWith(nil) }

// moduleWith is the module with a resolver of its own; nil is the system's.
func moduleWith(r netguard.Resolver) module.Module {
	made := func() *settings {
		s := defaults()
		s.resolver = r
		return s
	}
	return module.Module{
		Name:       Namespace,
		Summary:    "Call web APIs and fetch or send files over HTTP: get, post, put, patch, delete, download, upload.",
		Settings:   func() any { return made() },
		Credential: true,
		Open: func(module.Host) (*module.Instance, error) {
			usual := made()
			if err := usual.Check(); err != nil {
				return nil, err
			}
			d := newClientPool(usual)
			return &module.Instance{Tools: tools(d), OnSessionEnd: d.endSession, Close: d.close}, nil
		},
	}
}

// tools makes the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func tools(d *clientPool) []*tool.Tool {
	definitions := []definition{
		getTool(d),
		headTool(d),
		postTool(d),
		putTool(d),
		patchTool(d),
		deleteTool(d),
		requestTool(d),
		downloadTool(d),
		uploadTool(d),
	}
	all := make([]*tool.Tool, len(definitions))
	for i, def := range definitions {
		def.Runtime.Network = true
		all[i] = def.Tool(Namespace)
	}
	return all
}

// definition is one tool as its file writes it down.
type definition = module.Definition

// The times that the kernel gives a handler. A request has its own, shorter
// time; a transfer is given up when nothing moves.
const (
	requestTime  = 11 * time.Minute
	transferTime = 6 * time.Hour
)

// httpCall is one call on its way: what it may reach, and by whose rules.
type httpCall struct {
	op       string
	grant    tool.Grant
	settings *settings
	line     *pooledClient
}

// handler makes a tool's function a handler: it decodes the arguments, which
// the kernel has already held against the schema, and lends it a client.
func handler[In any](d *clientPool, name string, run func(context.Context, httpCall, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		s := module.SettingsOf(grant, func() *settings { return d.usual })
		line, err := d.acquire(s, call.Principal.Session)
		if err != nil {
			return nil, err
		}
		defer d.release(line)
		return run(ctx, httpCall{op, grant, s, line}, in)
	})
}

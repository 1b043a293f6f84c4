// Package fetch holds what the modules http and web share: settings, clients,
// addresses, downloads, and what to say when a request fails. Package
// fetch/body reads response bodies.
//
// Every connection is made by a guard (package netguard) that is made from the
// settings of the call. Nothing of a response is kept here for a later call;
// only connections are, and only for calls under the same settings.
package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/weburl"
	"callgate/tool"
)

// The time that the kernel gives a handler. A request has its own, shorter
// limit; a transfer ends when nothing moves.
const (
	RequestTime  = 11 * time.Minute
	TransferTime = 6 * time.Hour
)

// Tools makes the tools of a module whose tools all use the network.
func Tools(namespace string, definitions ...module.Definition) []*tool.Tool {
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		d.Runtime.Network = true
		all[i] = d.Tool(namespace)
	}
	return all
}

// Lease is what a handler works with during one call: the settings of the
// call, and a client that was made under them.
type Lease[S any, C Client] struct {
	Op       string // the tool, as errors name it
	User     string // on whose behalf it is called
	Grant    tool.Grant
	Settings *S
	Client   C
}

// Handler makes a handler of a tool's function: it decodes the arguments, which
// the kernel has already checked against the schema, and lends a client.
func Handler[S, In any, C Client](
	pool *Pool[S, C], name string, run func(context.Context, Lease[S, C], In) (*tool.Result, error),
) tool.Handler {
	op := pool.namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		s := module.SettingsOf(grant, func() *S { return pool.defaults })
		client, release, err := pool.Acquire(s, call.Principal.Session)
		if err != nil {
			return nil, err
		}
		defer release()
		return run(ctx, Lease[S, C]{op, call.Principal.User, grant, s, client}, in)
	})
}

// Call is one tool call that fetches something.
type Call struct {
	Op       string // the tool, as errors name it
	Grant    tool.Grant
	Settings *Settings
}

// URL reads an address and checks that it may be reached. The result is in the
// canonical form that rules are about (see package weburl). A fragment is dropped:
// servers never see it.
func (c Call) URL(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the message below names the URL
		}
		return nil, tool.Errorf(c.Op, tool.Invalid, "%q is not a URL: %v", tool.Truncate(text), err).
			WithHint("write it as https://host/path")
	}
	switch {
	case u.Scheme == "" && text != "":
		return nil, tool.Errorf(c.Op, tool.Invalid, "%q has no scheme", tool.Truncate(text)).
			WithHint("did you mean https://%s?", tool.Truncate(strings.TrimLeft(text, "/")))
	case u.Scheme == "ws", u.Scheme == "wss":
		return nil, tool.Errorf(c.Op, tool.Invalid, "web sockets are not supported").
			WithHint("use an http or https URL")
	}
	if err := c.Settings.Guard().Check(u); err != nil { // as it is spelled, before it is made plain
		return nil, c.Refusal(err)
	}
	canonical, err := weburl.Parse(text)
	if err != nil {
		return nil, tool.Errorf(c.Op, tool.Invalid, "%q is not a URL: %v", tool.Truncate(text), err).
			WithHint("write it as https://host/path")
	}
	u = canonical.Request()
	if err := c.Settings.Guard().Check(u); err != nil {
		return nil, c.Refusal(err)
	}
	return u, nil
}

// Follows adds the rules of the call to a redirect policy: each address that a redirect
// leads to is made canonical, and judged as one that a call names.
func (c Call) Follows(
	policy func(*http.Request, []*http.Request) error,
) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if err := policy(r, via); err != nil {
			return err
		}
		from := via[len(via)-1].URL
		to, err := weburl.Parse(r.URL.String())
		if err != nil {
			return tool.Errorf(c.Op, tool.Failed, "%s redirects to %q, which is not an address: %v",
				from.Host, tool.Truncate(r.URL.Redacted()), err)
		}
		if r.URL = to.Request(); c.Grant.Follow == nil {
			return nil
		}
		err = c.Grant.Follow(r.Context(), tool.Hop{URL: to.String()})
		var refused *tool.Error
		if errors.As(err, &refused) {
			refused.Message = from.Host + " redirects elsewhere: " + refused.Message
		}
		return err
	}
}

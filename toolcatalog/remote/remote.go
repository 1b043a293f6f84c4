// Package remote is a backend of LLM-backed tools that are fetched from a signed catalog over HTTP.
//
//	c, err := remote.New(remote.Options{
//		URL: "https://tools.example.com/catalog.json", Keys: []string{"RWQf6LRCGA9i53…"}, Cache: folder,
//	})
//	kernel, err := callgate.Open(ctx, callgate.Config{Backends: []toolcatalog.Backend{c}})
//
// A catalog is a JSON file, {"tools": [{"id": "acme:triage@1.0.0", …}]}, whose definitions have the form of
// a file of one; its signature, of minisign, is at the same address with .minisig behind it.
//
// # Law
//
// Nothing of a catalog is read before one of the given keys is found to have signed exactly these
// bytes, under the catalog's own name, not earlier than what was accepted before. That holds for what
// the server sends and for what was kept on disk. Only public addresses are reached, and those that
// the options list. A server that is down, or sends something that does not count, takes no tool away:
// what was accepted last stays, and Warning says so.
package remote

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sync"
	"time"

	"callgate/internal/netguard"
	"callgate/internal/signing"
	"callgate/tool"
	"callgate/toolcatalog"
)

const (
	maxCatalog   = 8 << 20 // bytes
	maxTools     = 10_000
	maxRedirects = 3
	timeout      = 20 * time.Second
)

// Options is what a catalog is, and whom it is believed.
type Options struct {
	Name string // of the backend; default: the URL
	URL  string // https, or http where Private lists the host
	// Keys are public keys of minisign. One of them must have signed the catalog.
	Keys []string
	// Cache is the folder in which the catalog is kept; "": it is not.
	Cache string
	// Private are hosts that may be reached although they are not public, such as localhost:8080.
	Private []string
	// Accept is asked last, of a catalog whose signature counts; an error refuses it. Nil: it counts.
	Accept func(ctx context.Context, sent Sent) error
}

// Sent is a catalog with its signature.
type Sent struct {
	File            string // the name that the signature is of
	Data, Signature []byte
}

// Catalog is the backend. Make one with New.
type Catalog struct {
	opt    Options
	url    *url.URL
	keys   []signing.Key
	client *http.Client

	listing sync.Mutex // held while it is listed

	mu      sync.Mutex // guards the fields below
	last    *accepted  // nil: nothing was accepted yet
	changed func()
	warning error
}

var (
	_ toolcatalog.Backend  = (*Catalog)(nil)
	_ toolcatalog.Notifier = (*Catalog)(nil)
	_ toolcatalog.Warner   = (*Catalog)(nil)
)

// New makes a backend. Nothing is fetched before it is listed.
func New(o Options) (*Catalog, error) {
	const op = "remote.New"
	o.Name = cmp.Or(o.Name, o.URL)
	o.Keys, o.Private = slices.Clone(o.Keys), slices.Clone(o.Private)
	at, err := url.Parse(o.URL)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || at.User != nil || at.RawQuery != "" {
		return nil, tool.Errorf(op, tool.Invalid, "%q is not the address of a catalog", tool.Truncate(o.URL)).
			WithHint("write https://host/catalog.json")
	}
	open, err := netguard.ParseHosts(o.Private)
	if err != nil {
		return nil, err
	}
	if at.Scheme == "http" && !open.Has(at) {
		return nil, tool.Errorf(op, tool.Invalid, "the catalog %q is not fetched over http", tool.Truncate(o.URL)).
			WithHint("write https, or list a host of your own in Private")
	}
	if len(o.Keys) == 0 || len(o.Keys) > 100 {
		return nil, tool.Errorf(op, tool.Invalid, "a catalog needs 1 to 100 keys by which it is believed, and has %d",
			len(o.Keys)).WithHint("name the public key of who signs it")
	}
	c := &Catalog{opt: o, url: at}
	for _, text := range o.Keys {
		key, err := signing.ParseKey(text)
		if err != nil {
			return nil, err
		}
		c.keys = append(c.keys, key)
	}
	guard, err := netguard.New(netguard.Rules{Private: o.Private, Hint: "list the host in Options.Private"})
	if err != nil {
		return nil, err
	}
	c.client = guard.Client(maxRedirects)
	return c, nil
}

// Name returns the backend's name.
func (c *Catalog) Name() string { return c.opt.Name }

// Notify has changed called by Refresh.
func (c *Catalog) Notify(changed func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = changed
}

// Refresh has the catalog asked for again when it is next needed.
func (c *Catalog) Refresh() {
	c.mu.Lock()
	changed := c.changed
	c.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// Warning says why what was listed last is not what the server has now; nil: it is.
func (c *Catalog) Warning() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.warning
}

// List asks the server whether the catalog changed, and returns its tools. Where it cannot, it returns
// those that were accepted last, and fails only if there are none.
func (c *Catalog) List(ctx context.Context) ([]*tool.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c.listing.Lock()
	defer c.listing.Unlock()
	last := c.load(ctx)
	fresh, err := c.fetch(ctx, last)
	var warning error
	switch {
	case err == nil && fresh != nil:
		last, warning = fresh, c.keep(fresh)
	case err == nil:
		c.touch()
	case last == nil:
		return nil, err
	default:
		warning = tool.Errorf("remote.List", tool.Unavailable, "the catalog %s is as it was signed on %s: %w",
			tool.Truncate(c.opt.Name), last.signed.Format(time.DateTime), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.warning = last, warning
	return last.tools, nil
}

// Kept returns the tools of what was accepted last, also before a restart, and when the server was last
// asked for it. It asks nobody. Nil: nothing was accepted yet.
func (c *Catalog) Kept(ctx context.Context) (tools []*tool.Tool, asked time.Time) {
	c.listing.Lock()
	defer c.listing.Unlock()
	last := c.load(ctx)
	if last == nil {
		return nil, time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = last
	return last.tools, c.touched()
}

// Digest is that of what the catalog says of a tool that it listed last: SHA-256, in hex.
func (c *Catalog) Digest(id tool.ID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return ""
	}
	return c.last.digests[id]
}

// Close closes the connections to the server. Another request opens new ones.
func (c *Catalog) Close() { c.client.CloseIdleConnections() }

// file is the name that a signature of the catalog must have in it.
func (c *Catalog) file() string { return path.Base(c.url.Path) }

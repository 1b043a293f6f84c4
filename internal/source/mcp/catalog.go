package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/serverlock"
	"callgate/internal/source/mcp/list"
	"callgate/internal/source/mcp/toolcache"
	"callgate/tool"
)

// catalog is what the server listed when it last ran, and the tools made of it.
//
// # Law
//
// The listing comes from the cache until the server lists anew. A new listing is
// stored first, then it is known here, and then changed is called, if its tools
// are others. Of two listings the one that was asked for later counts, whichever
// comes first: an older one would show again what a newer one holds back.
type catalog struct {
	*identity
	publisher publisher
	cache     toolcache.Cache
	check     func(schema json.RawMessage) error
	vet       func([]Definition) []Definition // returns those that may be published; nil: all
	changed   func()

	asked     atomic.Uint64 // how many listings were asked for
	replacing sync.Mutex    // held while a listing is stored and taken over

	mu        sync.Mutex
	loaded    bool // from the cache
	listing   *toolcache.Listing
	published []*tool.Tool // made of the listing; nil: not yet
	notes     []Problem    // of making them
}

// known returns the listing, or nil when there is none. It starts nothing.
func (c *catalog) known() *toolcache.Listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		c.loaded = true
		listing, err := c.cache.Load(c.key)
		if err != nil { // the tools are fetched again
			c.warn("its cached tools cannot be read", err)
		}
		c.listing = listing
	}
	return c.listing
}

// tools returns the tools of the listing. Without a vet they are made once.
func (c *catalog) tools() []*tool.Tool {
	listing := c.known()
	c.mu.Lock()
	tools := c.published
	c.mu.Unlock()
	if tools != nil && c.vet == nil {
		return tools
	}
	tools, notes := c.publisher.publish(listing, serverlock.Terms{}, c.vet)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listing == listing {
		c.published, c.notes = tools, notes
	}
	return tools
}

// problems returns what a person should know about the tools.
func (c *catalog) problems() []Problem {
	c.tools()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.notes)
}

// toolNames returns the names that the server gives its tools.
func (c *catalog) toolNames() []string {
	listing := c.known()
	if listing == nil {
		return nil
	}
	names := make([]string, len(listing.Tools))
	for i, e := range listing.Tools {
		names[i] = e.Name
	}
	return names
}

// upstreamNames returns the names that the server gives its tools, by ours.
func (c *catalog) upstreamNames() map[string]string {
	listing := c.known()
	if listing == nil {
		return nil
	}
	upstream := make(map[string]string, len(listing.Tools))
	for theirs, ours := range names(listing) {
		upstream[ours] = theirs
	}
	return upstream
}

// replace takes a new listing over, unless a newer one was.
func (c *catalog) replace(listing *toolcache.Listing) {
	if c.takeOver(listing) {
		c.changed()
	}
}

// takeOver stores a listing and makes it known, and reports whether its tools are
// others.
func (c *catalog) takeOver(listing *toolcache.Listing) (changed bool) {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	old := c.known()
	if old != nil && listing.Asked < old.Asked {
		return false
	}
	listing.Key, listing.Name = c.key, c.cfg.Name
	if err := c.cache.Store(listing); err != nil {
		c.warn("its tools cannot be cached", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = !listing.SameTools(old)
	c.listing = listing
	if changed {
		c.published = nil
	}
	return changed
}

// list asks a server for its tools, and for what else it offers.
func (c *catalog) list(ctx context.Context, session *sdk.ClientSession) (*toolcache.Listing, error) {
	number := c.asked.Add(1)
	defs, err := list.Tools(ctx, session)
	if err != nil {
		return nil, err
	}
	server := session.InitializeResult()
	listing := toolcache.New(defs, c.check)
	listing.Asked = number
	listing.Protocol, listing.Instructions = server.ProtocolVersion, server.Instructions
	if caps := server.Capabilities; caps != nil {
		listing.Resources, listing.Prompts = caps.Resources != nil, caps.Prompts != nil
	}
	if i := server.ServerInfo; i != nil {
		listing.Server = strings.TrimSpace(i.Name + " " + i.Version)
	}
	return listing, nil
}

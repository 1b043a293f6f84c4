package mcp

import (
	"testing"

	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
)

// A listing that was asked for earlier and comes later does not replace a newer one:
// what the newer one holds back would be shown again.
func TestOlderListingDoesNotReplaceANewer(t *testing.T) {
	t.Parallel()
	changes := 0
	c := &catalog{
		identity: &identity{key: "k", cfg: Config{Name: "files"}}, cache: toolcache.Cache(t.TempDir()),
		changed: func() { changes++ }, loaded: true,
	}
	listing := func(asked uint64, text string) *toolcache.Listing {
		l := toolcache.New([]translate.Definition{{Name: "read", Description: text}}, nil)
		l.Asked = asked
		return l
	}
	c.replace(listing(2, "newer"))
	c.replace(listing(1, "older"))
	if got := c.known().Tools[0].Description; got != "newer" || changes != 1 {
		t.Errorf("known is the %s one, after %d changes", got, changes)
	}
	c.replace(listing(3, "newest"))
	if got := c.known().Tools[0].Description; got != "newest" || changes != 2 {
		t.Errorf("known is the %s one, after %d changes", got, changes)
	}
}

package llmtools

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"callgate/internal/app/channels"
	"callgate/internal/app/node"
	"callgate/internal/netguard"
	"callgate/internal/signing"
	"callgate/tool"
)

// The bounds of a remote catalog of tools.
const (
	DefaultRefresh = time.Hour
	MinRefresh     = time.Minute
	maxCatalogs    = 20 // of a file
)

// ToolCatalog is a signed catalog of LLM-backed tools on a server.
type ToolCatalog struct {
	URL          string
	Key          string        // the public key of who signs it, or the name of a key that the user trusts
	Refresh      time.Duration // how often the server is asked whether it changed
	PrivateHosts []string      // hosts that may be reached although they are not public
	FromUser     bool          // it is in the user's own file, and needs no consent
	At           node.Position
}

// LevelCatalog is the level of one catalog.
const LevelCatalog = "tools.llm.catalogs"

const catalogForm = "write - {url: 'https://tools.example.com/catalog.json', key: acme}"

// keyName is what a trusted key may be called.
var keyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// readCatalogs reads the remote catalogs of a block.
func readCatalogs(r *node.Reader, e node.Entry) (all []ToolCatalog) {
	items := r.Items(e, "a list of catalogs", catalogForm)
	if len(items) > maxCatalogs {
		r.Fail(e.At, "leave some out", "there are %d catalogs, of at most %d", len(items), maxCatalogs)
		return nil
	}
	for _, in := range items {
		c, ok := readToolCatalog(r, in)
		switch {
		case !ok:
		case slices.ContainsFunc(all, func(o ToolCatalog) bool { return o.URL == c.URL }):
			r.Fail(in.At, "leave one of them out", "the catalog %s is named twice", node.Quote(c.URL))
		default:
			all = append(all, c)
		}
	}
	return all
}

// readToolCatalog reads one. What it says is shown to a human who accepts it, so no variable is
// filled in, and no secret is sent.
func readToolCatalog(r *node.Reader, e node.Entry) (ToolCatalog, bool) {
	c, as := ToolCatalog{Refresh: DefaultRefresh, At: e.At}, r.WithoutEnv()
	failed := false
	fail := func(key, remedy, format string, args ...any) {
		at := r.Position(e.Below(key))
		if at == (node.Position{}) {
			at = e.At
		}
		failed = true
		r.Fail(at, remedy, format, args...)
	}
	r.Mapping(LevelCatalog, e, map[string]node.Read{
		"url":           as.TextInto(&c.URL),
		"key":           as.TextInto(&c.Key),
		"private_hosts": channels.Hosts(as, &c.PrivateHosts),
		"refresh":       r.Duration(&c.Refresh),
	})
	if why := catalogAddress(c); why != "" {
		fail("url", "write the address of a catalog, such as https://tools.example.com/catalog.json",
			"%s is %s: %s", e.Below("url"), node.Quote(c.URL), why)
	}
	if _, err := signing.ParseKey(c.Key); err != nil && !keyName.MatchString(c.Key) {
		fail("key", "write the public key of who signs it, or the name of a key that you trust (callgate keys list)",
			"%s is %s, which is no key", e.Below("key"), node.Quote(c.Key))
	}
	if c.Refresh < MinRefresh {
		fail("refresh", "write a time from 1m to 24h", "%s is %v", e.Below("refresh"), c.Refresh)
	}
	return c, !failed
}

// catalogAddress says why a catalog has no address that can be asked; "": it has.
func catalogAddress(c ToolCatalog) string {
	at, err := url.Parse(c.URL)
	hosts, bad := netguard.ParseHosts(c.PrivateHosts)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || strings.Contains(c.URL, "{{"):
		return "that is no address"
	case at.User != nil || at.RawQuery != "" || at.ForceQuery || strings.Contains(c.URL, "#"):
		return "a catalog is asked for without a name, a password or a query in its address"
	case strings.HasSuffix(at.Path, "/") || at.Path == "":
		return "it names no file"
	case bad != nil: // it is reported where it stands
		return ""
	case at.Scheme == "http" && !hosts.Has(at):
		return "only hosts that private_hosts lists are asked over http"
	}
	return ""
}

// HasTools reports whether an app has tools, or may come to have some of a catalog.
func (b Block) HasTools() bool { return len(b.Tools) > 0 || len(b.ToolCatalogs) > 0 }

// MarkOwn says that all of a block is in the user's own file.
func (b *Block) MarkOwn() {
	for i := range b.Tools {
		b.Tools[i].FromUser = true
	}
	b.BenchModels, b.OwnBenchModels = nil, b.BenchModels
	for i := range b.Catalogs {
		b.Catalogs[i].FromUser = true
	}
	for i := range b.ToolCatalogs {
		b.ToolCatalogs[i].FromUser = true
	}
}

// WithListed returns the block with the tools that catalogs list, in the place of those that they
// listed before. Of one ID the user's own counts, and what a file says before what a catalog lists.
func (b Block) WithListed(listed []Tool) Block {
	all := slices.DeleteFunc(slices.Clone(b.Tools), func(t Tool) bool { return t.Catalog != "" })
	all = append(all, listed...)
	slices.SortStableFunc(all, func(a, b Tool) int { return rank(a) - rank(b) })
	seen := make(map[tool.ID]bool, len(all))
	b.Tools = slices.DeleteFunc(all, func(t Tool) bool {
		was := seen[t.ID]
		seen[t.ID] = true
		return was
	})
	if b.Own != nil {
		own := b.Own.WithListed(slices.DeleteFunc(slices.Clone(listed), func(t Tool) bool { return !t.FromUser }))
		b.Own = &own
	}
	return b
}

// rank puts the user's own tools before those of a project.
func rank(t Tool) int {
	if t.FromUser {
		return 0
	}
	return 1
}

package surface

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/amount"
)

// placeholder is replaced in a control tool's description by a listing of the
// catalog. Models ignore a search tool that does not say what it searches.
const placeholder = "{{catalog}}"

// The sizes of listings in bytes.
const (
	maxSet       = 6_000 // the whole discovery set as JSON, with the long listing
	minListing   = 400   // the long listing, even if the set is full without it
	shortListing = 120   // the listing in every other description
)

// catalog summarizes the tools that can be found, the largest category first.
type catalog struct {
	tools      int
	categories []category
}

type category struct {
	name  string
	tools int
}

func newCatalog(items []Item) *catalog {
	c := &catalog{tools: len(items)}
	at := make(map[string]int)
	for _, item := range items {
		if item.Tool == nil {
			continue
		}
		name := item.Tool.ID.Namespace
		i, ok := at[name]
		if !ok {
			i = len(c.categories)
			at[name] = i
			c.categories = append(c.categories, category{name: name})
		}
		c.categories[i].tools++
	}
	slices.SortFunc(c.categories, func(a, b category) int {
		return cmp.Or(cmp.Compare(b.tools, a.tools), cmp.Compare(a.name, b.name))
	})
	return c
}

// text describes the catalog in a sentence: the numbers, and as many categories as
// fit into limit bytes.
func (c *catalog) text(limit int) string {
	if len(c.categories) == 0 {
		return "There are no tools to find."
	}
	categories := amount.Of(len(c.categories), "category")
	head := fmt.Sprintf("%s in %s", amount.Of(c.tools, "tool"), categories)
	var list strings.Builder
	for i, one := range c.categories {
		next := one.name + " (" + strconv.Itoa(one.tools) + ")"
		if i > 0 {
			next = ", " + next
		}
		left := len(c.categories) - i - 1
		if len(head)+len(": ")+list.Len()+len(next)+len(more(left))+len(".") > limit {
			if i == 0 {
				return head + "."
			}
			return head + ": " + list.String() + more(left+1) + "."
		}
		list.WriteString(next)
	}
	return head + ": " + list.String() + "."
}

// more returns the count of the categories that are not named.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return ", … and " + strconv.Itoa(n) + " more"
}

// withSummary renders control tools with the short listing.
func (b *planBuilder) withSummary(control []Item) []Entry {
	entries := make([]Entry, len(control))
	for i, item := range control {
		entries[i] = filled(b.full(item).Entry, b.catalog, shortListing)
	}
	return entries
}

// withListing renders control tools with the long listing in the first that has a
// placeholder. The listing is as long as the whole set, with the entries beside
// it, allows.
func (b *planBuilder) withListing(control []Item, beside []Entry) []Entry {
	entries, first := b.withSummary(control), -1
	size := len("[]")
	for i, e := range entries {
		if whole := b.full(control[i]).Entry; first < 0 && strings.Contains(whole.Description, placeholder) {
			first = i
			e.Description = strings.ReplaceAll(whole.Description, placeholder, "")
		}
		size += pythonJSONLen(e.Definition()) + len(", ")
	}
	for _, e := range beside {
		size += pythonJSONLen(e.Definition()) + len(", ")
	}
	if first >= 0 {
		entries[first] = filled(b.full(control[first]).Entry, b.catalog, max(maxSet-size, minListing))
	}
	return entries
}

// filled returns an entry with the placeholder replaced.
func filled(e Entry, c *catalog, limit int) Entry {
	if strings.Contains(e.Description, placeholder) {
		e.Description = strings.ReplaceAll(e.Description, placeholder, c.text(limit))
	}
	return e
}

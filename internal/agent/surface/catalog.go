package surface

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// placeholder is where a control tool's description tells what there is to
// find. A model leaves a search tool alone that does not say what it searches.
const placeholder = "{{catalog}}"

// How long that may be, in bytes.
const (
	maxSet       = 6_000 // the discovery set as JSON, the listing included
	minListing   = 400   // the listing, however full the set is without it
	shortListing = 120   // every other telling of it
)

// catalog is what there is to find: the categories, the largest first.
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

// text is a sentence about the catalog: as many categories as fit into the
// room, and the numbers however small it is.
func (c *catalog) text(room int) string {
	if len(c.categories) == 0 {
		return "There are no tools to find."
	}
	head := fmt.Sprintf("%s in %s", counted(c.tools, "tool", "tools"), counted(len(c.categories), "category", "categories"))
	var list strings.Builder
	for i, one := range c.categories {
		next := one.name + " (" + strconv.Itoa(one.tools) + ")"
		if i > 0 {
			next = ", " + next
		}
		left := len(c.categories) - i - 1
		if len(head)+len(": ")+list.Len()+len(next)+len(more(left))+len(".") > room {
			if i == 0 {
				return head + "."
			}
			return head + ": " + list.String() + more(left+1) + "."
		}
		list.WriteString(next)
	}
	return head + ": " + list.String() + "."
}

// more says how many categories are not named.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return ", … and " + strconv.Itoa(n) + " more"
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// withSummary shows control tools, with the catalog in a few words.
func (d *planBuilder) withSummary(control []Item) []Entry {
	entries := make([]Entry, len(control))
	for i, item := range control {
		entries[i] = filled(d.full(item).Entry, d.catalog, shortListing)
	}
	return entries
}

// withListing shows control tools, with the catalog at length in the first that
// tells of it: as long as the whole set, with what stands beside it, stays
// within its size.
func (d *planBuilder) withListing(control []Item, beside []Entry) []Entry {
	entries, first := d.withSummary(control), -1
	size := len("[]")
	for i, e := range entries {
		if whole := d.full(control[i]).Entry; first < 0 && strings.Contains(whole.Description, placeholder) {
			first = i
			e.Description = strings.ReplaceAll(whole.Description, placeholder, "")
		}
		size += pythonJSONLen(e.Definition()) + len(", ")
	}
	for _, e := range beside {
		size += pythonJSONLen(e.Definition()) + len(", ")
	}
	if first >= 0 {
		entries[first] = filled(d.full(control[first]).Entry, d.catalog, max(maxSet-size, minListing))
	}
	return entries
}

// filled is an entry whose description tells of the catalog.
func filled(e Entry, c *catalog, room int) Entry {
	if strings.Contains(e.Description, placeholder) {
		e.Description = strings.ReplaceAll(e.Description, placeholder, c.text(room))
	}
	return e
}

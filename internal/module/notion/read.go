package notion

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/notion/blocktext"
	"callgate/tool"
)

// object is a page, a row, a database or a source of one, as the API gives it.
type object struct {
	Object     string                     `json:"object"`
	ID         string                     `json:"id"`
	URL        string                     `json:"url"`
	Edited     string                     `json:"last_edited_time"`
	Title      []blocktext.RichText       `json:"title"` // of a database or a source
	Properties map[string]json.RawMessage `json:"properties"`
	Parent     struct {
		Database string `json:"database_id"`
	} `json:"parent"`
	Sources []source `json:"data_sources"` // of a database
}

// source is one of the sources that the rows of a database come from.
type source struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// item is one of the results of a search, or a row.
type item struct {
	ID         string            `json:"id"`
	Kind       string            `json:"kind"`
	Title      string            `json:"title"`
	URL        string            `json:"url,omitempty"`
	Edited     string            `json:"edited,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
}

// page is one page that is shown whole.
type page struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	URL        string            `json:"url,omitempty"`
	Edited     string            `json:"edited,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
	Text       string            `json:"text"`
}

// list is one part of a longer list.
type list[T any] struct {
	Results []T     `json:"results"`
	More    bool    `json:"has_more"`
	Next    *string `json:"next_cursor"`
}

func (l list[T]) next() string {
	if !l.More || l.Next == nil {
		return ""
	}
	return *l.Next
}

// item reads an object of a list.
func (o object) item() item {
	i := item{ID: o.ID, Kind: "page", URL: o.URL, Edited: o.Edited}
	if o.Object == "page" {
		i.Title, i.Properties = blocktext.Properties(o.Properties)
		return i
	}
	i.Kind, i.Title = "database", blocktext.Plain(o.Title)
	if o.Parent.Database != "" {
		i.ID = o.Parent.Database // what a call names, and what its link has
	}
	return i
}

// line writes an item for a model to read.
func (i item) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s (%s %s)\n", orUntitled(i.Title), i.Kind, i.ID)
	for _, name := range slices.Sorted(maps.Keys(i.Properties)) {
		fmt.Fprintf(&b, "  %s: %s\n", name, strings.ReplaceAll(i.Properties[name], "\n", " "))
	}
	return b.String()
}

func orUntitled(title string) string {
	if title == "" {
		return "untitled"
	}
	return title
}

// head is what stands before the content of a page.
func (p *page) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", orUntitled(p.Title))
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		fmt.Fprintf(&b, "%s: %s\n", name, p.Properties[name])
	}
	if len(p.Properties) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func (c *apiCall) search(ctx context.Context, words string, limit int, cursor string) ([]item, string, error) {
	ask := map[string]any{"page_size": limit}
	if words != "" {
		ask["query"] = words
	}
	if cursor != "" {
		ask["start_cursor"] = cursor
	}
	return c.items(ctx, "search", ask)
}

func (c *apiCall) rows(ctx context.Context, sourceID string, in queryArgs) ([]item, string, error) {
	ask := map[string]any{"page_size": in.Limit}
	if in.Filter != nil {
		ask["filter"] = in.Filter
	}
	if len(in.Sorts) > 0 {
		ask["sorts"] = in.Sorts
	}
	if in.Cursor != "" {
		ask["start_cursor"] = in.Cursor
	}
	return c.items(ctx, "data_sources/"+sourceID+"/query", ask)
}

func (c *apiCall) items(ctx context.Context, path string, ask map[string]any) ([]item, string, error) {
	var found list[object]
	if err := c.do(ctx, http.MethodPost, path, nil, ask, &found); err != nil {
		return nil, "", err
	}
	items := make([]item, len(found.Results))
	for i, o := range found.Results {
		items[i] = o.item()
	}
	return items, found.next(), nil
}

// source chooses the source of a database whose rows are shown. An ID may also be that of a source.
func (c *apiCall) source(ctx context.Context, id, wanted string) (source, []string, error) {
	var database object
	err := c.do(ctx, http.MethodGet, "databases/"+id, nil, nil, &database)
	if tool.KindOf(err) == tool.NotFound {
		var one object
		if c.do(ctx, http.MethodGet, "data_sources/"+id, nil, nil, &one) == nil {
			return source{one.ID, blocktext.Plain(one.Title)}, nil, nil
		}
	}
	if err != nil {
		return source{}, nil, err
	}
	var names []string
	for _, s := range database.Sources {
		if wanted != "" && (s.Name == wanted || sameID(s.ID, wanted)) {
			return s, nil, nil
		}
		names = append(names, strconv.Quote(tool.Truncate(s.Name)))
	}
	switch {
	case len(names) == 0:
		return source{}, nil, tool.Errorf(c.Op, tool.NotFound, "the database has no source that the integration may read").
			WithHint("the user shares it with the integration")
	case wanted != "":
		return source{}, nil, tool.Errorf(c.Op, tool.NotFound, "the database has no source %q", tool.Truncate(wanted)).
			WithHint("its sources are %s", strings.Join(names, ", "))
	case len(names) > 1:
		return database.Sources[0], []string{"the database has several sources, and these are the rows of the first: " +
			strings.Join(names, ", ") + " (source chooses another)"}, nil
	}
	return database.Sources[0], nil, nil
}

func sameID(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "-", ""), strings.ReplaceAll(b, "-", ""))
}

// page reads a page: its properties, and its content from a cursor on.
func (c *apiCall) page(ctx context.Context, id, cursor string) (p *page, next string, warnings []string, err error) {
	var o object
	if err := c.do(ctx, http.MethodGet, "pages/"+id, nil, nil, &o); err != nil {
		return nil, "", nil, err
	}
	p = &page{ID: o.ID, URL: o.URL, Edited: o.Edited}
	p.Title, p.Properties = blocktext.Properties(o.Properties)
	w := blocktext.Writer{Limit: c.settings.MaxBytes}
	for {
		var children list[blocktext.Block]
		if err := c.children(ctx, id, cursor, &children); err != nil {
			return nil, "", nil, err
		}
		if err := c.below(ctx, children.Results, 1); err != nil {
			return nil, "", nil, err
		}
		w.Blocks(children.Results)
		next = children.next()
		if cursor = next; next == "" || w.Full() || c.requests >= maxRequests {
			break
		}
	}
	p.Text = w.String()
	if w.Full() {
		warnings = append(warnings, "the page is longer than "+amount.Bytes(int64(c.settings.MaxBytes))+
			", and its text is cut there: "+c.settings.Key("config.max_bytes")+" allows more")
	}
	if c.left > 0 {
		warnings = append(warnings, amount.Of(c.left, "block")+" of the page have more inside that is not shown: "+
			"read one as a page by its ID, which stands behind it")
	}
	return p, next, warnings, nil
}

// maxDepth bounds how far inside each other the blocks of a page are read.
const maxDepth = 4

// below reads what is inside of blocks, as far as the bounds of a call allow. Pages and databases
// inside of a page are read by calls of their own.
func (c *apiCall) below(ctx context.Context, blocks []blocktext.Block, depth int) error {
	for i := range blocks {
		b := &blocks[i]
		if !b.HasChildren || b.Type == "child_page" || b.Type == "child_database" {
			continue
		}
		if depth > maxDepth || c.requests >= maxRequests {
			b.Left, c.left = true, c.left+1
			continue
		}
		var children list[blocktext.Block]
		if err := c.children(ctx, b.ID, "", &children); err != nil {
			return err
		}
		if children.More {
			b.Left, c.left = true, c.left+1
		}
		if err := c.below(ctx, children.Results, depth+1); err != nil {
			return err
		}
		b.Children = children.Results
	}
	return nil
}

func (c *apiCall) children(ctx context.Context, id, cursor string, into *list[blocktext.Block]) error {
	query := url.Values{"page_size": {"100"}}
	if cursor != "" {
		query.Set("start_cursor", cursor)
	}
	return c.do(ctx, http.MethodGet, "blocks/"+url.PathEscape(id)+"/children", query, nil, into)
}

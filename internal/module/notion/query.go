package notion

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed query.md
var queryDoc string

const queryInput = `{
  "type": "object",
  "properties": {
    "search": {"type": "string", "maxLength": 500, "description": "Words of a title; empty lists what there is."},
    "page": {"type": "string", "minLength": 1, "maxLength": 500, "description": "The ID or the link of a page to read."},
    "database": {"type": "string", "minLength": 1, "maxLength": 500, "description": "The ID or the link of a database to list."},
    "source": {"type": "string", "maxLength": 200,
      "description": "Which source of a database that has several: its name or ID."},
    "filter": {"type": "object", "description": "Rows of the database to show, as the Notion API writes it."},
    "sorts": {"type": "array", "items": {"type": "object"}, "maxItems": 10,
      "description": "The order of rows, as [{\"property\": \"Due\", \"direction\": \"ascending\"}]."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 25, "description": "How many results or rows to give."},
    "cursor": {"type": "string", "maxLength": 500, "description": "Go on where an earlier call stopped: its next_cursor."}
  },
  "additionalProperties": false
}`

const queryOutput = `{
  "type": "object",
  "properties": {
    "results": {"type": "array", "description": "What was found: pages and databases, or rows.", "items": {
      "type": "object",
      "properties": {
        "id": {"type": "string"},
        "kind": {"type": "string", "enum": ["page", "database"]},
        "title": {"type": "string"},
        "url": {"type": "string"},
        "edited": {"type": "string"},
        "properties": {"type": "object", "additionalProperties": {"type": "string"}}
      },
      "required": ["id", "kind", "title"]
    }},
    "page": {
      "type": "object",
      "properties": {
        "id": {"type": "string"}, "title": {"type": "string"}, "url": {"type": "string"}, "edited": {"type": "string"},
        "properties": {"type": "object", "additionalProperties": {"type": "string"}},
        "text": {"type": "string", "description": "The content, as Markdown."}
      },
      "required": ["id", "title", "text"]
    },
    "next_cursor": {"type": "string"}
  }
}`

func queryTool(clients *clientPool) module.Definition {
	return module.Definition{
		Name: "query", Doc: queryDoc, Input: queryInput, Output: queryOutput,
		Examples: []tool.Example{
			module.Example("find a page", `{"search": "meeting notes"}`),
			module.Example("read it", `{"page": "https://www.notion.so/Notes-59833787f9cf4fdf8782e53db20768a5"}`),
			module.Example("what is open, by its date", `{"database": "d9824bdc84454327be8b5b47500af6ce",
				"filter": {"property": "Status", "status": {"does_not_equal": "Done"}},
				"sorts": [{"property": "Due", "direction": "ascending"}]}`),
		},
		Aliases: []string{
			"choir.notion.query", "notion_query", "notion-search", "notion-fetch", "API-post-search", "API-retrieve-a-page",
			"API-post-database-query", "search notion", "read a notion page", "query a notion database", "notes in notion",
			"chercher dans notion", "lire une page notion", "Notion durchsuchen", "eine Notion-Seite lesen",
			"buscar en notion", "leer una página de notion", "在 Notion 中搜索", "Notion を検索",
		},
		Tags: []string{"notion", "notes", "wiki", "pages", "database", "knowledge", "documents", "tasks"},
		Runtime: tool.Runtime{
			Data: tool.DataInternal, Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Timeout: fetch.RequestTime,
		},
		Handler: fetch.Handler(clients, "query", query),
	}
}

type queryArgs struct {
	Search   *string           `json:"search"`
	Page     string            `json:"page"`
	Database string            `json:"database"`
	Source   string            `json:"source"`
	Filter   json.RawMessage   `json:"filter"`
	Sorts    []json.RawMessage `json:"sorts"`
	Limit    int               `json:"limit"`
	Cursor   string            `json:"cursor"`
}

// answer is the data of a result.
type answer struct {
	Results    []item `json:"results,omitempty"`
	Page       *page  `json:"page,omitempty"`
	NextCursor string `json:"next_cursor,omitempty"`
}

const defaultLimit = 25

func query(ctx context.Context, l lease, in queryArgs) (*tool.Result, error) {
	c := &apiCall{settings: l.Settings, client: l.Client}
	c.Call = fetch.Call{Op: l.Op, Grant: l.Grant, Settings: &l.Settings.Settings}
	if err := c.checkToken(); err != nil {
		return nil, err
	}
	if in.Limit == 0 {
		in.Limit = defaultLimit
	}
	if err := in.check(l.Op); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Settings.TimeLimit(0))
	defer cancel()
	switch {
	case in.Page != "":
		return c.showPage(ctx, in)
	case in.Database != "":
		return c.showRows(ctx, in)
	default:
		return c.showFound(ctx, in)
	}
}

// check says that one thing is asked for, and that what goes with another is left out.
func (in *queryArgs) check(op string) error {
	asked := 0
	for _, is := range []bool{in.Search != nil, in.Page != "", in.Database != ""} {
		if is {
			asked++
		}
	}
	rows := in.Filter != nil || len(in.Sorts) > 0 || in.Source != ""
	switch {
	case asked != 1:
		return tool.Errorf(op, tool.Invalid, "a query is a search, a page or a database, and this is %s", number(asked)).
			WithHint("give one of search, page and database")
	case rows && in.Database == "":
		return tool.Errorf(op, tool.Invalid, "filter, sorts and source are for the rows of a database").
			WithHint("give the database, or leave them out")
	}
	return nil
}

func number(asked int) string {
	if asked == 0 {
		return "none of them"
	}
	return fmt.Sprintf("%d of them", asked)
}

func (c *apiCall) showFound(ctx context.Context, in queryArgs) (*tool.Result, error) {
	words := strings.TrimSpace(*in.Search)
	found, next, err := c.search(ctx, words, in.Limit, in.Cursor)
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("%s in Notion", amount.Of(len(found), "result"))
	if words != "" {
		about += fmt.Sprintf(" for %q", tool.Truncate(words))
	}
	if len(found) == 0 {
		about += ": titles are searched, and only what was shared with the integration is found"
	}
	return listed(about, found, next)
}

func (c *apiCall) showRows(ctx context.Context, in queryArgs) (*tool.Result, error) {
	id, err := c.id("database", in.Database)
	if err != nil {
		return nil, err
	}
	source, warnings, err := c.source(ctx, id, in.Source)
	if err != nil {
		return nil, err
	}
	rows, next, err := c.rows(ctx, source.ID, in)
	if err != nil {
		return nil, err
	}
	r, err := listed(fmt.Sprintf("%s of %s", amount.Of(len(rows), "row"), fence.Value(source.Name)), rows, next)
	if err == nil {
		r.Warnings = append(warnings, r.Warnings...)
	}
	return r, err
}

func (c *apiCall) showPage(ctx context.Context, in queryArgs) (*tool.Result, error) {
	id, err := c.id("page", in.Page)
	if err != nil {
		return nil, err
	}
	p, next, warnings, err := c.page(ctx, id, in.Cursor)
	if err != nil {
		return nil, err
	}
	r, err := tool.OK("the page "+fence.Value(p.Title), answer{Page: p, NextCursor: next})
	if err != nil {
		return nil, err
	}
	r.Warnings = warnings
	r.Content = []tool.Content{tool.Text(fence.Follows + fence.Data(p.head()+p.Text))}
	return withNext(r, next), nil
}

// listed is the result that lists what was found.
func listed(about string, items []item, next string) (*tool.Result, error) {
	r, err := tool.OK(about, answer{Results: items, NextCursor: next})
	if err != nil || len(items) == 0 {
		return r, err
	}
	var b strings.Builder
	for _, i := range items {
		b.WriteString(i.line())
	}
	r.Content = []tool.Content{tool.Text(fence.Follows + fence.Data(b.String()))}
	return withNext(r, next), nil
}

// withNext says that there is more, and how to get it.
func withNext(r *tool.Result, next string) *tool.Result {
	if next != "" {
		r.Warnings = append(r.Warnings, "there is more: the same call with cursor "+next+" goes on")
	}
	return r
}

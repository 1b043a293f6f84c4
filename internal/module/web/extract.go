package web

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/markdown"
	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/internal/module/web/document"
	"callgate/internal/module/web/htmlquery"
	"callgate/tool"
)

//go:embed extract.md
var extractDoc string

const extractInput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 16000,
      "description": "The address of the page, with https:// or http://."},
    "html": {"type": "string", "maxLength": 2000000, "description": "The page itself, in the place of its address."},
    "selector": {"type": "string", "minLength": 1, "maxLength": 500,
      "description": "One CSS selector, such as .price or table.results tr."},
    "selectors": {"type": "array", "maxItems": 20, "items": {"type": "string", "minLength": 1, "maxLength": 500},
      "description": "Several CSS selectors."},
    "attribute": {"type": "string", "minLength": 1, "maxLength": 100,
      "description": "An attribute whose value is wanted of what the selectors match, such as href, src or datetime."},
    "tables": {"type": "boolean", "default": false, "description": "Give the tables."},
    "links": {"type": "boolean", "default": false, "description": "Give the links."},
    "metadata": {"type": "boolean", "default": false, "description": "Give what the page says of itself."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100,
      "description": "How many elements to give of each selector."}
  },
  "additionalProperties": false
}`

const extractOutput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "description": "Where the page was found, after redirects."},
    "matches": {"type": "array", "items": {
      "type": "object",
      "properties": {
        "selector": {"type": "string"},
        "count": {"type": "integer", "description": "How many elements match."},
        "items": {"type": "array", "items": {"type": "object", "properties": {"text": {"type": "string"}, "value": {"type": "string"}}}}
      },
      "required": ["selector", "count", "items"]
    }},
    "tables": {"type": "array", "items": {
      "type": "object",
      "properties": {
        "caption": {"type": "string"},
        "header": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "count": {"type": "integer"}
      },
      "required": ["rows"]
    }},
    "links": {"type": "array", "items": {
      "type": "object",
      "properties": {"text": {"type": "string"}, "url": {"type": "string"}},
      "required": ["url"]
    }},
    "metadata": {"type": "object"},
    "truncated": {"type": "boolean", "description": "Whether more was there than is given."},
    "from_cache": {"type": "boolean"},
    "notice": {"type": "string"}
  },
  "required": ["truncated"]
}`

func extractTool(k *kernelState) definition {
	return definition{
		Name: "extract", Short: "WebExtract", Doc: extractDoc, Input: extractInput, Output: extractOutput,
		Examples: []tool.Example{
			module.Example("the tables of a page", `{"url": "https://example.com/standings", "tables": true}`),
			module.Example("titles and prices",
				`{"url": "https://example.com/shop", "selectors": [".product h2", ".product .price"]}`),
			module.Example("where the links in the menu lead",
				`{"url": "https://example.com/", "selector": "nav a", "attribute": "href"}`),
			module.Example("what a page says of itself", `{"url": "https://example.com/article", "metadata": true}`),
		},
		Aliases: []string{
			"web_extract", "scrape_page", "css_select", "extract_links", "extract_tables", "parse_html", "tavily-extract",
			"scrape a website", "extract data from a page", "get all links of a page", "read a table from a website",
			"get page metadata", "find elements by CSS selector",
			"extraire des données d'une page", "extraire les liens", "lire un tableau d'un site", "extraire les métadonnées",
		},
		Tags: []string{
			"web", "scrape", "extract", "css", "selector", "table", "links", "metadata", "html", "extraction", "tableau",
		},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IS)},
			Risk:    tool.Low, SideEffect: tool.Read, Data: tool.DataPublic, Idempotent: true, Timeout: fetch.RequestTime,
		},
		Handler: handler(k, "extract", extract),
	}
}

type extractArgs struct {
	URL       string   `json:"url"`
	HTML      string   `json:"html"`
	Selector  string   `json:"selector"`
	Selectors []string `json:"selectors"`
	Attribute string   `json:"attribute"`
	Tables    bool     `json:"tables"`
	Links     bool     `json:"links"`
	Metadata  bool     `json:"metadata"`
	Limit     int      `json:"limit"`
}

type extractData struct {
	URL       string              `json:"url,omitempty"`
	Matches   []htmlquery.Match   `json:"matches,omitempty"`
	Tables    *[]htmlquery.Table  `json:"tables,omitempty"`
	Links     *[]markdown.Link    `json:"links,omitempty"`
	Metadata  *htmlquery.Metadata `json:"metadata,omitempty"`
	Truncated bool                `json:"truncated"`
	FromCache bool                `json:"from_cache,omitempty"`
	Notice    string              `json:"notice,omitempty"`
}

const defaultItems = 100

func extract(ctx context.Context, c webCall, in extractArgs) (*tool.Result, error) {
	selectors, err := c.selectors(in)
	if err != nil {
		return nil, err
	}
	if in.Limit == 0 {
		in.Limit = defaultItems
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	data := extractData{Notice: notice}
	page, truncated, err := c.parsePage(ctx, in, &data)
	if err != nil {
		return nil, err
	}
	for _, s := range selectors {
		data.Matches = append(data.Matches, page.Select(s, in.Attribute, in.Limit))
	}
	if in.Tables {
		tables := page.Tables(selectors)
		data.Tables = &tables
	}
	if in.Links {
		links := page.Links(selectors)
		data.Links = &links
	}
	if in.Metadata {
		metadata := page.Metadata()
		data.Metadata = &metadata
	}
	data.Truncated = page.Cut || truncated
	return extracted(data, truncated)
}

// selectors parses the selectors, before anything is fetched.
func (c webCall) selectors(in extractArgs) ([]htmlquery.Selector, error) {
	texts := in.Selectors
	if in.Selector != "" {
		texts = append([]string{in.Selector}, texts...)
	}
	switch {
	case in.URL == "" && in.HTML == "":
		return nil, tool.Errorf(c.Op, tool.Invalid, "there is no page to extract from").WithHint("give url, or html")
	case len(texts) == 0 && !in.Tables && !in.Links && !in.Metadata:
		return nil, tool.Errorf(c.Op, tool.Invalid, "nothing is asked for").
			WithHint("give a selector, or set tables, links or metadata to true; web.fetch reads the page as a whole")
	case in.Attribute != "" && len(texts) == 0:
		return nil, tool.Errorf(c.Op, tool.Invalid, "an attribute is asked for, but not of which elements").
			WithHint("give a selector, such as a for all links")
	}
	var out []htmlquery.Selector
	for _, text := range texts {
		s, err := htmlquery.ParseSelector(text)
		if err != nil {
			return nil, tool.Errorf(c.Op, tool.Invalid, "%s", tool.TruncateTo(err.Error(), 300)).
				WithHint("write it in CSS, as #id, .class, table.prices tr > td:first-child or a[href^=\"https:\"]; " +
					"XPath is not understood")
		}
		out = append(out, s)
	}
	return out, nil
}

// parsePage returns the page to extract from, and whether its end is missing.
func (c webCall) parsePage(ctx context.Context, in extractArgs, data *extractData) (
	page *htmlquery.Page, truncated bool, err error,
) {
	var u *url.URL
	if in.URL != "" {
		if u, err = c.URL(in.URL); err != nil {
			return nil, false, err
		}
	}
	source := document.Source{URL: u, Type: "text/html; charset=utf-8", Body: []byte(in.HTML)}
	if in.HTML == "" {
		loaded, cached, err := c.load(ctx, u)
		if err != nil {
			return nil, false, err
		}
		if source, err = sourceOf(loaded); err != nil {
			return nil, false, err
		}
		data.FromCache = cached
	}
	if source.URL != nil {
		data.URL = source.URL.String()
	}
	if !document.IsPage(source) && in.HTML == "" {
		return nil, false, tool.Errorf(c.Op, tool.Invalid, "%s is not a web page: %s",
			tool.TruncateTo(data.URL, 300), typeText(source.Type)).
			WithHint("read it with web.fetch, or save it with web.download")
	}
	text, _, _ := body.Decode(source.Body, source.Type, source.Truncated)
	if page, err = htmlquery.Parse([]byte(text), source.URL); err != nil {
		return nil, false, tool.Errorf(c.Op, tool.Failed, "%w", err).WithHint("read it with web.fetch")
	}
	return page, source.Truncated, nil
}

// maxTwice bounds data that are given as text, too.
const maxTwice = 16 << 10

// extracted makes the result; truncated says that the end of the page is
// missing.
func extracted(data extractData, truncated bool) (*tool.Result, error) {
	r, err := tool.OK(data.summary(), data)
	if err != nil {
		return nil, err
	}
	from := data.URL
	if from == "" {
		from = "a page"
	}
	var text bytes.Buffer
	if len(r.Data) <= maxTwice && json.Indent(&text, r.Data, "", " ") == nil {
		r.Content = []tool.Content{tool.Text(untrustedNotice(from) + text.String())}
	}
	if truncated {
		r.Warnings = append(r.Warnings, "the page is longer than may be read; its end is missing")
	} else if data.Truncated {
		r.Warnings = append(r.Warnings, "there is more than was given; ask for less at a time, with a narrower selector")
	}
	return r, nil
}

func (d *extractData) summary() string {
	var parts []string
	for _, m := range d.Matches {
		parts = append(parts, fmt.Sprintf("%s for %s", amount.Of(m.Count, "element"), tool.TruncateTo(m.Selector, 60)))
	}
	if d.Tables != nil {
		parts = append(parts, amount.Of(len(*d.Tables), "table"))
	}
	if d.Links != nil {
		parts = append(parts, amount.Of(len(*d.Links), "link"))
	}
	if d.Metadata != nil {
		parts = append(parts, "the metadata")
	}
	found := strings.Join(parts, ", ")
	if d.URL == "" {
		return found
	}
	return found + ", in " + tool.TruncateTo(d.URL, 200)
}

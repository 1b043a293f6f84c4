package web

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"callgate/internal/amount"
	"callgate/internal/markdown"
	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/module/web/document"
	"callgate/tool"
)

//go:embed fetch.md
var fetchDoc string

const fetchInput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 16000,
      "description": "The address, with https:// or http://."},
    "format": {"type": "string", "enum": ["markdown", "text", "html"], "default": "markdown",
      "description": "How a page is written: markdown, text without marks, or its source as it came."},
    "main_only": {"type": "boolean", "default": true,
      "description": "Only the text that people come for. False: the whole page."},
    "offset": {"type": "integer", "minimum": 0, "description": "The character to begin with; the first is 0."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 200000,
      "description": "How many characters to give, 30,000 unless given. What would not fit into one answer is left for the next."}
  },
  "required": ["url"],
  "additionalProperties": false
}`

const fetchOutput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "description": "Where it was found, after redirects."},
    "kind": {"type": "string", "enum": ["page", "text", "json", "feed", "pdf", "picture"]},
    "content_type": {"type": "string"},
    "title": {"type": "string"},
    "byline": {"type": "string", "description": "Who wrote it."},
    "published": {"type": "string", "description": "When it was published."},
    "pages": {"type": "integer", "description": "Pages of a PDF."},
    "offset": {"type": "integer"},
    "characters": {"type": "integer", "description": "How many are given."},
    "total_characters": {"type": "integer"},
    "truncated": {"type": "boolean", "description": "Whether more follows."},
    "next_offset": {"type": "integer", "description": "The offset to go on with, when more follows."},
    "links": {"type": "array", "description": "With format text: the links of the page.",
      "items": {"type": "object", "properties": {"text": {"type": "string"}, "url": {"type": "string"}}}},
    "from_cache": {"type": "boolean", "description": "It was read a short while ago and shown again."},
    "notice": {"type": "string"}
  },
  "required": ["url", "kind", "truncated"]
}`

func fetchTool(k *kernelState) definition {
	return definition{
		Name: "fetch", Short: "WebFetch", Doc: fetchDoc, Input: fetchInput, Output: fetchOutput,
		Examples: []tool.Example{
			module.Example("read an article", `{"url": "https://example.com/news/article.html"}`),
			module.Example("go on where the last part ended", `{"url": "https://example.com/spec.html", "offset": 30000}`),
			module.Example("the whole page, without marks",
				`{"url": "https://example.com/", "main_only": false, "format": "text"}`),
		},
		Aliases: []string{
			"web_fetch", "WebFetch", "fetch", "read_url", "open_url", "browse", "scrape", "read_webpage", "url_to_markdown",
			"read a web page", "open a website", "read an article", "read a PDF from the web", "read an RSS feed",
			"convert a page to markdown", "summarize a page",
			"lire une page web", "ouvrir un site", "lire un article", "lire un PDF en ligne", "récupérer une page",
		},
		Tags: []string{"web", "page", "read", "html", "markdown", "pdf", "rss", "article", "url", "lecture", "site"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IS)},
			Risk:    tool.Low, SideEffect: tool.Read, Data: tool.DataPublic, Idempotent: true, Timeout: fetch.RequestTime,
		},
		Handler: handler(k, "fetch", fetchPage),
	}
}

type fetchArgs struct {
	URL      string          `json:"url"`
	Format   document.Format `json:"format"`
	MainOnly *bool           `json:"main_only"`
	Offset   int             `json:"offset"`
	Limit    int             `json:"limit"`
}

type fetchData struct {
	URL         string          `json:"url"`
	Kind        document.Kind   `json:"kind"`
	ContentType string          `json:"content_type,omitempty"`
	Title       string          `json:"title,omitempty"`
	Byline      string          `json:"byline,omitempty"`
	Published   string          `json:"published,omitempty"`
	Pages       int             `json:"pages,omitempty"`
	Offset      int             `json:"offset,omitempty"`
	Characters  int             `json:"characters"`
	Total       int             `json:"total_characters"`
	Truncated   bool            `json:"truncated"`
	NextOffset  int             `json:"next_offset,omitempty"`
	Links       []markdown.Link `json:"links,omitempty"`
	FromCache   bool            `json:"from_cache,omitempty"`
	Notice      string          `json:"notice,omitempty"`
}

func fetchPage(ctx context.Context, c webCall, in fetchArgs) (*tool.Result, error) {
	if in.Format == "" {
		in.Format = document.Markdown
	}
	u, err := c.URL(in.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	page, cached, err := c.load(ctx, u)
	if err != nil {
		return nil, err
	}
	source, err := sourceOf(page)
	if err != nil {
		return nil, err
	}
	options := document.Options{Format: in.Format, Main: in.MainOnly == nil || *in.MainOnly}
	doc, err := document.Read(ctx, source, options)
	if err != nil {
		return nil, c.unreadable(err)
	}
	data := fetchData{
		URL: page.URL, Kind: doc.Kind, ContentType: tool.Truncate(page.Type), Title: doc.Title, Byline: doc.Byline,
		Published: doc.Published, Pages: doc.Pages, FromCache: cached, Notice: notice,
	}
	size := amount.Bytes(int64(len(page.Body)))
	switch doc.Kind {
	case document.Binary:
		return nil, tool.Errorf(c.Op, tool.Invalid, "%s is not a text that can be read: %s, %s",
			tool.TruncateTo(page.URL, 300), typeText(page.Type), size).
			WithHint("save it with web.download, and use a program that understands it")
	case document.Picture:
		r, err := tool.OK(fmt.Sprintf("%s: a picture, %s, %s", tool.TruncateTo(page.URL, 200), doc.MIME, size), data)
		if err == nil {
			r.Content = []tool.Content{tool.Image(doc.MIME, page.Body)}
		}
		return r, err
	}
	if page.Truncated {
		doc.Notes = append(doc.Notes, fmt.Sprintf("the page is longer than %s; its end is missing", size))
	}
	if in.Format == document.Text {
		data.Links = doc.Links[:min(len(doc.Links), maxListed)]
	}
	return c.part(in, doc, data)
}

// maxListed bounds the links that are listed beside a text.
const maxListed = 100

// typeText names a content type for people.
func typeText(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	if kind = strings.TrimSpace(kind); kind == "" {
		return "of no named type"
	}
	return tool.Truncate(kind)
}

// unreadable makes the error of a document that is damaged, or beyond a limit.
func (c webCall) unreadable(err error) error {
	var done *tool.Error
	if errors.As(err, &done) {
		done.Op = c.Op
		return done
	}
	return tool.Errorf(c.Op, tool.Failed, "it cannot be read: %w", err).WithHint("save it with web.download")
}

// part makes the result of the part of a document that the arguments ask for.
func (c webCall) part(in fetchArgs, doc *document.Document, data fetchData) (*tool.Result, error) {
	text := heading(doc, in.Format) + doc.Text
	part, total, ok := cut(text, in.Offset, in.Limit)
	if !ok {
		return nil, tool.Errorf(c.Op, tool.Invalid, "offset %d is past the end of the page, which has %d characters",
			in.Offset, total).WithHint("use a smaller offset; the page may have changed since it was read")
	}
	data.Offset, data.Characters, data.Total = in.Offset, utf8.RuneCountInString(part), total
	if end := data.Offset + data.Characters; end < total {
		data.Truncated, data.NextOffset = true, end
	}
	r, err := tool.OK(data.summary(), data)
	if err != nil {
		return nil, err
	}
	if part != "" {
		r.Content = []tool.Content{tool.Text(untrustedNotice(data.URL) + part)}
	}
	if data.Truncated {
		r.Cut = &tool.Cut{
			Unit: "characters", First: data.Offset + 1, Last: data.NextOffset, Total: total,
			Next: fmt.Sprintf("offset=%d", data.NextOffset),
		}
	}
	r.Warnings = doc.Notes
	if doc.Kind == document.Page && doc.Whole && len(doc.Text) > 0 {
		r.Warnings = append(r.Warnings, "no part of the page stands out as its text; the whole of it is given")
	}
	if doc.Kind == document.Page && strings.TrimSpace(doc.Text) == "" {
		r.Warnings = append(r.Warnings,
			"the page shows no text by itself; it may be made by scripts, which a browser tool runs")
	}
	return r, nil
}

// heading returns the title and the author of a document, where its text does
// not begin with them.
func heading(doc *document.Document, format document.Format) string {
	if doc.Kind == document.JSON || doc.Kind == document.Plain || format == document.HTML || doc.Text == "" {
		return ""
	}
	var b strings.Builder
	first, _, _ := strings.Cut(doc.Text, "\n")
	switch {
	case doc.Title == "" || strings.HasPrefix(first, "# ") || first == doc.Title:
	case format == document.Text:
		b.WriteString(doc.Title + "\n\n")
	default:
		b.WriteString("# " + doc.Title + "\n\n")
	}
	var origin []string
	if doc.Byline != "" {
		origin = append(origin, "by "+doc.Byline)
	}
	if doc.Published != "" {
		origin = append(origin, "published "+doc.Published)
	}
	if len(origin) > 0 {
		b.WriteString(strings.Join(origin, ", ") + "\n\n")
	}
	return b.String()
}

const (
	defaultLimit = 30_000
	// maxBytes bounds a part. The kernel cuts a result at 48 KiB; this leaves
	// space for the rest of it.
	maxBytes = 44 << 10
	// lookBack is how far before the limit the end of a line is looked for.
	lookBack = 400
)

// cut returns a part of a text: limit characters from offset on, no more than
// fit into a result, and up to the end of a line if one is near. It reports
// whether the offset lies within the text.
func cut(text string, offset, limit int) (part string, total int, ok bool) {
	if limit == 0 {
		limit = defaultLimit
	}
	total = utf8.RuneCountInString(text)
	if offset > 0 && offset >= total {
		return "", total, false
	}
	start, end, n := 0, len(text), 0
	for i := range text {
		if n == offset {
			start = i
		}
		if n > offset && (n-offset >= limit || i-start > maxBytes) {
			end = i
			break
		}
		n++
	}
	if part = text[start:end]; end < len(text) && len(part) > 4*lookBack {
		if at := strings.LastIndexByte(part[len(part)-lookBack:], '\n'); at >= 0 {
			part = part[:len(part)-lookBack+at+1]
		}
	}
	return part, total, true
}

func (d *fetchData) summary() string {
	name := tool.TruncateTo(d.URL, 200)
	if d.Title != "" {
		name = fmt.Sprintf("%q, %s", tool.Truncate(d.Title), name)
	}
	switch {
	case d.Total == 0:
		return name + " holds no text"
	case d.Truncated:
		return fmt.Sprintf("%s: characters %d to %d of %d; continue with offset=%d",
			name, d.Offset, d.NextOffset, d.Total, d.NextOffset)
	default:
		return fmt.Sprintf("%s: %s, to its end", name, amount.Of(d.Characters, "character"))
	}
}

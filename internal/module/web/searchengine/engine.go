// Package searchengine knows the search engines: how to write a query for each,
// and how to read its answer. It sends nothing itself; its caller sends the
// request and brings the answer.
package searchengine

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"callgate/internal/markdown"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

const op = "web.search"

// Query is a search.
type Query struct {
	Text      string
	Limit     int    // of results
	Region    string // a country, or a country and a language: fr, ch-de; "" for none
	Freshness string // day, week, month or year; "" for any
	Key       string // of the engine's API
}

// country returns the country and the language of the region.
func (q Query) country() (country, language string) {
	country, language, _ = strings.Cut(strings.ToLower(q.Region), "-")
	return country, language
}

// Result is one result of a search.
type Result struct {
	Title     string `json:"title"`
	URL       string `json:"url"`
	Snippet   string `json:"snippet,omitempty"`
	Published string `json:"published,omitempty"`
}

// Answer is the response of an engine, decompressed.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Engine is one search engine.
type Engine interface {
	// Endpoint returns its usual address; "" for an engine without one.
	Endpoint() string
	// NeedsKey reports whether a search needs a key.
	NeedsKey() bool
	// Request makes the request of a query to an endpoint. Ignored names parts
	// of the query that the engine does not know.
	Request(endpoint *url.URL, q Query) (r *http.Request, ignored []string, err error)
	// Read reads an answer. An answer without results is not an error; an
	// answer that cannot be read is.
	Read(a Answer) ([]Result, error)
}

// ByName returns the engine with a name, or nil.
func ByName(name string) Engine {
	switch name {
	case "duckduckgo":
		return duckDuckGo{}
	case "brave":
		return brave{}
	case "searxng":
		return searXNG{}
	case "tavily":
		return tavily{}
	default:
		return nil
	}
}

// Normalize makes results ready to show, at most limit of them: addresses that
// can be followed, each once, and texts on one line without markup.
func Normalize(results []Result, limit int) []Result {
	out := make([]Result, 0, min(len(results), limit))
	seen := map[string]bool{}
	for _, r := range results {
		u, err := url.Parse(strings.TrimSpace(r.URL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(r.URL) > 4000 {
			continue
		}
		key := dedupKey(u)
		if seen[key] || len(out) >= limit {
			continue
		}
		seen[key] = true
		r.URL, r.Published = u.String(), markdown.Date(r.Published)
		r.Title, r.Snippet = tool.TruncateTo(oneLine(r.Title), 300), tool.TruncateTo(oneLine(r.Snippet), 1000)
		if r.Title == "" {
			r.Title = u.Host
		}
		out = append(out, r)
	}
	return out
}

// dedupKey returns what two addresses of one page have in common.
func dedupKey(u *url.URL) string {
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(name, "utm_") {
			query.Del(name)
		}
	}
	host, path := strings.TrimPrefix(strings.ToLower(u.Host), "www."), strings.TrimSuffix(u.EscapedPath(), "/")
	return host + path + "?" + query.Encode()
}

// oneLine writes a text on one line, as a reader sees it.
func oneLine(text string) string {
	return strings.Join(strings.Fields(markdown.Visible(strings.ToValidUTF8(text, "\ufffd"))), " ")
}

// plainText removes the markup of a text that an engine gives as HTML.
func plainText(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	page, err := markdown.FromHTML([]byte(text), nil, markdown.Options{Plain: true})
	if err != nil {
		return text
	}
	return page.Markdown
}

// decode reads an answer in JSON.
func decode(name string, a Answer, into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return unreadable(name, a)
	}
	return nil
}

// engineSetting is where an app file chooses the engine.
const engineSetting = "tools.modules.web.config.engine"

// unreadable is the error of an answer in an unknown form. An empty list in its
// place would mean that nothing was found.
func unreadable(name string, a Answer) *tool.Error {
	return tool.Errorf(op, tool.Failed,
		"the page could not be read: what %s answered (%d, %s) is not in the form it used to be",
		name, a.Status, tool.Truncate(a.Header.Get("Content-Type"))).
		WithHint("this does not mean that nothing was found; try again, and if that does not help use another engine: %s",
			engineSetting)
}

// statusError is the error of a status of 300 or more.
func statusError(name string, a Answer) *tool.Error {
	e := tool.Errorf(op, tool.Failed, "%s answered %d %s", name, a.Status, http.StatusText(a.Status))
	switch {
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
		return e.WithHint("the key was not accepted, or there is none: %s names the secret that holds it",
			"tools.modules.web.credential")
	case a.Status == http.StatusTooManyRequests:
		e.Kind = tool.Limited
		return e.WithHint("too many searches: %s", fetch.RetryAfter(a.Header))
	case a.Status == http.StatusPaymentRequired, a.Status == 432, a.Status == 433:
		e.Kind = tool.Limited
		return e.WithHint("the plan of this key is used up; its owner may raise it")
	case a.Status >= 500:
		return e.WithHint("the engine failed: try again later")
	default:
		if reason := oneLine(plainText(string(a.Body[:min(len(a.Body), 500)]))); reason != "" {
			return e.WithHint("it says: %s", reason)
		}
		return e.WithHint("check the query")
	}
}

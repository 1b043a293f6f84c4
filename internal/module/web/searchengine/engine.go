// Package searchengine knows the search engines: how each is asked, and how its
// answer is read. It reaches nothing itself; whoever asks sends the request and
// brings back the answer.
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

// Query is what is searched for.
type Query struct {
	Text      string
	Limit     int
	Region    string // a country, or a country and a language: fr, ch-de; "" for none
	Freshness string // day, week, month or year; "" for any
	Key       string // what the engine knows its customer by
}

// country and language of a region.
func (q Query) country() (country, language string) {
	country, language, _ = strings.Cut(strings.ToLower(q.Region), "-")
	return country, language
}

// Result is something that was found.
type Result struct {
	Title     string `json:"title"`
	URL       string `json:"url"`
	Snippet   string `json:"snippet,omitempty"`
	Published string `json:"published,omitempty"`
}

// Answer is what an engine answered, unpacked.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Engine is one search engine.
type Engine interface {
	// Endpoint is its usual address; "" where it has none.
	Endpoint() string
	// NeedsKey tells whether it searches for customers only.
	NeedsKey() bool
	// Request makes the request for a query at an address. ignored are parts
	// of the query that the engine does not know.
	Request(at *url.URL, q Query) (r *http.Request, ignored []string, err error)
	// Read reads an answer. That nothing was found is no error; that the answer
	// cannot be read is.
	Read(a Answer) ([]Result, error)
}

// ByName returns an engine by its name; nil where there is none of that name.
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

// Normalize makes results fit to show: addresses that can be followed, each once,
// texts on one line without markup, as many as were asked for.
func Normalize(results []Result, most int) []Result {
	out := make([]Result, 0, min(len(results), most))
	seen := map[string]bool{}
	for _, r := range results {
		u, err := url.Parse(strings.TrimSpace(r.URL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(r.URL) > 4000 {
			continue
		}
		same := dedupKey(u)
		if seen[same] || len(out) >= most {
			continue
		}
		seen[same] = true
		r.URL = u.String()
		r.Title, r.Snippet, r.Published = tool.TruncateTo(words(r.Title), 300), tool.TruncateTo(words(r.Snippet), 1000), markdown.Date(r.Published)
		if r.Title == "" {
			r.Title = u.Host
		}
		out = append(out, r)
	}
	return out
}

// dedupKey is what two addresses of one page have in common.
func dedupKey(u *url.URL) string {
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(name, "utm_") {
			query.Del(name)
		}
	}
	return strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimSuffix(u.EscapedPath(), "/") + "?" + query.Encode()
}

// words is a text on one line, as a reader sees it.
func words(text string) string {
	return strings.Join(strings.Fields(markdown.Visible(strings.ToValidUTF8(text, "\ufffd"))), " ")
}

// unmarked takes the markup out of a text that an engine gives as HTML.
func unmarked(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	page, err := markdown.FromHTML([]byte(text), nil, markdown.Options{Plain: true})
	if err != nil {
		return text
	}
	return page.Markdown
}

// decode reads an answer in JSON. Where it is none, or holds no list of
// results, the answer cannot be read.
func decode(name string, a Answer, into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return unreadable(name, a)
	}
	return nil
}

// unreadable says that an engine's answer is not what it used to be. An empty
// list in its place would say that nothing was found.
func unreadable(name string, a Answer) *tool.Error {
	return tool.Errorf(op, tool.Failed, "the page could not be read: what %s answered (%d, %s) is not in the form it used to be", name, a.Status, tool.Truncate(a.Header.Get("Content-Type"))).
		WithHint("this says nothing about what there is to find; try again, and if it stays so use another engine: tools.modules.web.config.engine")
}

// refused says what a status of 300 or more means.
func refused(name string, a Answer) *tool.Error {
	e := tool.Errorf(op, tool.Failed, "%s answered %d %s", name, a.Status, http.StatusText(a.Status))
	switch {
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
		return e.WithHint("the key was not accepted, or there is none: tools.modules.web.credential names the secret that holds it")
	case a.Status == http.StatusTooManyRequests:
		e.Kind = tool.Limited
		return e.WithHint("too many searches: %s", fetch.RetryAfter(a.Header))
	case a.Status == http.StatusPaymentRequired, a.Status == 432, a.Status == 433:
		e.Kind = tool.Limited
		return e.WithHint("the plan of this key is used up; its owner may raise it")
	case a.Status >= 500:
		return e.WithHint("the engine failed: try again later")
	default:
		if said := words(unmarked(string(a.Body[:min(len(a.Body), 500)]))); said != "" {
			return e.WithHint("it says: %s", said)
		}
		return e.WithHint("check the query")
	}
}

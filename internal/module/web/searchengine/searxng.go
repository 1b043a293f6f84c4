package searchengine

import (
	"net/http"
	"net/url"
	"strings"
)

// searXNG is a search engine that people run themselves.
type searXNG struct{}

// Endpoint returns "": everybody runs an own one.
func (searXNG) Endpoint() string { return "" }

// NeedsKey returns false. A key is sent all the same, for a proxy in front of
// the engine.
func (searXNG) NeedsKey() bool { return false }

// Request makes a request for results in JSON.
func (searXNG) Request(endpoint *url.URL, q Query) (*http.Request, []string, error) {
	values := url.Values{"q": {q.Text}, "format": {"json"}, "pageno": {"1"}}
	if country, language := q.country(); country != "" {
		if language == "" {
			language = country
		}
		values.Set("language", language+"-"+strings.ToUpper(country))
	}
	if q.Freshness != "" {
		values.Set("time_range", q.Freshness)
	}
	to := endpoint
	if !strings.HasSuffix(endpoint.Path, "/search") {
		to = endpoint.JoinPath("search")
	}
	r, err := http.NewRequest(http.MethodGet, to.String()+"?"+values.Encode(), nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	if q.Key != "" {
		r.Header.Set("Authorization", "Bearer "+q.Key)
	}
	return r, nil, nil
}

// Read reads the results.
func (searXNG) Read(a Answer) ([]Result, error) {
	switch {
	case a.Status == http.StatusForbidden:
		return nil, statusError("SearXNG", a).
			WithHint("SearXNG answers in JSON only if its own settings allow it: search.formats must list json")
	case a.Status >= 300:
		return nil, statusError("SearXNG", a)
	}
	var in struct {
		Results *[]struct {
			Title, URL, Content string
			Published           string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := decode("SearXNG", a, &in); err != nil {
		return nil, err
	}
	if in.Results == nil {
		return nil, unreadable("SearXNG", a)
	}
	var out []Result
	for _, r := range *in.Results {
		out = append(out, Result{r.Title, r.URL, r.Content, r.Published})
	}
	return out, nil
}

package searchengine

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
)

// tavily is the search API of Tavily.
type tavily struct{}

// Endpoint returns its address.
func (tavily) Endpoint() string { return "https://api.tavily.com/search" }

// NeedsKey returns true.
func (tavily) NeedsKey() bool { return true }

// Request makes a request for results. Regions are ignored: Tavily knows them
// only by their English names.
func (tavily) Request(endpoint *url.URL, q Query) (*http.Request, []string, error) {
	query := map[string]any{"query": q.Text, "max_results": q.Limit, "search_depth": "basic"}
	if q.Freshness != "" {
		query["time_range"] = q.Freshness
	}
	var ignored []string
	if q.Region != "" {
		ignored = append(ignored, "region")
	}
	body, err := json.Marshal(query)
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequest(http.MethodPost, endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+q.Key)
	return r, ignored, nil
}

// Read reads the results.
func (tavily) Read(a Answer) ([]Result, error) {
	if a.Status >= 300 {
		return nil, statusError("Tavily", a)
	}
	var in struct {
		Results *[]struct {
			Title, URL, Content string
			Published           string `json:"published_date"`
		} `json:"results"`
	}
	if err := decode("Tavily", a, &in); err != nil {
		return nil, err
	}
	if in.Results == nil {
		return nil, unreadable("Tavily", a)
	}
	var out []Result
	for _, r := range *in.Results {
		out = append(out, Result{r.Title, r.URL, r.Content, r.Published})
	}
	return out, nil
}

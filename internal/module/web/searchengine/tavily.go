package searchengine

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
)

// tavily is the search API of Tavily.
type tavily struct{}

// Endpoint is its usual address.
func (tavily) Endpoint() string { return "https://api.tavily.com/search" }

// NeedsKey is true.
func (tavily) NeedsKey() bool { return true }

// Request asks for results. Regions it knows only by their English names.
func (tavily) Request(at *url.URL, q Query) (*http.Request, []string, error) {
	ask := map[string]any{"query": q.Text, "max_results": q.Limit, "search_depth": "basic"}
	if q.Freshness != "" {
		ask["time_range"] = q.Freshness
	}
	var ignored []string
	if q.Region != "" {
		ignored = append(ignored, "region")
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequest(http.MethodPost, at.String(), bytes.NewReader(body))
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
		return nil, refused("Tavily", a)
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

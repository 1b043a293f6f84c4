package searchengine

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
)

// brave is the search API of Brave.
type brave struct{}

// Endpoint returns its address.
func (brave) Endpoint() string { return "https://api.search.brave.com/res/v1/web/search" }

// NeedsKey returns true.
func (brave) NeedsKey() bool { return true }

// Request makes a request for results of the web.
func (brave) Request(endpoint *url.URL, q Query) (*http.Request, []string, error) {
	values := url.Values{"q": {q.Text}, "count": {strconv.Itoa(q.Limit)}, "text_decorations": {"false"}}
	country, language := q.country()
	if country != "" {
		values.Set("country", country)
	}
	if language != "" {
		values.Set("search_lang", language)
	}
	if q.Freshness != "" {
		values.Set("freshness", "p"+q.Freshness[:1])
	}
	r, err := http.NewRequest(http.MethodGet, endpoint.String()+"?"+values.Encode(), nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("X-Subscription-Token", q.Key)
	return r, nil, nil
}

// Read reads the results of the web.
func (brave) Read(a Answer) ([]Result, error) {
	if a.Status == http.StatusUnprocessableEntity && bytes.Contains(a.Body, []byte("SUBSCRIPTION_TOKEN")) {
		a.Status = http.StatusUnauthorized // Brave calls an unknown key unprocessable
	}
	if a.Status >= 300 {
		return nil, statusError("Brave", a)
	}
	var in struct {
		Type string `json:"type"`
		Web  *struct {
			Results []struct {
				Title, URL, Description string
				PageAge                 string `json:"page_age"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := decode("Brave", a, &in); err != nil {
		return nil, err
	}
	if in.Web == nil {
		if in.Type == "search" {
			return nil, nil // nothing was found
		}
		return nil, unreadable("Brave", a)
	}
	var out []Result
	for _, r := range in.Web.Results {
		out = append(out, Result{plainText(r.Title), r.URL, plainText(r.Description), r.PageAge})
	}
	return out, nil
}

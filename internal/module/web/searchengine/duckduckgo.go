package searchengine

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"callgate/tool"
)

// duckDuckGo is DuckDuckGo's page for browsers without scripts. It is not an API
// and makes no promises, so a page that is not recognised is an error.
type duckDuckGo struct{}

// Endpoint returns its address.
func (duckDuckGo) Endpoint() string { return "https://html.duckduckgo.com/html/" }

// NeedsKey returns false.
func (duckDuckGo) NeedsKey() bool { return false }

// Request makes the request that the form of the page makes.
func (duckDuckGo) Request(endpoint *url.URL, q Query) (*http.Request, []string, error) {
	values := url.Values{"q": {q.Text}, "kl": {"wt-wt"}}
	if country, language := q.country(); country != "" {
		if language == "" {
			language = country
			if slices.Contains([]string{"us", "uk", "au", "ca", "ie", "nz"}, country) {
				language = "en"
			}
		}
		values.Set("kl", country+"-"+language)
	}
	if q.Freshness != "" {
		values.Set("df", q.Freshness[:1])
	}
	r, err := http.NewRequest(http.MethodGet, endpoint.String()+"?"+values.Encode(), nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "text/html")
	return r, nil, nil
}

// Read reads the page.
func (duckDuckGo) Read(a Answer) ([]Result, error) {
	const name = "DuckDuckGo"
	blocked := a.Status == http.StatusForbidden || a.Status == http.StatusAccepted
	if blocked || bytes.Contains(a.Body, []byte("anomaly-modal")) {
		return nil, tool.Errorf(op, tool.Limited, "DuckDuckGo wants to see a person before it searches on (%d)", a.Status).
			WithHint("too many searches came from here: try again in some minutes, or use an engine with a key: %s",
				engineSetting)
	}
	if a.Status >= 300 {
		return nil, statusError(name, a)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(a.Body))
	if err != nil {
		return nil, unreadable(name, a)
	}
	blocks := doc.Find(".result")
	ads := 0
	var out []Result
	blocks.Each(func(_ int, s *goquery.Selection) {
		if s.HasClass("result--ad") {
			ads++
			return
		}
		link := s.Find("a.result__a").First()
		href, _ := link.Attr("href")
		if to := target(href); to != "" {
			out = append(out, Result{
				Title: link.Text(), URL: to, Snippet: s.Find(".result__snippet").First().Text(),
				Published: s.Find(".result__timestamp").First().Text(),
			})
		}
	})
	empty := doc.Find(".no-results, .result--no-result").Length() > 0 || ads > 0 && ads == blocks.Length()
	if len(out) == 0 && !empty {
		return nil, unreadable(name, a)
	}
	return out, nil
}

// target returns where a link of the page leads. Most links lead to an address
// of DuckDuckGo that holds the real one.
func target(href string) string {
	u, err := url.Parse(href)
	if err != nil || href == "" {
		return ""
	}
	if u.Host == "" || u.Host == "duckduckgo.com" || strings.HasSuffix(u.Host, ".duckduckgo.com") {
		if strings.HasPrefix(u.Path, "/l/") {
			return u.Query().Get("uddg")
		}
		return ""
	}
	if u.Scheme == "" {
		u.Scheme = "https"
	}
	return u.String()
}

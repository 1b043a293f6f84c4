package searchengine

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"callgate/tool"
)

// duckDuckGo is the page that DuckDuckGo has for browsers without scripts. It
// is no API and makes no promises, so what is not recognised is said to be.
type duckDuckGo struct{}

// Endpoint is its usual address.
func (duckDuckGo) Endpoint() string { return "https://html.duckduckgo.com/html/" }

// NeedsKey is false.
func (duckDuckGo) NeedsKey() bool { return false }

// Request asks as the form of the page does.
func (duckDuckGo) Request(at *url.URL, q Query) (*http.Request, []string, error) {
	values := url.Values{"q": {q.Text}, "kl": {"wt-wt"}}
	if country, language := q.country(); country != "" {
		if language == "" {
			language = country
			if country == "us" || country == "uk" || country == "au" || country == "ca" || country == "ie" || country == "nz" {
				language = "en"
			}
		}
		values.Set("kl", country+"-"+language)
	}
	if q.Freshness != "" {
		values.Set("df", q.Freshness[:1])
	}
	r, err := http.NewRequest(http.MethodGet, at.String()+"?"+values.Encode(), nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "text/html")
	return r, nil, nil
}

// Read reads the page.
func (duckDuckGo) Read(a Answer) ([]Result, error) {
	const name = "DuckDuckGo"
	if a.Status == http.StatusForbidden || a.Status == http.StatusAccepted || bytes.Contains(a.Body, []byte("anomaly-modal")) {
		return nil, tool.Errorf(op, tool.Limited, "DuckDuckGo wants to see a person before it searches on (%d)", a.Status).
			WithHint("too many searches came from here: try again in some minutes, or use an engine with a key: tools.modules.web.config.engine")
	}
	if a.Status >= 300 {
		return nil, refused(name, a)
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
			out = append(out, Result{Title: link.Text(), URL: to, Snippet: s.Find(".result__snippet").First().Text(), Published: s.Find(".result__timestamp").First().Text()})
		}
	})
	nothing := doc.Find(".no-results, .result--no-result").Length() > 0 || ads > 0 && ads == blocks.Length()
	if len(out) == 0 && !nothing {
		return nil, unreadable(name, a)
	}
	return out, nil
}

// target is where a link of the page leads in the end: it goes by way of an
// address of DuckDuckGo that holds the real one.
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

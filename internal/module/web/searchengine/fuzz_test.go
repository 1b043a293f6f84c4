package searchengine_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/module/web/searchengine"
)

// Whatever an engine answers, reading ends, and results have web addresses and
// texts on one line.
func FuzzRead(f *testing.F) {
	f.Add(
		"duckduckgo",
		200,
		[]byte(
			`<div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com">x</a><a class="result__snippet">y</a></div>`,
		),
	)
	f.Add("duckduckgo", 200, []byte(`<div class="no-results">`))
	f.Add("brave", 200, []byte(`{"web":{"results":[{"title":"<b>x","url":"https://example.com"}]}}`))
	f.Add("searxng", 200, []byte(`{"results":[{"title":"x","url":"https://example.com","publishedDate":"2024-05-06"}]}`))
	f.Add("tavily", 432, []byte(`{"results":[]}`))
	f.Fuzz(func(t *testing.T, name string, status int, body []byte) {
		e := searchengine.ByName(name)
		if e == nil || len(body) > 1<<16 {
			return
		}
		results, err := e.Read(searchengine.Answer{Status: status, Header: http.Header{}, Body: body})
		if err != nil {
			return
		}
		for _, r := range searchengine.Normalize(results, 20) {
			if !strings.HasPrefix(r.URL, "http://") && !strings.HasPrefix(r.URL, "https://") {
				t.Errorf("the address %q", r.URL)
			}
			if all := r.Title + r.Snippet + r.URL; !utf8.ValidString(all) || strings.Contains(all, "\n") {
				t.Errorf("%+v", r)
			}
		}
	})
}

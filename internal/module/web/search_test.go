package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

// What the engines answer, shortened.
const (
	duckAnswer = `<!DOCTYPE html><html><body><div class="serp__results"><div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><h2 class="result__title"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy bees</a></h2></div>
<div class="result results_links results_links_deep web-result"><div class="links_main"><h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2Fbees%3Fa%3D1%26b%3D2&amp;rut=abc">Bees &lt;T&gt; &amp; hives</a></h2>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">All about <b>bees</b> and
 their hives.</a></div></div>
<div class="result web-result"><h2><a class="result__a" href="https://example.org/direct">Direct</a></h2></div>
<div class="result web-result"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fwww.example.com%2Fbees%2F%3Fa%3D1%26b%3D2%26utm_source%3Dd">Bees again</a></h2></div>
<div class="result web-result"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg=javascript%3Aalert(1)">Evil</a></h2></div>
</div></div></body></html>`
	braveAnswer  = `{"type":"search","web":{"type":"search","results":[{"title":"Bees &amp; <strong>hives</strong>","url":"https://example.com/bees","description":"About <strong>bees</strong> &#x27;n hives","page_age":"2024-05-06T07:08:09"},{"title":"Two","url":"https://example.org/2","description":""}]}}`
	searxAnswer  = `{"query":"bees","results":[{"url":"https://example.com/bees","title":"Bees <T>","content":"About bees","publishedDate":"2024-05-06T00:00:00","engine":"x"}],"answers":[]}`
	tavilyAnswer = `{"query":"bees","results":[{"title":"Bees","url":"https://example.com/bees","content":"About bees","score":0.9,"published_date":"Mon, 06 May 2024 07:08:09 GMT"}]}`
)

// engineServer is an engine that answers as a test wants, and keeps the last
// request.
type engineServer struct {
	url     string
	status  int
	header  map[string]string
	answer  string
	request *http.Request
	query   url.Values
	body    string
}

func newEngine(t *testing.T) *engineServer {
	e := &engineServer{status: 200}
	e.url = fetchtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.request, e.query, e.body = r, r.URL.Query(), string(body)
		for k, v := range e.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, e.answer)
	}).URL
	return e
}

func TestSearch(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	result := func(title, url, snippet, published string) map[string]any {
		m := map[string]any{"title": title, "url": url}
		if snippet != "" {
			m["snippet"] = snippet
		}
		if published != "" {
			m["published"] = published
		}
		return m
	}
	for name, c := range map[string]struct {
		engine, answer, key string
		args                block
		want                []any
		query               map[string]string
		header              map[string]string
		body                string
		warning             string
	}{
		"duckduckgo": {engine: "duckduckgo", answer: duckAnswer, args: block{"query": "bees & hives", "region": "FR", "freshness": "week"},
			want:  []any{result("Bees <T> & hives", "https://example.com/bees?a=1&b=2", "All about bees and their hives.", ""), result("Direct", "https://example.org/direct", "", "")},
			query: map[string]string{"q": "bees & hives", "kl": "fr-fr", "df": "w"}},
		"duckduckgo, one": {engine: "duckduckgo", answer: duckAnswer, args: block{"query": "bees", "limit": 1, "region": "us"},
			want:  []any{result("Bees <T> & hives", "https://example.com/bees?a=1&b=2", "All about bees and their hives.", "")},
			query: map[string]string{"q": "bees", "kl": "us-en", "df": ""}},
		"duckduckgo, nothing": {engine: "duckduckgo", answer: `<div class="results"><div class="no-results">No results found.</div></div>`, args: block{"query": "qzxj"}, want: []any{}, query: map[string]string{"kl": "wt-wt"}},
		"brave": {engine: "brave", answer: braveAnswer, key: "K3Y", args: block{"query": "bees", "limit": 5, "region": "ch-de", "freshness": "day"},
			want:   []any{result("Bees & hives", "https://example.com/bees", "About bees 'n hives", "2024-05-06"), result("Two", "https://example.org/2", "", "")},
			query:  map[string]string{"q": "bees", "count": "5", "country": "ch", "search_lang": "de", "freshness": "pd"},
			header: map[string]string{"X-Subscription-Token": "K3Y"}},
		"brave, nothing": {engine: "brave", answer: `{"type":"search","query":{"original":"qzxj"}}`, key: "K3Y", args: block{"query": "qzxj"}, want: []any{}},
		"searxng": {engine: "searxng", answer: searxAnswer, args: block{"query": "bees", "region": "ch-de", "freshness": "month"},
			want:  []any{result("Bees <T>", "https://example.com/bees", "About bees", "2024-05-06")},
			query: map[string]string{"q": "bees", "format": "json", "language": "de-CH", "time_range": "month"}},
		"tavily": {engine: "tavily", answer: tavilyAnswer, key: "K3Y", args: block{"query": "bees", "limit": 3, "freshness": "year", "region": "fr"},
			want:   []any{result("Bees", "https://example.com/bees", "About bees", "2024-05-06T07:08:09Z")},
			header: map[string]string{"Authorization": "Bearer K3Y"}, body: `{"max_results":3,"query":"bees","search_depth":"basic","time_range":"year"}`, warning: "tavily takes no region"},
	} {
		b := open(t, block{"engine": c.engine, "endpoint": e.url + "/at"}, fetchtest.Local())
		b.Grant.Credential = c.key
		e.status, e.answer = 200, c.answer
		r, err := b.Call("search", c.args)
		got := fetchtest.Data(t, r, err)
		if diff := cmp.Diff(c.want, got["results"]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for k, v := range c.query {
			if e.query.Get(k) != v {
				t.Errorf("%s: %s was %q, want %q", name, k, e.query.Get(k), v)
			}
		}
		for k, v := range c.header {
			if e.request.Header.Get(k) != v {
				t.Errorf("%s: the header %s was %q", name, k, e.request.Header.Get(k))
			}
		}
		if c.body != e.body {
			t.Errorf("%s: the body was %q", name, e.body)
		}
		if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, c.warning) || c.warning == "" && got != "" {
			t.Errorf("%s: warnings %q", name, got)
		}
		if shown := text(t, r, nil); len(c.want) > 0 && !strings.Contains(shown, "https://example.com/bees") {
			t.Errorf("%s: the text is %q", name, shown)
		}
	}
	if e.request.URL.Path != "/at" && e.request.URL.Path != "/at/search" {
		t.Errorf("the path was %s", e.request.URL.Path)
	}
}

func TestSearchFails(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for name, c := range map[string]struct {
		engine, key, answer string
		status              int
		header              map[string]string
		kind                tool.Kind
		words               []string
	}{
		"no key":                   {engine: "brave", kind: tool.Failed, words: []string{"needs a key", "tools.modules.web.credential"}},
		"no key for tavily":        {engine: "tavily", kind: tool.Failed, words: []string{"needs a key"}},
		"401":                      {engine: "tavily", key: "k", status: 401, kind: tool.Failed, words: []string{"401", "the key was not accepted"}},
		"422 of brave":             {engine: "brave", key: "k", status: 422, answer: `{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID"}}`, kind: tool.Failed, words: []string{"the key was not accepted"}},
		"429":                      {engine: "brave", key: "k", status: 429, header: map[string]string{"Retry-After": "7"}, kind: tool.Limited, words: []string{"7 seconds"}},
		"a plan used up":           {engine: "tavily", key: "k", status: 432, kind: tool.Limited, words: []string{"plan"}},
		"500":                      {engine: "searxng", status: 500, kind: tool.Failed, words: []string{"try again later"}},
		"searxng without JSON":     {engine: "searxng", status: 403, kind: tool.Failed, words: []string{"search.formats"}},
		"searxng with HTML":        {engine: "searxng", status: 200, answer: "<html>", kind: tool.Failed, words: []string{"the page could not be read"}},
		"another JSON":             {engine: "tavily", key: "k", status: 200, answer: `{"items":[]}`, kind: tool.Failed, words: []string{"the page could not be read"}},
		"another JSON of brave":    {engine: "brave", key: "k", status: 200, answer: `{"type":"error"}`, kind: tool.Failed, words: []string{"the page could not be read"}},
		"400 with words":           {engine: "brave", key: "k", status: 400, answer: `{"message":"<b>too long</b>"}`, kind: tool.Failed, words: []string{"too long"}},
		"duck wants a person":      {engine: "duckduckgo", status: 202, answer: `<div class="anomaly-modal__title">bots</div>`, kind: tool.Limited, words: []string{"a person"}},
		"duck wants one, with 200": {engine: "duckduckgo", status: 200, answer: `<div class="anomaly-modal__title">bots</div>`, kind: tool.Limited},
		"duck changed its page":    {engine: "duckduckgo", status: 200, answer: `<main><article data-testid="result"><a href="https://example.com">x</a></article></main>`, kind: tool.Failed, words: []string{"the page could not be read", "tools.modules.web.config.engine"}},
		"duck changed its results": {engine: "duckduckgo", status: 200, answer: `<div class="result"><a href="https://example.com">x</a></div>`, kind: tool.Failed, words: []string{"the page could not be read"}},
		"duck sends nothing":       {engine: "duckduckgo", status: 200, answer: "", kind: tool.Failed, words: []string{"the page could not be read"}},
	} {
		b := open(t, block{"engine": c.engine, "endpoint": e.url}, fetchtest.Local())
		b.Grant.Credential = c.key
		e.status, e.answer, e.header = c.status, c.answer, c.header
		_, err := b.Call("search", block{"query": "bees"})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		fetchtest.CheckError(t, err, c.kind, c.words...)
	}
}

// The key of an engine goes only to that engine, and never unencrypted.
func TestTheKeyStaysWithTheEngine(t *testing.T) {
	t.Parallel()
	var leaked []string
	stranger := fetchtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, fmt.Sprint(r.Header, r.URL))
		_, _ = io.WriteString(w, `{"results":[],"type":"search"}`)
	})
	elsewhere := strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1)
	e := newEngine(t)
	e.status, e.header = 302, map[string]string{"Location": elsewhere}
	for _, engine := range []string{"brave", "searxng"} {
		b := open(t, block{"engine": engine, "endpoint": e.url}, fetchtest.Local())
		b.Grant.Credential = "S3CRET"
		_, _ = b.Call("search", block{"query": "bees"})
	}
	if len(leaked) == 0 || strings.Contains(strings.Join(leaked, "\n"), "S3CRET") {
		t.Errorf("the redirect carried %v", leaked)
	}
	before := len(leaked)
	e.status = 307
	b := open(t, block{"engine": "tavily", "endpoint": e.url}, fetchtest.Local())
	b.Grant.Credential = "S3CRET"
	if _, err := b.Call("search", block{"query": "bees"}); tool.KindOf(err) != tool.Denied || len(leaked) != before {
		t.Errorf("a query that was sent is repeated elsewhere: %v", err)
	}
	b = open(t, block{"engine": "brave", "endpoint": "http://search.example.com/"}, nil)
	b.Grant.Credential = "S3CRET"
	_, err := b.Call("search", block{"query": "bees"})
	fetchtest.CheckError(t, err, tool.Denied, "in the open", "private_hosts")
}

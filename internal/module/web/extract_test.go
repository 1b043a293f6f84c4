package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

const shopHTML = `<!DOCTYPE html><html lang="en"><head><title> The  shop </title><meta name="description" content="All we sell"><link rel="canonical" href="/shop">
<meta property="og:title" content="Shop!"><meta property="og:image" content="https://example.com/i.png"><meta name="twitter:card" content="summary"><meta name="author" content="Ada">
<link rel="alternate" type="application/rss+xml" title="News" href="/feed"><link rel="icon" href="/i.ico">
<script type="application/ld+json">{"@type": "Store", "name": "Shop"}</script><script type="application/ld+json">{broken</script></head>
<body><nav><a href="/">Home</a><a href="/about">About us</a><a href="#top">Top</a><a href="javascript:x()">X</a></nav>
<div class="product" data-id="7"><h2>Honey</h2><span class="price">5 <b>€</b></span><img src="/h.png" alt="a jar"></div>
<div class="product" data-id="8"><h2>Wax<script>track()</script></h2><span class="price">3 €</span></div>
<table id="stock"><caption>Stock</caption><thead><tr><th>What</th><th colspan="2">Where</th></tr></thead>
<tr><td rowspan="2">Honey</td><td>Bern</td><td>7</td></tr><tr><td>Basel</td><td>9</td></tr></table>
<table><tr><td><table class="inner"><tr><th>a</th></tr><tr><td>1</td></tr></table></td></tr></table>
<p>More at <a href="https://example.org/x">our friends</a> and <a href="/about">here</a></p></body></html>`

func TestExtract(t *testing.T) {
	t.Parallel()
	at := site(t, map[string]func(http.ResponseWriter, *http.Request){"/shop": body("text/html", shopHTML),
		"/robots.txt": body("text/plain", "")})
	b := open(t, nil, fetchtest.Local())
	for name, c := range map[string]struct {
		args block
		key  string
		want string
	}{
		"texts": {block{"url": at + "/shop", "selector": ".product h2"}, "matches",
			`[{"selector":".product h2","count":2,"items":[{"text":"Honey"},{"text":"Wax"}]}]`},
		"several": {block{"url": at + "/shop", "selectors": []any{".price", "h3"}}, "matches",
			`[{"selector":".price","count":2,"items":[{"text":"5 €"},{"text":"3 €"}]},{"selector":"h3","count":0,"items":[]}]`},
		"an attribute": {block{"url": at + "/shop", "selector": ".product", "attribute": "data-id", "limit": 1}, "matches",
			`[{"selector":".product","count":2,"items":[{"text":"Honey 5 €","value":"7"}]}]`},
		"an address": {block{"url": at + "/shop", "selector": "img", "attribute": "src"}, "matches",
			`[{"selector":"img","count":1,"items":[{"value":"` + at + `/h.png"}]}]`},
		"tables": {block{"url": at + "/shop", "tables": true}, "tables",
			`[{"caption":"Stock","count":2,"header":["What","Where","Where"],"rows":[["Honey","Bern","7"],["Honey","Basel","9"]]},{"count":1,"header":["a"],"rows":[["1"]]}]`},
		"one table": {block{"url": at + "/shop", "tables": true, "selector": "table.inner"}, "tables", `[{"count":1,"header":["a"],"rows":[["1"]]}]`},
		"links": {block{"url": at + "/shop", "links": true}, "links",
			`[{"text":"Home","url":"` + at + `/"},{"text":"About us","url":"` + at + `/about"},{"text":"our friends","url":"https://example.org/x"}]`},
		"links of a part": {block{"url": at + "/shop", "links": true, "selector": "p"}, "links",
			`[{"text":"our friends","url":"https://example.org/x"},{"text":"here","url":"` + at + `/about"}]`},
		"metadata": {block{"url": at + "/shop", "metadata": true}, "metadata",
			`{"title":"The shop","description":"All we sell","canonical":"` + at + `/shop","language":"en","author":"Ada","icon":"` + at + `/i.ico","open_graph":{"title":"Shop!","image":"https://example.com/i.png"},"twitter":{"card":"summary"},"json_ld":[{"@type":"Store","name":"Shop"}],"feeds":[{"text":"News","url":"` + at + `/feed"}]}`},
		"a page given":         {block{"html": "<a href='x'>y</a>", "links": true}, "links", `[{"text":"y","url":"x"}]`},
		"given, with its base": {block{"html": "<a href='x'>y</a>", "url": "https://example.com/a/b", "links": true}, "links", `[{"text":"y","url":"https://example.com/a/x"}]`},
		"nothing there":        {block{"html": "x", "tables": true}, "tables", `[]`},
	} {
		r, err := b.Call("extract", c.args)
		got := fetchtest.Data(t, r, err)
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got[c.key]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if shown := text(t, r, err); !json.Valid([]byte(shown)) {
			t.Errorf("%s: the text is %q", name, shown)
		}
	}
}

func TestExtractFails(t *testing.T) {
	t.Parallel()
	at := site(t, map[string]func(http.ResponseWriter, *http.Request){"/x.json": body("application/json", "{}"),
		"/deep": body("text/html", strings.Repeat("<div>", 1000))})
	b := open(t, nil, fetchtest.Local())
	for name, c := range map[string]struct {
		args  block
		kind  tool.Kind
		words []string
	}{
		"a bad selector":     {block{"url": "https://example.com", "selector": "div[["}, tool.Invalid, []string{"is not a selector", "CSS"}},
		"XPath":              {block{"html": "x", "selector": "//div[@class='x']"}, tool.Invalid, []string{"XPath"}},
		"an unknown pseudo":  {block{"html": "x", "selectors": []any{"a", "a:frob"}}, tool.Invalid, []string{"a:frob"}},
		"nothing asked for":  {block{"html": "x"}, tool.Invalid, []string{"nothing is asked for", "web.fetch"}},
		"no page":            {block{"links": true}, tool.Invalid, []string{"url, or html"}},
		"an attribute alone": {block{"html": "x", "links": true, "attribute": "href"}, tool.Invalid, []string{"selector"}},
		"no page of HTML":    {block{"url": at + "/x.json", "links": true}, tool.Invalid, []string{"application/json", "web.fetch"}},
		"too deep":           {block{"url": at + "/deep", "links": true}, tool.Failed, []string{"nested"}},
		"not there":          {block{"url": at + "/none", "links": true}, tool.NotFound, nil},
	} {
		_, err := b.Call("extract", c.args)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		fetchtest.CheckError(t, err, c.kind, c.words...)
	}
}

// What is extracted is bounded, and says so, however much a page holds.
func TestExtractIsBounded(t *testing.T) {
	t.Parallel()
	b := open(t, nil, nil)
	for name, html := range map[string]string{
		"few":   "<a href=/x>y</a>",
		"links": manyLinks(5000),
		"rows":  "<table>" + strings.Repeat("<tr><td>x<td>y", 20000) + "</table>",
		"spans": "<table>" + strings.Repeat("<tr><td rowspan=9999 colspan=9999>"+strings.Repeat("x", 100), 5000) + "</table>",
		"text":  "<p>" + strings.Repeat("word ", 300000) + "</p>",
	} {
		r, err := b.Call("extract", block{"html": html, "selector": "body, p, td, table", "links": true, "tables": true,
			"limit": 1000})
		if got := fetchtest.Data(t, r, err); len(r.Data) > 4<<20 || name != "few" && got["truncated"] != true {
			t.Errorf("%s: %d bytes, truncated %v", name, len(r.Data), got["truncated"])
		}
	}
}

func manyLinks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<a href="https://example.com/%d">link %d</a> `, i, i)
	}
	return b.String()
}

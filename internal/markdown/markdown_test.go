package markdown_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/markdown"
)

func here(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://example.com/a/b?c=d")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func read(t testing.TB, source string, opt markdown.Options) markdown.Page {
	t.Helper()
	p, err := markdown.FromHTML([]byte(source), here(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"headings":                 {"<h1>One</h1><h3>Two <em>and</em> more</h3>", "# One\n\n### Two *and* more"},
		"a heading that ends in #": {"<h2>C#</h2><h2>#</h2>", "## C#\n\n## #"},
		"an empty heading":         {"<h2> </h2>x", "x"},
		"nothing is escaped":       {"<p>a_b_c 2 * 3 &lt; 7 [x] # 1. `</p>", "a_b_c 2 * 3 < 7 [x] # 1. `"},
		"emphasis":                 {"<p>a <b>b</b> <i>c</i> <del>d</del></p>", "a **b** *c* ~~d~~"},
		"lists":                    {"<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><ol start=3><li>d<li>e</ol>", "- a\n\n  - b\n- c\n\n3. d\n4. e"},
		"code":                     {"<pre><code class=\"language-go\">a\n\n\n  b\n</code></pre><p>and <code>x y</code></p>", "```go\na\n\n\n  b\n```\n\nand `x y`"},
		"a quotation":              {"<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"},
		"a table":                  {"<table><tr><th>a</th><th>b|c</th></tr><tr><td>1</td><td>2</td></tr></table>", "| a | b\\|c |\n|---|---|\n| 1 | 2 |"},
		"a table without a head":   {"<table><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>", "| 1 | 2 |\n|---|---|\n| 3 | 4 |"},
		"a table for the layout":   {"<table><tr><td><ul><li>a</li></ul></td><td>b</td></tr></table>", "- a\n\nb"},
		"a relative link":          {`<a href="../x?q=a+b%20c">to x</a>`, "[to x](https://example.com/x?q=a+b%20c)"},
		"a link with a query only": {`<a href="?q=1">q</a>`, "[q](https://example.com/a/b?q=1)"},
		"parentheses":              {`<a href="/a_(b)">x</a> <a href="/a)b">y</a>`, "[x](https://example.com/a_(b)) [y](https://example.com/a%29b)"},
		"spaces around a link":     {`a<a href="/x"> b </a>c`, "a [b](https://example.com/x) c"},
		"a link around blocks":     {`<a href="/x"><div>a</div><div>b</div></a>`, "[a b](https://example.com/x)"},
		"links that lead nowhere":  {`<a href="javascript:alert(1)">a</a> <a href="#b">b</a> <a href="data:text/html,x">c</a> <a>d</a> <a href="/e"></a>`, "a b c d"},
		"the sign of a heading":    {`<h2>Title<a class="headerlink" href="#title">¶</a></h2>`, "## Title"},
		"a base of its own":        {`<base href="/other/"><a href="x">x</a>`, "[x](https://example.com/other/x)"},
		"a base that is no place":  {`<base href="javascript:x"><a href="x">x</a>`, "[x](https://example.com/a/x)"},
		"a picture":                {`<img src="/p.png" alt="a  pear"><img src="/q.png"><img src="/t.gif" alt="t" width="1">`, "![a pear](https://example.com/p.png)"},
		"a picture that is late":   {`<img src="data:image/gif;base64,R0" data-src="/p.png" alt="p">`, "![p](https://example.com/p.png)"},
		"what is not text":         {`a<script>x()</script><style>b{}</style><noscript>n</noscript><svg><title>s</title><text>t</text></svg><template>u</template><textarea>v</textarea><select><option>w</select>z`, "az"},
		"comments":                 {"a<!-- ignore me --><!-- b -->c", "ac"},
		"what is hidden":           {`a<p hidden>b</p><p style="color:red; display : NONE !important">c</p><i aria-hidden="true">d</i><p style="visibility:hidden">e</p><dialog>f</dialog>g`, "ag"},
		"characters without shape": {"a\u200bb\u00adc\U000e0041\U000e0042d\u202ee\ufe0ff\u200dg\x07h\uf002i", "abcde\ufe0ff\u200dghi"},
		"breaks":                   {"<p>a<br>b<br><br>c</p>", "a\nb\n\nc"},
		"details":                  {"<details><summary>a</summary>b</details>", "a\n\nb"},
		"definitions":              {"<dl><dt>a<dd>b</dl>", "a\n\nb"},
		"nothing":                  {"", ""},
		"no HTML":                  {"just words", "just words"},
		"not UTF-8":                {"a\xffb", "a\ufffdb"},
		"frames":                   {"<frameset><frame src=x></frameset>", ""},
	} {
		p := read(t, c.source, markdown.Options{})
		if diff := cmp.Diff(c.want, p.Markdown); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !p.Complete {
			t.Errorf("%s: not the whole page", name)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"paragraphs": {"<h1>a</h1><p>b  <b>c</b>\n d</p>e", "a\n\nb c d\n\ne"},
		"lists":      {"<ul><li><p>a</p><li> <li>b<ul><li>c</ul></ul>", "- a\n\n- b\n- c"},
		"a table":    {"<table><tr><th>a<th>b|c<tr><td>1<td>2</table>", "a\tb|c\n1\t2"},
		"code":       {"<pre>a\n  b</pre>c", "a\n  b\n\nc"},
		"pictures":   {`x<img src="/a" alt="y">z`, "x y z"},
	} {
		if diff := cmp.Diff(c.want, read(t, c.source, markdown.Options{Plain: true}).Markdown); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	const body = "<body><h1>The heading</h1></body>"
	for name, c := range map[string]struct{ head, title, byline, published string }{
		"a title":     {"<title>T &amp; U\n | Site</title>", "T & U | Site", "", ""},
		"none":        {"", "The heading", "", ""},
		"open graph":  {`<title>x</title><meta property="og:title" content="OG"><meta property="article:published_time" content="2024-05-06T07:08:09+02:00"><meta name="author" content="Ada">`, "OG", "Ada", "2024-05-06T07:08:09+02:00"},
		"linked data": {`<script type="application/ld+json">{"@graph":[{"@type":"NewsArticle","headline":"LD","author":[{"name":"Ada"},{"name":"Ben"}],"datePublished":"2024-05-06"}]}</script>`, "LD", "Ada, Ben", "2024-05-06"},
		"bad data":    {`<script type="application/ld+json">{"headline":</script><meta name="date" content="yesterday">`, "The heading", "", ""},
		"no address":  {`<meta property="article:author" content="https://example.com/ada">`, "The heading", "", ""},
		"a drawing's": {`<title>real</title></head><svg><title>icon</title></svg>`, "real", "", ""},
	} {
		p := read(t, "<head>"+c.head+"</head>"+body, markdown.Options{})
		if diff := cmp.Diff([]string{c.title, c.byline, c.published}, []string{p.Title, p.Byline, p.Published}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-05-06":                       "2024-05-06",
		" 2024-05-06T07:08:09Z ":           "2024-05-06T07:08:09Z",
		"2024-05-06T07:08:09.123-0500":     "2024-05-06T07:08:09-05:00",
		"2024-05-06T07:08:09":              "2024-05-06",
		"Mon, 06 May 2024 07:08:09 GMT":    "2024-05-06T07:08:09Z",
		"Mon, 6 May 2024 07:08:09 +0200":   "2024-05-06T07:08:09+02:00",
		"May 6, 2024":                      "2024-05-06",
		"yesterday":                        "",
		"0000-00-00":                       "",
		"":                                 "",
		strings.Repeat("2024-05-06 ", 100): "",
	} {
		if got := markdown.Date(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	p := read(
		t,
		`<a href="/x">an  <b>x</b></a><a href="/x">again</a><a href="mailto:a@example.com">mail</a><a href="#">top</a>`,
		markdown.Options{},
	)
	want := []markdown.Link{{Text: "an x", URL: "https://example.com/x"}, {Text: "mail", URL: "mailto:a@example.com"}}
	if diff := cmp.Diff(want, p.Links); diff != "" {
		t.Error(diff)
	}
}

// The readability algorithm finds the main content of a small page, the fallback
// that of a large one. Both keep the text and remove what surrounds it.
func TestMainContent(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 60 << 10, "large": 1 << 20} {
		source := article(size)
		p := read(t, source, markdown.Options{Main: true})
		if p.Complete || p.Title != "On the keeping of bees" || p.Byline != "Ada Keeper" ||
			p.Published != "2024-05-06T07:08:09Z" {
			t.Errorf("%s: %+v", name, []any{p.Complete, p.Title, p.Byline, p.Published})
		}
		for _, not := range []string{"Section 7", "/story/", "Most read", "/legal/", "dataLayer", "display:flex"} {
			if strings.Contains(p.Markdown, not) {
				t.Errorf("%s: it holds %q, which surrounds the text", name, not)
			}
		}
		if got, want := strings.Count(p.Markdown, "\n## "), strings.Count(source, "<h2>"); got < want-1 {
			t.Errorf("%s: %d headings of %d", name, got, want)
		}
		for _, want := range []string{"```go\nfunc main() {\n\tfor i", "| Hive | Honey | Year |", "](https://example.com/topic/0)", "\n> "} {
			if !strings.Contains(p.Markdown, want) {
				t.Errorf("%s: it lacks %q", name, want)
			}
		}
	}
}

func TestMainContentFallsBack(t *testing.T) {
	t.Parallel()
	list := "<ul>"
	for i := range 80 {
		list += fmt.Sprintf(`<li><a href="/item/%d">Item number %d of the list</a> costs %d coins today</li>`, i, i, i)
	}
	for name, source := range map[string]string{
		"a short page":      "<nav><a href=/>Home</a></nav><p>Only this.</p>",
		"a list of links":   list + "</ul>",
		"scattered words":   strings.Repeat("<div><span>word</span></div><div>other</div>", 200),
		"nothing":           "",
		"words without any": "only words " + strings.Repeat("more words ", 30),
	} {
		p := read(t, source, markdown.Options{Main: true})
		whole := read(t, source, markdown.Options{})
		if len(p.Markdown)*2 < len(whole.Markdown) {
			t.Errorf("%s: of %d bytes only %d are left: %q", name, len(whole.Markdown), len(p.Markdown), p.Markdown)
		}
	}
}

// Pages made to take forever. If one did, the test would not end.
func TestHostile(t *testing.T) {
	t.Parallel()
	const n = 1 << 15
	times := func(s string) string { return strings.Repeat(s, n/len(s)) }
	for name, source := range map[string]string{
		"deep divs":          times("<div>") + "x",
		"deep, but parsed":   strings.Repeat("<div>", 500) + times("x ") + "<p>end",
		"deep lists":         strings.Repeat("<ul><li>", 200) + times("x <br>"),
		"deep quotes":        strings.Repeat("<blockquote>", 400) + times("x <br>"),
		"deep tables":        strings.Repeat("<table><tr><td>", 150) + times("x "),
		"deep emphasis":      strings.Repeat("<b><i><s>", 150) + times("x "),
		"deep spans":         times("<span><b>x</b>"),
		"unclosed formats":   times("<b a=1><p>x"),
		"unclosed links":     times("<a href=x>"),
		"flat":               times("<b>x</b><span></span>"),
		"flat italics":       times("<i>x</i>"),
		"flat paragraphs":    times("<p>x"),
		"line ends":          times("\n"),
		"breaks":             times("<br>"),
		"list items":         times("<li>x"),
		"code":               times("<code>`</code>"),
		"backticks":          "<code>" + times("`") + "</code><pre>" + times("`\n"),
		"a wide table":       "<table>" + "<tr>" + times("<td>") + "<tr><td>x",
		"a wide tall table":  "<table><tr>" + strings.Repeat("<td>x", 2000) + strings.Repeat("<tr><td>y", 20000),
		"spans of a table":   "<table>" + times("<tr><td colspan=99999999 rowspan=99999999>x"),
		"spans that overlap": "<table>" + times("<tr><td colspan=49 rowspan=49>x"),
		"attributes":         "<p " + times("a=1 ") + ">x",
		"entities":           times("&amp;"),
		"headings":           times("<h1>x</h1>"),
		"links":              times("<a href=/x>y</a> "),
		"lists in lists":     "<ul>" + times("<li>x<ul><li>y</ul>"),
		"definition lists":   times("<dl><dt>x<dd>y</dl>"),
		"fake spans":         times(`<span style="font-weight:bold">x</span>`),
		"hidden":             times("<p hidden>x"),
		"forms":              times("<form><input><button>x</button></form>"),
		"select":             "<select>" + times("<option>x"),
		"mathematics":        times("<math><mi>x</mi></math>"),
		"svg":                times("<svg><g>x"),
		"classes":            times(`<div class="comment nav share"><a href=/x>y</a></div>`),
		"zero bytes":         times("\x00<p>\x00"),
		"noscript":           times("<noscript><img src=x></noscript><img>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, opt := range []markdown.Options{{}, {Main: true}, {Main: true, Plain: true}} {
				p := read(t, source, opt)
				if !utf8.ValidString(p.Markdown) || len(p.Markdown) > 64*n {
					t.Errorf("%d bytes", len(p.Markdown))
				}
			}
		})
	}
	if p := read(t, times("<div>")+"the end", markdown.Options{}); p.Markdown != "the end" {
		t.Errorf("a page that is too deep lost its words: %q", p.Markdown)
	}
	if _, err := markdown.FromHTML(make([]byte, markdown.MaxSource+1), nil, markdown.Options{}); err == nil {
		t.Error("a source that is too long was read")
	}
}

func FuzzFromHTML(f *testing.F) {
	f.Add([]byte(article(4<<10)), true, false)
	f.Add([]byte("<table><tr><td colspan=3>x<td><ul><li>y<table><th>|</table>"), false, false)
	f.Add([]byte("<a href='javascript:x'><h1>#<b><i>x</b></i><pre>`\x07\uf002"), false, true)
	f.Add([]byte("<svg><foreignObject><p>x</svg><math><mtext><table><tr><style>"), true, true)
	f.Fuzz(func(t *testing.T, source []byte, main, plain bool) {
		if len(source) > 1<<16 {
			return
		}
		p := read(t, string(source), markdown.Options{Main: main, Plain: plain})
		if !utf8.ValidString(p.Markdown + p.Title + p.Byline) {
			t.Error("not UTF-8")
		}
		for _, l := range p.Links {
			if u, err := url.Parse(l.URL); err != nil || u.Scheme == "javascript" || u.Scheme == "" {
				t.Errorf("the link %q", l.URL)
			}
		}
	})
}

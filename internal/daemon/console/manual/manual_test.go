package manual

import (
	"regexp"
	"strings"
	"testing"

	"callgate/docs"
)

var (
	ids    = regexp.MustCompile(` id="([^"]+)"`)
	hrefs  = regexp.MustCompile(` (?:href|src)="([^"]+)"`)
	unsafe = regexp.MustCompile(`(?i)<(script|style|iframe|object|form)|<[^>]* (style|on[a-z]+)=|"javascript:`)
)

// Every page is shown, without anything that the console's policy refuses, and every link of it leads
// to a page, to a place that is there, to a picture, or to the web.
func TestEveryPageIsShown(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for _, p := range docs.Pages() {
		shown, err := Find(p.Name)
		if err != nil || shown.Title != p.Title || !strings.Contains(string(shown.HTML), "<h1") {
			t.Errorf("%s is shown as %.200s", p.Name, shown.HTML)
		}
		if found := unsafe.FindString(string(shown.HTML)); found != "" {
			t.Errorf("%s has %s", p.Name, found)
		}
		address := Root
		if !shown.Contents {
			address += "/" + p.Name
		}
		pages[address] = string(shown.HTML)
	}
	links := 0
	for at, html := range pages {
		for _, m := range hrefs.FindAllStringSubmatch(html, -1) {
			links++
			page, place, _ := strings.Cut(m[1], "#")
			if page == "" {
				page = at
			}
			name, isPicture := strings.CutPrefix(page, Root+"/pictures/")
			_, known := docs.Picture(name)
			switch text, isPage := pages[page]; {
			case strings.HasPrefix(page, "https://") || strings.HasPrefix(page, "http://") || isPicture && known:
			case !isPage:
				t.Errorf("%s leads to %s, which is not there", at, m[1])
			case place != "" && !strings.Contains(text, ` id="`+place+`"`):
				t.Errorf("%s leads to %s, where there is no such place: %v", at, m[1], ids.FindAllString(text, -1))
			}
		}
	}
	if links < 200 {
		t.Errorf("only %d links: the pattern is broken", links)
	}
}

// What a page must not bring does not come through.
func TestNothingOfAPageRuns(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"<script>alert(1)</script>":                    "<!-- raw HTML omitted -->\n",
		"a <b onclick=x>c</b>":                         "<p>a <!-- raw HTML omitted -->c<!-- raw HTML omitted --></p>\n",
		"[a](javascript:alert(1))":                     "<p><em>a</em></p>\n",
		"[a](../internal/gate/gate.go)":                "<p><em>a</em></p>\n",
		"![a](https://example.com/x.png)":              "<p><em>a</em></p>\n",
		"![a](captures/console-now.png)":               "<p><em>a</em></p>\n",
		"[a](guides/undo.md#what-is-kept)":             `<p><a href="/docs/undo#doc-what-is-kept">a</a></p>` + "\n",
		"[a](README.md)":                               `<p><a href="/docs">a</a></p>` + "\n",
		"[a](#b) <https://example.com/>":               `<p><a href="#doc-b">a</a> <a href="https://example.com/">https://example.com/</a></p>` + "\n",
		"# A, *b* & `c`\n# A b  c":                     "<h1 id=\"doc-a-b--c\">A, <em>b</em> &amp; <code>c</code></h1>\n<h1 id=\"doc-a-b--c-1\">A b  c</h1>\n",
		"<!-- file: x -->\n```sh\n<pre> a\n```":        "<!-- raw HTML omitted -->\n<pre tabindex=\"0\"><code class=\"language-sh\">&lt;pre&gt; a\n</code></pre>\n",
		"![Quality](../pictures/search-quality.svg)\n": `<p><img src="/docs/pictures/search-quality.svg" alt="Quality"></p>` + "\n",
	} {
		if got := string(render(page)); got != want {
			t.Errorf("%q is\n%s, not\n%s", page, got, want)
		}
	}
}

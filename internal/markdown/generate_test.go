package markdown_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// article makes a page like those of publishers: navigation, scripts, styles and
// a sidebar around a long text with headings, lists, links, tables, code and
// pictures. The same size gives the same page.
func article(size int) string {
	r := rand.New(rand.NewPCG(7, 9))
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>On the keeping of bees | The Daily Hive</title>
<meta name="author" content="Ada Keeper"><meta property="article:published_time" content="2024-05-06T07:08:09Z">
<meta property="og:title" content="On the keeping of bees"><link rel="canonical" href="/bees">
<style>` + strings.Repeat(".card{display:flex;margin:0 auto;padding:1rem}\n", 200) + `</style>
<script>window.dataLayer=[];` + strings.Repeat("function track(e){dataLayer.push({event:e,at:Date.now()})}\n", 200) + `</script></head><body>
<header class="site-header"><nav class="menu"><ul>`)
	for i := range 120 {
		fmt.Fprintf(&b, `<li class="menu-item"><a href="/section/%d">Section %d</a></li>`, i, i)
	}
	b.WriteString(`</ul></nav></header><div class="layout"><main id="content"><article class="post"><h1>On the keeping of bees</h1>`)
	for i := 0; b.Len() < size*9/10; i++ {
		section(&b, r, i)
	}
	b.WriteString(`</article></main><aside class="sidebar"><h3>Most read</h3>`)
	for i := range 60 {
		fmt.Fprintf(&b, `<div class="teaser"><a href="/story/%d"><img src="/thumb/%d.jpg" alt=""><span>%s</span></a></div>`,
			i, i, words(r, 8))
	}
	b.WriteString(`</aside></div><footer class="footer"><p>All rights reserved.</p>`)
	for i := 0; b.Len() < size-40; i++ {
		fmt.Fprintf(&b, `<a class="foot" href="/legal/%d">Legal %d</a> `, i, i)
	}
	b.WriteString(`</footer></body></html>`)
	return b.String()
}

func section(b *strings.Builder, r *rand.Rand, i int) {
	fmt.Fprintf(b, "\n<section id=\"s%d\"><h2>%s</h2>\n", i, words(r, 5))
	for range 4 {
		fmt.Fprintf(b, `<p class="body">%s, <a href="/topic/%d">%s</a>, %s. <em>%s</em> and <strong>%s</strong>; %s.</p>`+"\n",
			words(r, 40), i, words(r, 3), words(r, 30), words(r, 2), words(r, 2), words(r, 25))
	}
	switch i % 4 {
	case 0:
		b.WriteString("<ul>")
		for range 6 {
			fmt.Fprintf(b, "<li>%s <a href=\"https://example.org/%d\">more</a></li>\n", words(r, 12), i)
		}
		b.WriteString("</ul>")
	case 1:
		b.WriteString("<table><thead><tr><th>Hive</th><th>Honey</th><th>Year</th></tr></thead><tbody>")
		for j := range 8 {
			fmt.Fprintf(b, "<tr><td>%s</td><td>%d kg</td><td>%d</td></tr>\n", words(r, 2), j*7, 1990+j)
		}
		b.WriteString("</tbody></table>")
	case 2:
		b.WriteString("<pre><code class=\"language-go\">func main() {\n\tfor i := range 10 {\n\t\tfmt.Println(i &lt; 5)\n\t}\n}\n</code></pre>")
	case 3:
		fmt.Fprintf(
			b,
			`<figure><img src="/img/%d.jpg" alt="%s" width="800" height="600"><figcaption>%s</figcaption></figure><blockquote><p>%s</p></blockquote>`,
			i,
			words(r, 4),
			words(r, 10),
			words(r, 30),
		)
	}
	b.WriteString("</section>")
}

var lexicon = strings.Fields(
	"bee hive honey queen drone swarm frame wax comb nectar pollen keeper smoke veil spring summer winter meadow clover heather orchard colony brood cell worker dance forage season harvest garden the of and to in a is that it was for on are with as they be at one have this from",
)

func words(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(lexicon[r.IntN(len(lexicon))])
	}
	return b.String()
}

package safehtml_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"callgate/internal/safehtml"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want string
		removed  []string
	}{
		"a table stays":    {in: `<table class="x"><tbody><tr><td style="color:red">1</td></tr></tbody></table>`},
		"a style sheet":    {in: `<style>p > b { color: green }</style><p><b>x</b></p>`},
		"a picture":        {in: `<img src="data:image/png;base64,AAAA" alt="x">`},
		"a place":          {in: `<a href="#end">down</a><p id="end">x</p>`},
		"a drawing":        {in: `<svg viewbox="0 0 9 9"><path d="M0 0" fill="#123"></path><use href="#a"></use></svg>`},
		"text":             {in: "3 &lt; 4 &amp; \"5\"", want: "3 &lt; 4 &amp; &#34;5&#34;"},
		"a script":         {in: `a<script>alert(1)</script>b`, want: "ab", removed: []string{"<script>"}},
		"a handler":        {in: `<p onclick="x()">a</p>`, want: "<p>a</p>", removed: []string{"p onclick"}},
		"a link away":      {in: `<a href="https://x.test/">a</a>`, want: "<a>a</a>", removed: []string{"a href"}},
		"a script address": {in: `<a href="javascript:x()">a</a>`, want: "<a>a</a>", removed: []string{"a href"}},
		"a picture away":   {in: `<img src="//x.test/a.png">`, want: "<img>", removed: []string{"img src"}},
		"a drawn picture":  {in: `<img src="data:image/svg+xml,<svg>">`, want: "<img>", removed: []string{"img src"}},
		"more pictures":    {in: `<img srcset="a 2x">`, want: "<img>", removed: []string{"img srcset"}},
		"a preconnection":  {in: `<link rel="preconnect" href="//x.test">a`, want: "a", removed: []string{"<link>"}},
		"a refresh":        {in: `<meta http-equiv="refresh" content="0;url=//x">a`, want: "a", removed: []string{"<meta>"}},
		"a base":           {in: `<base href="//x">a`, want: "a", removed: []string{"<base>"}},
		"a frame":          {in: `<iframe src="/approvals">x</iframe>a`, want: "a", removed: []string{"<iframe>"}},
		"an object":        {in: `<object data="x"><p>b</p></object>a`, want: "a", removed: []string{"<object>"}},
		"a form": {
			in: `<form action="/approvals/1"><input name="action"><button>Yes</button></form>`, want: "Yes",
			removed: []string{"<button>", "<form>", "<input>"},
		},
		"a link in a drawing": {
			in: `<svg><a href="https://x"><text>t</text></a></svg>`, want: "<svg><text>t</text></svg>", removed: []string{"<a>"},
		},
		"HTML in a drawing": {
			in: `<svg><foreignObject><p>x</p></foreignObject></svg>`, want: "<svg></svg>", removed: []string{"<foreignobject>"},
		},
		"a script in a drawing": {in: `<svg><script>x</script></svg>`, want: "<svg></svg>", removed: []string{"<script>"}},
		"a style in a drawing": {
			in: `<svg><style><a title="</style><link rel=preconnect href=//x>">`, want: "<svg>&#34;&gt;</svg>",
			removed: []string{"<link>", "<style>"},
		},
		"open ends":      {in: "<ul><li>a<li>b</ul><p>c<p>d", want: "<ul><li>a</li><li>b</li></ul><p>c</p><p>d</p>"},
		"wrong ends":     {in: "</b><i>a</p></i></i><b>b", want: "<i>a</i><b>b</b>"},
		"a table's ends": {in: "<table><tr><td>1<td>2<tr><td>3</table>", want: "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>"},
		"an odd style":   {in: "<style><!-- <link> --></style>a", want: "<style></style>a", removed: []string{"a style sheet with <"}},
		"formulas":       {in: `<math><mi>x</mi></math>a`, want: "a", removed: []string{"<math>"}},
		"a made-up one":  {in: `<x-y>a</x-y>`, want: "a", removed: []string{"<x-y>"}},
		"a whole page":   {in: `<!doctype html><html><head><title>T</title></head><body><p>a</p></body></html>`, want: "<p>a</p>", removed: []string{"<title>"}},
		"a remark":       {in: `a<!-- <script> -->b`, want: "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, removed, err := safehtml.Clean(c.in)
			if c.want == "" {
				c.want = c.in
			}
			if err != nil || got != c.want || !slices.Equal(removed, c.removed) {
				t.Errorf("got %q, without %v, %v; want %q, without %v", got, removed, err, c.want, c.removed)
			}
		})
	}
}

func TestCleanIsBounded(t *testing.T) {
	t.Parallel()
	if got, _, err := safehtml.Clean(strings.Repeat("<div>", 5000)); err == nil {
		t.Errorf("5,000 elements in each other stay: %d bytes", len(got))
	}
	if _, removed, err := safehtml.Clean("<" + strings.Repeat("x", 9000) + ">"); err != nil || len(removed[0]) > 60 {
		t.Errorf("%v, %v", removed, err)
	}
	// Elements that a browser opens again in each paragraph: a parser that does the same makes 13 MB of it.
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "<b %d>", i)
	}
	text := b.String() + strings.Repeat("<p>x</p>", 4000)
	if got, _, err := safehtml.Clean(text); err != nil || len(got) > 2*len(text) {
		t.Errorf("%d bytes became %d: %v", len(text), len(got), err)
	}
}

// Whatever comes in, nothing comes out that loads, acts or leads away.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"<p>x</p>", "<svg><style><a title=\"</style><img src=x onerror=y>\">", "<math><mtext><table><mglyph><style><!--</style>",
		"<table><svg><p>", "<noscript><p title=\"</noscript><script>\">", "<style></style><script>x</script>", "<a href='#'><a href='x'>",
		"<svg></p><style><g title=\"</style><link>\">", "<select><template><style><!--</style><script>", "\x00<scr\x00ipt>", "<xmp><p id='</xmp><link>'>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean, _, err := safehtml.Clean(text)
		if err != nil {
			return
		}
		for _, raw := range []bool{true, false} { // as a style sheet is read, and as it would be in a drawing
			z := html.NewTokenizer(strings.NewReader(clean))
			for z.Next() != html.ErrorToken {
				token := z.Token()
				if !raw {
					z.NextIsNotRawText()
				}
				if (token.Type == html.StartTagToken || token.Type == html.SelfClosingTagToken) && isHarmful(token) {
					t.Fatalf("%q became %q", text, clean)
				}
			}
		}
		if again, removed, err := safehtml.Clean(clean); err != nil || again != clean || len(removed) > 0 {
			t.Fatalf("%q became %q, and then %q without %v, %v", text, clean, again, removed, err)
		}
	})
}

func isHarmful(token html.Token) bool {
	const acting = " script link meta base iframe object embed form math template noscript "
	return strings.Contains(acting, " "+token.Data+" ") || slices.ContainsFunc(token.Attr, func(a html.Attribute) bool {
		return strings.HasPrefix(a.Key, "on") || a.Key == "href" && !strings.HasPrefix(a.Val, "#")
	})
}

package document_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/module/web/document"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	const page = "<!DOCTYPE html><html><body>x</body></html>"
	for _, c := range []struct {
		kind, body string
		want       document.Kind
	}{
		{"text/html", "x", document.Page},
		{"TEXT/HTML;charset", "x", document.Page},
		{"application/xhtml+xml", "<html/>", document.Page},
		{"text/xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p>x</p></html>`, document.Page},
		{"", page, document.Page},
		{"application/octet-stream", page, document.Page},
		{"application/json; charset=utf-8", "{}", document.JSON},
		{"application/ld+json", "{}", document.JSON},
		{"text/csv", "a,b", document.Plain},
		{"application/javascript", "x()", document.Plain},
		{"image/svg+xml", "<svg/>", document.Plain},
		{"application/rss+xml", "<rss><channel><title>t</title></channel></rss>", document.Feed},
		{"text/xml", `<?xml version="1.0"?><rdf:RDF xmlns:rdf="r"><item><title>t</title></item></rdf:RDF>`, document.Feed},
		{"application/xml", "<sitemap/>", document.Plain},
		{"application/atom+xml", "<feed><entry><title>cut off", document.Plain},
		{"image/png", "no picture", document.Binary},
		{"image/tiff", "II*", document.Binary},
		{"image/png", "\x89PNG\r\n\x1a\n", document.Picture},
		{"application/zip", "PK", document.Binary},
		{"", "\x00\x01\x02", document.Binary},
		{"application/pdf", "nothing", document.Binary},
		{"text/plain", "%PDF-1.4 is how they begin", document.Plain},
		{"application/json", `{"begins": "%PDF-1.4"}`, document.JSON},
	} {
		d, err := document.Read(t.Context(), document.Source{Type: c.kind, Body: []byte(c.body)}, document.Options{})
		if err != nil || d.Kind != c.want {
			t.Errorf("%s %q: %v, %v; want %v", c.kind, c.body, d.Kind, err, c.want)
		}
	}
}

// JSON that is nested deeply is left as it is: on lines it would be mostly
// spaces.
func TestDeepJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 5000) + strings.Repeat("1,", 50_000) + "1" + strings.Repeat("]", 5000)
	d, err := document.Read(t.Context(), document.Source{Type: "application/json", Body: []byte(deep)}, document.Options{})
	if err != nil || d.Text != deep {
		t.Errorf("%d bytes became %d, %v", len(deep), len(d.Text), err)
	}
	d, err = document.Read(t.Context(), document.Source{Type: "application/json", Body: []byte(`["[[[[\"[",{"a":1}]`)},
		document.Options{})
	if err != nil || d.Text != "[\n  \"[[[[\\\"[\",\n  {\n    \"a\": 1\n  }\n]" {
		t.Errorf("%q, %v", d.Text, err)
	}
}

// Whatever a server sends, Read ends and returns text. PDFs have a test of their
// own.
func FuzzRead(f *testing.F) {
	f.Add(
		[]byte("<rss><channel><title>t</title><item><link>x</link><description>&lt;b>&nbsp;</description></item></channel></rss>"),
		"application/rss+xml",
		"markdown",
	)
	f.Add([]byte("<feed><entry><link href='y' rel='alternate'/><updated>2024-05-06</updated></entry></feed>"),
		"text/xml; charset=utf-16", "text")
	f.Add([]byte(`{"a":[{}]}`), "application/json", "html")
	f.Add([]byte("\x93\xfa"), "text/html; charset=shift_jis", "markdown")
	u := &url.URL{Scheme: "https", Host: "example.com", Path: "/a"}
	f.Fuzz(func(t *testing.T, body []byte, kind, format string) {
		if len(body) > 1<<15 || strings.Contains(string(body), "%PDF-") {
			return
		}
		d, err := document.Read(t.Context(), document.Source{URL: u, Type: kind, Body: body},
			document.Options{Format: document.Format(format), Main: true})
		if err == nil && (!utf8.ValidString(d.Text+d.Title) || len(d.Text) > 40*len(body)+1<<17) {
			t.Errorf("%d bytes gave %d", len(body), len(d.Text))
		}
	})
}

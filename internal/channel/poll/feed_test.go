package poll

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseFeed(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want feed
		err  string
	}{
		"RSS": {`<rss><channel><title>T</title><item><guid isPermaLink="false"> 1 </guid><title>A &amp; B</title>` +
			`<link>https://a.test/1</link><pubDate>Mon, 02 Mar 2026 10:00:00 GMT</pubDate><dc:creator xmlns:dc="d">Ann</dc:creator>` +
			`<description>short</description><content:encoded xmlns:content="c"><![CDATA[<p>long</p>]]></content:encoded></item></channel></rss>`,
			feed{"T", []entry{{"1", "A & B", "https://a.test/1", "Mon, 02 Mar 2026 10:00:00 GMT", "Ann", "<p>long</p>"}}}, ""},
		"Atom": {`<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><link rel="self" href="https://a.test/feed"/>` +
			`<entry><id>urn:1</id><title type="html">A</title><link rel="self" href="https://a.test/self"/><link href="https://a.test/1"/>` +
			`<updated>2026-03-02T10:00:00Z</updated><author><name>Ann</name></author>` +
			`<content type="xhtml"><div>hello <b>you</b></div></content></entry></feed>`,
			feed{"T", []entry{{"urn:1", "A", "https://a.test/1", "2026-03-02T10:00:00Z", "Ann", "<div>hello <b>you</b></div>"}}}, ""},
		"RDF": {`<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/"><channel><title>T</title></channel>` +
			`<item rdf:about="https://a.test/1"><title>A</title><link>https://a.test/1</link></item></rdf:RDF>`,
			feed{"T", []entry{{ID: "https://a.test/1", Title: "A", Link: "https://a.test/1"}}}, ""},
		"another character set": {"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><rss><channel><title>Gr\xfc\xdfe</title></channel></rss>",
			feed{Title: "Grüße"}, ""},
		"an entity of HTML": {`<rss><channel><title>a&nbsp;b</title></channel></rss>`, feed{Title: "a\u00a0b"}, ""},
		"no entries":        {`<rss><channel></channel></rss>`, feed{}, ""},
		"HTML":              {`<!DOCTYPE html><html><body>x</body></html>`, feed{}, "begins with html"},
		"nothing":           {``, feed{}, "it is empty"},
		"JSON":              {`{"a": 1}`, feed{}, "it is empty"},
		"cut":               {`<rss><channel><item><guid>1`, feed{}, "unexpected EOF"},
		"a bomb": {`<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><rss><channel><title>&b;</title></channel></rss>`,
			feed{Title: "&b;"}, ""},
	} {
		got, err := parseFeed([]byte(c.text))
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	one, _ := parseFeed([]byte(`<rss><channel><item><title>no id</title></item><item><title>another</title></item></channel></rss>`))
	if one.Entries[0].ID == "" || one.Entries[0].ID == one.Entries[1].ID {
		t.Errorf("%+v", one)
	}
}

func FuzzParseFeed(f *testing.F) {
	f.Add([]byte(`<rss><channel><title>T</title><item><guid>1</guid></item></channel></rss>`))
	f.Add([]byte(`<feed><entry><content type="xhtml"><a/></content></entry></feed>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseFeed(data)
		for _, e := range got.Entries {
			if e.ID == "" || err != nil {
				t.Errorf("%+v, %v", got, err)
			}
		}
	})
}

package htmlquery_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/markdown"
	"callgate/internal/module/web/htmlquery"
)

func TestBaseAndLinks(t *testing.T) {
	t.Parallel()
	u, _ := url.Parse("https://example.com/a/b")
	p, err := htmlquery.Parse([]byte(`<base href="/other/"><a href="x">  an
 x</a><a href="x">twice</a><a href="/y"><img alt="a picture"></a><a href="/z" aria-label="zed"></a><a href="data:,x">d</a><a href="mailto:a@example.com">m</a>`), u)
	if err != nil {
		t.Fatal(err)
	}
	want := []markdown.Link{{Text: "an x", URL: "https://example.com/other/x"},
		{Text: "a picture", URL: "https://example.com/y"}, {Text: "zed", URL: "https://example.com/z"}, {Text: "m",
			URL: "mailto:a@example.com"}}
	if diff := cmp.Diff(want, p.Links(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		html string
		want []htmlquery.Table
	}{
		"plain":            {"<table><tr><td>1<td>2<tr><td>3</table>", []htmlquery.Table{{Rows: [][]string{{"1", "2"}, {"3"}}, Count: 2}}},
		"a head":           {"<table><tr><th>a<th>b<tr><td>1<td>2</table>", []htmlquery.Table{{Header: []string{"a", "b"}, Rows: [][]string{{"1", "2"}}, Count: 1}}},
		"heads of rows":    {"<table><tr><th>a<td>1<tr><th>b<td>2</table>", []htmlquery.Table{{Rows: [][]string{{"a", "1"}, {"b", "2"}}, Count: 2}}},
		"a second head":    {"<table><tr><th>a<tr><td>1<tr><th>b</table>", []htmlquery.Table{{Header: []string{"a"}, Rows: [][]string{{"1"}, {"b"}}, Count: 2}}},
		"down and across":  {"<table><tr><td rowspan=2 colspan=2>x<td>1<tr><td>2<tr><td>3</table>", []htmlquery.Table{{Rows: [][]string{{"x", "x", "1"}, {"x", "x", "2"}, {"3"}}, Count: 3}}},
		"at the end":       {"<table><tr><td>1<td rowspan=2>x<tr><td>2</table>", []htmlquery.Table{{Rows: [][]string{{"1", "x"}, {"2", "x"}}, Count: 2}}},
		"strange spans":    {"<table><tr><td rowspan=-1 colspan=x>1</table>", []htmlquery.Table{{Rows: [][]string{{"1"}}, Count: 1}}},
		"empty":            {"<table></table>", []htmlquery.Table{}},
		"for the layout":   {"<table><tr><td><table><tr><td>in</table></table>", []htmlquery.Table{{Rows: [][]string{{"in"}}, Count: 1}}},
		"lines in a cell":  {"<table><tr><td>a<br>b<p>c</p></table>", []htmlquery.Table{{Rows: [][]string{{"a b c"}}, Count: 1}}},
		"scripts in cells": {"<table><tr><td>a<script>x</script></table>", []htmlquery.Table{{Rows: [][]string{{"a"}}, Count: 1}}},
	} {
		p, err := htmlquery.Parse([]byte(c.html), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, p.Tables(nil)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Whatever a page and a selector are, nothing panics and texts are UTF-8.
func FuzzPage(f *testing.F) {
	f.Add("<table><tr><td rowspan=3>x</table><a href=x>y</a>", "td, a:not(.x) > b", "href")
	f.Add(`<meta property="og:title" content="x"><script type="application/ld+json">{}</script>`, "*:has(b)", "")
	f.Add("x", "a[[", "x")
	f.Fuzz(func(t *testing.T, html, selector, attribute string) {
		if len(html) > 1<<14 || len(selector) > 100 || strings.Count(selector, ":") > 4 {
			return
		}
		p, err := htmlquery.Parse([]byte(html), nil)
		if err != nil {
			return
		}
		var selectors []htmlquery.Selector
		if s, err := htmlquery.ParseSelector(selector); err == nil {
			selectors = append(selectors, s)
			for _, item := range p.Select(s, attribute, 100).Items {
				if !utf8.ValidString(item.Text) {
					t.Error("not UTF-8")
				}
			}
		}
		p.Tables(selectors)
		p.Links(selectors)
		p.Metadata()
	})
}

package browser_test

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstPage is a page of this machine in a browser that is not there
// yet.
func BenchmarkFirstPage(b *testing.B) {
	s := site(b, map[string]string{"/": `<h1>Hello</h1>` + strings.Repeat("<p>Some text.</p>", 100)})
	needBrowser(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		h := newHouse(b)
		g := h.session("s", local)
		b.StartTimer()
		g.call("navigate", args{"url": s.URL})
		b.StopTimer()
		check(b, h.opened.Close())
		b.StartTimer()
	}
}

// BenchmarkPage is a page in a tab that is there.
func BenchmarkPage(b *testing.B) {
	s := site(b, map[string]string{"/": `<h1>Hello</h1>` + strings.Repeat("<p>Some text.</p>", 100)})
	g := newGround(b)
	g.call("navigate", args{"url": s.URL})
	b.ReportAllocs()
	var fastest, slowest time.Duration
	for b.Loop() {
		began := time.Now()
		g.call("navigate", args{"url": s.URL})
		took := time.Since(began)
		slowest = max(slowest, took)
		if fastest == 0 || took < fastest {
			fastest = took
		}
	}
	b.ReportMetric(float64(fastest.Microseconds())/1000, "fastest-ms")
	b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
}

// BenchmarkNewSession is the first page of a session, in a browser that is
// there.
func BenchmarkNewSession(b *testing.B) {
	s := site(b, map[string]string{"/": `<h1>Hello</h1>`})
	g := newGround(b)
	g.call("navigate", args{"url": s.URL})
	b.ReportAllocs()
	for b.Loop() {
		other := g.house.session("another", local)
		other.call("navigate", args{"url": s.URL})
		b.StopTimer()
		g.opened.OnSessionEnd("another")
		b.StartTimer()
	}
}

func benchmarkOn(b *testing.B, name string, a args) {
	s := site(b, map[string]string{"/": `<h1>Hello</h1><button>Press</button>` + strings.Repeat(`<p>Some <a href="/x">text</a> to read.</p>`, 500)})
	g := newGround(b)
	g.call("navigate", args{"url": s.URL})
	b.ReportAllocs()
	for b.Loop() {
		g.call(name, a)
	}
}

func BenchmarkReadMarkdown(b *testing.B) { benchmarkOn(b, "read", args{}) }
func BenchmarkReadTree(b *testing.B)     { benchmarkOn(b, "read", args{"format": "tree"}) }
func BenchmarkClick(b *testing.B)        { benchmarkOn(b, "click", args{"selector": "button"}) }
func BenchmarkScreenshot(b *testing.B)   { benchmarkOn(b, "screenshot", args{}) }

package browser_test

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstPage opens a page of this machine in a browser that must be started.
func BenchmarkFirstPage(b *testing.B) {
	web := site(b, map[string]string{"/": `<h1>Hello</h1>` + strings.Repeat("<p>Some text.</p>", 100)})
	needBrowser(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		f := openModule(b)
		s := f.session("", nil, local())
		b.StartTimer()
		s.call("navigate", args{"url": web.URL})
		b.StopTimer()
		check(b, f.opened.Close())
		b.StartTimer()
	}
}

// BenchmarkPage opens a page in a tab.
func BenchmarkPage(b *testing.B) {
	web := site(b, map[string]string{"/": `<h1>Hello</h1>` + strings.Repeat("<p>Some text.</p>", 100)})
	s := newSession(b)
	s.call("navigate", args{"url": web.URL})
	b.ReportAllocs()
	var fastest, slowest time.Duration
	for b.Loop() {
		began := time.Now()
		s.call("navigate", args{"url": web.URL})
		took := time.Since(began)
		slowest = max(slowest, took)
		if fastest == 0 || took < fastest {
			fastest = took
		}
	}
	b.ReportMetric(float64(fastest.Microseconds())/1000, "fastest-ms")
	b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
}

// BenchmarkNewSession opens the first page of a session, in a browser that runs.
func BenchmarkNewSession(b *testing.B) {
	web := site(b, map[string]string{"/": `<h1>Hello</h1>`})
	s := newSession(b)
	s.call("navigate", args{"url": web.URL})
	b.ReportAllocs()
	for b.Loop() {
		other := s.fixture.session("another", nil, local())
		other.call("navigate", args{"url": web.URL})
		b.StopTimer()
		s.opened.OnSessionEnd(other.id)
		b.StartTimer()
	}
}

func benchmarkOn(b *testing.B, name string, a args) {
	paragraphs := strings.Repeat(`<p>Some <a href="/x">text</a> to read.</p>`, 500)
	web := site(b, map[string]string{"/": `<h1>Hello</h1><button>Press</button>` + paragraphs})
	s := newSession(b)
	s.call("navigate", args{"url": web.URL})
	b.ReportAllocs()
	for b.Loop() {
		s.call(name, a)
	}
}

func BenchmarkReadMarkdown(b *testing.B) { benchmarkOn(b, "read", args{}) }
func BenchmarkReadTree(b *testing.B)     { benchmarkOn(b, "read", args{"format": "tree"}) }
func BenchmarkClick(b *testing.B)        { benchmarkOn(b, "click", args{"selector": "button"}) }
func BenchmarkScreenshot(b *testing.B)   { benchmarkOn(b, "screenshot", args{}) }

package widget

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, args string
		want       *Frame
	}{
		"by its name":        {"widget.render", `{"title":"T","height":90}`, &Frame{"c", "T", 90}},
		"as an API names it": {"widget__render", `{}`, &Frame{"c", "widget", 320}},
		"by its ID":          {"widget:render@1.0.0", `{}`, &Frame{"c", "widget", 320}},
		"through another":    {"execute_tool", `{"name":"widget__render","params":{"height":50}}`, &Frame{"c", "widget", 50}},
		"by another name":    {"show_widget", `{}`, &Frame{"c", "widget", 320}},
		"in other words":     {"execute_tool", `{"tool_name":"render_html","arguments":{"height":50}}`, &Frame{"c", "widget", 50}},
		"too high":           {"widget.render", `{"height":999999}`, &Frame{"c", "widget", 2000}},
		"no arguments":       {"widget.render", ``, &Frame{"c", "widget", 320}},
		"another tool":       {"filesystem.read", `{"html":"x"}`, nil},
		"another by another": {"execute_tool", `{"name":"filesystem.read"}`, nil},
		"nothing":            {"execute_tool", `7`, nil},
	} {
		got := Of("c", c.tool, json.RawMessage(c.args), tool.Success)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if Of("c", "widget.render", json.RawMessage(`{}`), tool.Failure) != nil {
		t.Error("a call that failed shows something")
	}
}

// hostile is what a text could try that was not cleaned: each success is a request for /reached, or another title.
const hostile = `<p>shown</p><script>fetch("/reached"); document.cookie; top.document.title = "taken"; top.location = "/taken";
parent.postMessage("x", "*"); open("/reached"); new WebSocket("ws://" + location.host + "/reached")</script>
<img src="/reached"><img src="x" onerror="top.location='/taken'"><link rel="stylesheet" href="/reached"><iframe src="/reached"></iframe>
<link rel="prefetch" href="/reached"><link rel="icon" href="/reached"><object data="/reached"></object><embed src="/reached">
<video src="/reached" autoplay></video><meta http-equiv="refresh" content="0;url=/reached"><base href="/reached/">
<style>@import url("/reached"); p { background: url("/reached") } @font-face { font-family: x; src: url("/reached") } p { font-family: x }</style>
<svg><image href="/reached"/><use href="/reached#a"/></svg><form id="f" action="/reached"></form><script>f.submit()</script>
<a id="away" href="/reached">a</a><a href="/taken" target="_top">top</a><script>document.getElementById("away").click()</script>`

// site serves the hostile text in a frame: as widgets are, and as nothing ever is, to see that this test can fail.
func site(t *testing.T) (server *httptest.Server, reached *atomic.Int32) {
	t.Helper()
	reached = &atomic.Int32{}
	mux := http.NewServeMux()
	page := func(frame string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!doctype html><title>console</title>"+frame)
		}
	}
	mux.HandleFunc("/sandboxed", page(`<iframe src="/frame"></iframe>`)) // the header alone keeps it in
	mux.HandleFunc("/bare", page(`<iframe src="/text"></iframe>`))
	mux.HandleFunc("/frame", func(w http.ResponseWriter, _ *http.Request) { write(w, "widget", hostile) })
	mux.HandleFunc("/text", page(hostile))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reached" || r.URL.Path == "/taken" {
			reached.Add(1)
		}
		http.NotFound(w, r)
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, reached
}

// The policy alone keeps a text from running, loading and leading away.
func TestPolicyInABrowser(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	server, reached := site(t)
	ctx, stop := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(chromedp.ExecPath(path), chromedp.NoSandbox))
	t.Cleanup(stop)
	open := func(page string) (title string) {
		t.Helper()
		within, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if chromedp.FromContext(ctx).Browser == nil {
			within = ctx // the browser lives as long as the context of the first step
		}
		err := chromedp.Do(within, chromedp.Navigate(server.URL+page))
		if err != nil && page == "/sandboxed" {
			t.Fatal(err)
		}
		// What was to happen after the page was loaded has had its turn then.
		title, err = chromedp.Run(within, chromedp.Evaluate[string](
			`new Promise(done => setTimeout(() => done(document.title), 300))`, chromedp.EvalAwaitPromise))
		if err != nil && page == "/sandboxed" {
			t.Fatal(err)
		}
		return title
	}
	if title := open("/sandboxed"); title != "console" || reached.Load() != 0 {
		t.Errorf("the page is %q, and %d requests came out of the frame", title, reached.Load())
	}
	_ = open("/bare") // it may be led away meanwhile
	kerneltest.Eventually(t, func() bool { return reached.Load() > 0 })
}

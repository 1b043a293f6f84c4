package browser_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/websocket"
)

// canary is a server that must not be reached, on TCP and on UDP, and notes by
// which ways it was.
type canary struct {
	addr string

	mu   sync.Mutex
	ways map[string]int
}

func newCanary(t testing.TB) *canary {
	t.Helper()
	c := &canary{ways: map[string]int{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	c.addr = l.Addr().String()
	u, err := net.ListenPacket("udp", c.addr)
	check(t, err)
	s := &http.Server{Handler: c}
	go func() { _ = s.Serve(counted{l, c}) }()
	go func() {
		buf := make([]byte, 2000)
		for {
			n, _, err := u.ReadFrom(buf)
			if err != nil {
				return
			}
			c.note(fmt.Sprintf("a packet of %d bytes", n))
		}
	}()
	t.Cleanup(func() { _, _ = s.Close(), u.Close() })
	return c
}

// counted notes connections, whatever they say.
type counted struct {
	net.Listener
	c *canary
}

func (l counted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.c.note("a connection")
	}
	return conn, err
}

func (c *canary) note(way string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ways[way]++
}

func (c *canary) reached() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.ways))
}

func (c *canary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	way := strings.Trim(r.URL.Path, "/")
	c.note(way)
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Private-Network", "true")
	switch {
	case strings.HasPrefix(way, "websocket"):
		websocket.Handler(func(ws *websocket.Conn) { _, _ = io.Copy(ws, ws) }).ServeHTTP(w, r)
	case strings.Contains(way, "script"), strings.Contains(way, "worker"), strings.Contains(way, "import"):
		w.Header().Set("Content-Type", "text/javascript")
	case strings.Contains(way, "css"):
		w.Header().Set("Content-Type", "text/css")
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "the canary sings")
	}
}

// attack is a page that tries to reach the canary in every way a page has.
const attack = `<!doctype html><title>attack</title>
<link rel="icon" href="http://CANARY/favicon">
<link rel="stylesheet" href="http://CANARY/css">
<link rel="preload" as="image" href="http://CANARY/preload">
<link rel="prefetch" href="http://CANARY/prefetch">
<link rel="modulepreload" href="http://CANARY/modulepreload-script">
<link rel="preconnect" href="http://CANARY">
<link rel="dns-prefetch" href="http://CANARY">
<link rel="manifest" href="http://CANARY/manifest">
<script type="speculationrules">{"prefetch":[{"source":"list","urls":["http://CANARY/speculation"]}],"prerender":[{"source":"list","urls":["http://CANARY/prerender"]}]}</script>
<style>@import url("http://CANARY/import-css"); @font-face{font-family:x;src:url("http://CANARY/font")} body{font-family:x;background:url("http://CANARY/background")}</style>
<body>text <img src="http://CANARY/img"><img src="/to?u=http://CANARY/img-redirect">
<picture><source srcset="http://CANARY/source"><img></picture>
<script src="http://CANARY/script"></script>
<video src="http://CANARY/video" autoplay></video><audio src="http://CANARY/audio" autoplay></audio>
<video poster="http://CANARY/poster"></video>
<object data="http://CANARY/object"></object><embed src="http://CANARY/embed">
<iframe src="http://CANARY/iframe"></iframe><iframe src="/to?u=http://CANARY/iframe-redirect"></iframe>
<iframe srcdoc="<img src='http://CANARY/srcdoc-img'>"></iframe>
<iframe src="data:text/html,<img src='http://CANARY/data-img'>"></iframe>
<svg><image href="http://CANARY/svg-image"/></svg><svg><use href="http://CANARY/svg-use#x"/></svg>
<input type="image" src="http://CANARY/input-image">
<form id="form" method="post" action="http://CANARY/form" target="formframe"></form><iframe name="formframe"></iframe>
<a id="ping" href="#x" ping="http://CANARY/ping">x</a>
<div id="log"></div>
<script>
const at = way => 'http://CANARY/' + way;
const tries = {
  fetch: () => fetch(at('fetch')), nocors: () => fetch(at('fetch-nocors'), {mode: 'no-cors'}),
  redirect: () => fetch('/to?u=' + at('fetch-redirect')), keepalive: () => fetch(at('fetch-keepalive'), {keepalive: true, mode: 'no-cors'}),
  post: () => fetch(at('fetch-post'), {method: 'POST', mode: 'no-cors', body: 'x'}),
  xhr: () => new Promise(done => { const x = new XMLHttpRequest(); x.onloadend = done; x.open('GET', at('xhr')); x.send(); }),
  beacon: () => navigator.sendBeacon(at('beacon'), 'x'),
  socket: () => new Promise(done => { const s = new WebSocket('ws://CANARY/websocket'); s.onopen = s.onerror = done; }),
  events: () => new Promise(done => { const s = new EventSource(at('eventsource')); s.onopen = s.onerror = done; }),
  module: () => import(at('import')),
  worker: () => new Promise(done => { const w = new Worker('/worker.js?u=' + at('worker-fetch')); w.onmessage = w.onerror = done; }),
  shared: () => new Promise(done => { const w = new SharedWorker('/shared.js?u=' + at('sharedworker-fetch')); w.port.onmessage = done; w.onerror = done; }),
  service: async () => { await navigator.serviceWorker.register('/service.js?u=' + at('serviceworker-fetch')); await navigator.serviceWorker.ready; },
  popup: () => { window.open(at('popup')); }, popupRedirect: () => { window.open('/to?u=' + at('popup-redirect')); },
  form: () => document.querySelector('#form').submit(),
  ping: () => document.querySelector('#ping').click(),
  image: () => new Promise(done => { const i = new Image(); i.onload = i.onerror = done; i.src = at('image'); }),
  stun: () => ice({urls: 'stun:CANARY'}), turn: () => ice({urls: 'turn:CANARY', username: 'u', credential: 'p'}),
  turntcp: () => ice({urls: 'turn:CANARY?transport=tcp', username: 'u', credential: 'p'}),
  transport: async () => { const t = new WebTransport('https://CANARY/webtransport'); await t.ready; },
  stream: async () => { await new WebSocketStream('ws://CANARY/websocketstream').opened; },
  fontface: () => new FontFace('y', 'url(' + at('fontface') + ')').load(),
  worklet: () => CSS.paintWorklet.addModule(at('worklet-script')),
};
async function ice(server) {
  const pc = new RTCPeerConnection({iceServers: [server]});
  pc.createDataChannel('x');
  await pc.setLocalDescription(await pc.createOffer());
  await new Promise(done => { pc.onicegatheringstatechange = () => pc.iceGatheringState === 'complete' && done(); setTimeout(done, 2000); });
}
const late = p => Promise.race([p, new Promise(done => setTimeout(done, 4000))]);
addEventListener('load', async () => {
  await Promise.all(Object.entries(tries).map(async ([way, run]) => { try { await late(run()); } catch (e) { } }));
  document.querySelector('#log').textContent = 'all was tried';
});
</script>`

// attacker serves the page, workers, and redirects.
func attacker(t testing.TB, c *canary) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/attack", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, strings.ReplaceAll(attack, "CANARY", c.addr))
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.FormValue("u"), http.StatusFound) })
	worker := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, `const u = new URL(location).searchParams.get('u');
			const run = () => fetch(u, {mode: 'no-cors'}).catch(() => 0);
			if (self.registration) self.oninstall = e => e.waitUntil(run());
			else if ('onconnect' in self) self.onconnect = e => run().then(() => e.ports[0].postMessage(1));
			else run().then(() => postMessage(1));`)
	}
	mux.HandleFunc("/worker.js", worker)
	mux.HandleFunc("/shared.js", worker)
	mux.HandleFunc("/service.js", worker)
	mux.HandleFunc("/meta", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>meta</title><meta http-equiv=refresh content="0;url=%s">`, r.FormValue("u"))
	})
	mux.HandleFunc("/script", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>script</title><script>location = %q</script>`, r.FormValue("u"))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// No page reaches what the guard does not let it, by whatever it can load.
func TestNoWayPastTheGuard(t *testing.T) {
	h := newHouse(t)
	run := func(name string, open bool) (*canary, *ground) {
		c := newCanary(t)
		s := attacker(t, c)
		allowed := []any{strings.TrimPrefix(s.URL, "http://")}
		if open {
			allowed = append(allowed, c.addr)
		}
		g := h.session(name, settings{"private_hosts": allowed, "max_tabs": 20})
		g.call("navigate", args{"url": s.URL + "/attack"})
		g.call("wait", args{"text": "all was tried", "timeout_seconds": 25})
		for _, path := range []string{"/to", "/meta", "/script"} {
			_, _ = g.try("navigate", args{"url": s.URL + path + "?u=" + url.QueryEscape("http://"+c.addr+"/top"+strings.ReplaceAll(path, "/", "-"))})
			_, _ = g.try("wait", args{"text": "the canary sings", "timeout_seconds": 1})
		}
		return c, g
	}
	control, _ := run("control", true)
	t.Logf("without the guard the canary was reached by: %s", strings.Join(control.reached(), ", "))
	for _, way := range []string{
		"audio", "background", "beacon", "css", "embed", "eventsource", "fetch", "fetch-keepalive", "fetch-nocors", "fetch-post", "fetch-redirect", "font", "fontface",
		"form", "iframe", "iframe-redirect", "image", "img", "img-redirect", "import", "import-css", "input-image", "object", "popup", "popup-redirect", "poster",
		"preload", "modulepreload-script", "script", "serviceworker-fetch", "sharedworker-fetch", "source", "srcdoc-img", "data-img", "svg-image", "video", "websocket", "worker-fetch", "xhr",
		"top-to", "top-meta", "top-script", "speculation", "prefetch", "websocketstream", "worklet-script", "favicon",
	} {
		if !slices.Contains(control.reached(), way) {
			t.Errorf("the control did not reach the canary by %s: the test proves nothing about it", way)
		}
	}
	guarded, g := run("guarded", false)
	if ways := guarded.reached(); len(ways) > 0 {
		t.Errorf("the canary was reached by %s", strings.Join(ways, ", "))
	}
	g.refused("denied", "navigate", args{"url": "http://" + guarded.addr + "/"}, "not public", "tools.modules.web.browse.constraints.private_hosts")
}

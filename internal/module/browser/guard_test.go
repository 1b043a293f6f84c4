package browser_test

import (
	_ "embed"
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

// canary is a server that pages must not reach, over TCP or UDP. It notes in which ways
// they did.
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
	server := &http.Server{Handler: c}
	go func() { _ = server.Serve(counted{l, c}) }()
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
	t.Cleanup(func() { _, _ = server.Close(), u.Close() })
	return c
}

// counted notes every connection.
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
//
//go:embed testdata/attack.html
var attack string

// attacker serves the page, its workers, and redirects.
func attacker(t testing.TB, c *canary) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/attack", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, strings.ReplaceAll(attack, "CANARY", c.addr))
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("u"), http.StatusFound)
	})
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
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// ways are the ways in which a page without a guard reaches the canary.
func ways() []string {
	return []string{
		"audio", "background", "beacon", "css", "data-img", "embed", "eventsource", "favicon", "fetch",
		"fetch-keepalive", "fetch-nocors", "fetch-post", "fetch-redirect", "font", "fontface", "form", "iframe",
		"iframe-redirect", "image", "img", "img-redirect", "import", "import-css", "input-image",
		"modulepreload-script", "object", "popup", "popup-redirect", "poster", "prefetch", "preload", "script",
		"serviceworker-fetch", "sharedworker-fetch", "source", "speculation", "srcdoc-img", "svg-image",
		"top-meta", "top-script", "top-to", "video", "websocket", "websocketstream", "worker-fetch",
		"worklet-script", "xhr",
	}
}

// No page reaches what the guard does not allow, by anything that it can load.
func TestNoWayPastTheGuard(t *testing.T) {
	t.Parallel()
	for name, guarded := range map[string]bool{"control": false, "guarded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCanary(t)
			attackCanary(t, c, guarded)
			reached := c.reached()
			if guarded && len(reached) > 0 {
				t.Errorf("the canary was reached by %s", strings.Join(reached, ", "))
			}
			for _, way := range ways() {
				if !guarded && !slices.Contains(reached, way) {
					t.Errorf("without a guard the canary was not reached by %s: the test proves nothing about it", way)
				}
			}
		})
	}
}

// attackCanary opens the page that attacks, and then addresses that lead to the canary.
func attackCanary(t *testing.T, c *canary, guarded bool) {
	t.Helper()
	web := attacker(t, c)
	allowed := []any{strings.TrimPrefix(web.URL, "http://")}
	if !guarded {
		allowed = append(allowed, c.addr)
	}
	s := sharedModule(t).session("", nil, settings{"private_hosts": allowed, "max_tabs": 20})
	s.call("navigate", args{"url": web.URL + "/attack"})
	s.call("wait", args{"text": "all was tried", "timeout_seconds": 25})
	for _, path := range []string{"/to", "/meta", "/script"} {
		canary := "http://" + c.addr + "/top" + strings.ReplaceAll(path, "/", "-")
		_, _ = s.try("navigate", args{"url": web.URL + path + "?u=" + url.QueryEscape(canary)})
		_, _ = s.try("wait", args{"text": "the canary sings", "timeout_seconds": 1})
	}
	if guarded {
		s.refused("denied", "navigate", args{"url": "http://" + c.addr + "/"},
			"not public", "tools.modules.web.browse.constraints.private_hosts")
	}
}

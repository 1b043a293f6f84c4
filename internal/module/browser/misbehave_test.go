package browser_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/tool"
)

func ctxOf() context.Context { return context.Background() }

func TestAddresses(t *testing.T) {
	g := newGround(t)
	for address, kind := range map[string]tool.Kind{
		"file:///etc/passwd": tool.Denied, "FILE:/etc/passwd": tool.Denied, "chrome://version": tool.Denied, "view-source:http://127.0.0.1/": tool.Denied,
		"devtools://devtools": tool.Denied, "data:text/html,hi": tool.Denied, "javascript:alert(1)": tool.Denied, "about:version": tool.Denied, "blob:http://a/b": tool.Denied,
		"ftp://example.com/": tool.Denied, "chrome-extension://x/": tool.Denied, "filesystem:http://a/": tool.Denied,
		"http://169.254.169.254/latest/meta-data/": tool.Denied, "http://10.0.0.1/": tool.Denied, "http://[::1]/": tool.Denied, "http://2130706433/": tool.Denied,
		"http://user@127.0.0.1/": tool.Denied, "two words": tool.Invalid, "/etc/passwd": tool.Invalid,
	} {
		g.refused(kind, "navigate", args{"url": address})
		g.refused(kind, "tabs", args{"action": "new", "url": address})
	}
}

// What the network does to a navigation is said in words.
func TestNavigationErrors(t *testing.T) {
	g := newGround(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	nobody := free.Addr().String()
	check(t, free.Close())
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/break":
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
		case "/auth":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, "who are you? ", r.Header.Get("Authorization"))
		case "/private":
			http.Redirect(w, r, "http://10.1.2.3/", http.StatusFound)
		case "/bad":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "it broke")
		}
	}))
	t.Cleanup(s.Close)
	for path, c := range map[string]struct {
		kind tool.Kind
		word string
	}{
		"http://" + nobody:             {tool.Failed, "nothing listens"},
		"https://" + nobody:            {tool.Failed, "nothing listens"},
		"http://no-such-host.invalid":  {tool.NotFound, "no host"},
		"https://no-such-host.invalid": {tool.NotFound, "no host"},
		secure.URL:                     {tool.Failed, "certificate"},
		s.URL + "/circle":              {tool.Failed, "circle"},
		s.URL + "/none":                {tool.Failed, "no page"},
		s.URL + "/private":             {tool.Denied, "10.1.2.3"},
	} {
		g.refused(c.kind, "navigate", args{"url": path}, c.word)
	}
	if _, err := g.try("navigate", args{"url": s.URL + "/break"}); err == nil {
		t.Error("a broken connection was taken for a page")
	}
	for path, status := range map[string]int{"/auth": 401, "/bad": 500} {
		r := g.call("navigate", args{"url": s.URL + path})
		if d := data[stateData](t, r); d.Status != status || !strings.Contains(r.Summary, fmt.Sprint(status)) {
			t.Errorf("%s: %s", r.Summary, r.Data)
		}
	}
	lacks(t, g.text(args{}), "Basic")
}

func TestSlowPages(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<p>here already</p><img src="/late">`)
		case "/late", "/never":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	}))
	t.Cleanup(func() { close(release); s.Close() })
	h := newHouse(t)
	g := h.sessionWith("s", settings{"timeout_seconds": 1.5}, local)
	r := g.call("navigate", args{"url": s.URL})
	if d := data[stateData](t, r); !d.Loading {
		t.Errorf("a page without its picture: %s", r.Data)
	}
	holds(t, g.text(args{}), "here already")
	g.refused(tool.Timeout, "navigate", args{"url": s.URL + "/never"}, "in time")
	holds(t, g.text(args{}), "here already")
}

func TestDialogs(t *testing.T) {
	s := site(t, map[string]string{
		"/": `<button onclick="out.textContent = prompt('Your name?', 'Bob')">Ask</button><button onclick="alert('Boo')">Warn</button><output id=out></output>
			<input id=field><script>onbeforeunload = e => { if (field.value) e.preventDefault() }; for (let i = 0; i < 3; i++) setTimeout(() => alert('timer ' + i), 0)</script>`,
		"/next": `<p>next</p>`,
	})
	g := newGround(t)
	r := g.call("navigate", args{"url": s.URL})
	if d := data[stateData](t, r).Dialogs; len(d) != 3 || d[0].Message != "timer 0" {
		t.Errorf("as it loaded: %s", r.Data)
	}
	g.call("click", args{"text": "Warn"})
	g.call("click", args{"text": "Ask", "dialog": "accept"})
	holds(t, g.text(args{}), "Bob")
	g.call("click", args{"text": "Ask", "dialog": "accept", "dialog_text": "Ada"})
	holds(t, g.text(args{}), "Ada")
	g.call("click", args{"text": "Ask"})
	lacks(t, g.text(args{}), "Ada")
	g.call("type", args{"selector": "#field", "text": "unsaved"})
	g.refused(tool.Failed, "navigate", args{"url": s.URL + "/next"}, "confirm that it is left", "accept")
	g.call("navigate", args{"url": s.URL + "/next", "dialog": "accept"})
	holds(t, g.text(args{}), "next")
}

// A page that hangs takes nobody with it.
func TestHang(t *testing.T) {
	s := site(t, map[string]string{
		"/hang": `<button onclick="for (;;);">Hang</button>`,
		"/ok":   `<p>fine</p><button>Fine</button>`,
	})
	h := newHouse(t)
	g := h.sessionWith("s", settings{"timeout_seconds": 2}, local)
	other := h.session("other", local)
	other.call("navigate", args{"url": s.URL + "/ok"})

	hung := data[stateData](t, g.call("navigate", args{"url": s.URL + "/hang"})).Tab
	g.refused(tool.Failed, "click", args{"text": "Hang"}, "does not answer", "web.browse.close")
	began := time.Now()
	g.refused(tool.Failed, "read", args{}, "does not answer")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a second call to a tab that hangs took %v", took)
	}
	holds(t, other.text(args{}), "fine")
	g.call("navigate", args{"url": strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/ok", "new_tab": true})
	holds(t, g.text(args{}), "fine")
	g.call("close", args{"tab": hung})
	holds(t, g.text(args{}), "fine")
}

// A page whose process dies leaves a tab that says so, and the browser goes on.
func TestCrash(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked up in /proc")
	}
	temp := short(t) // so that the processes found there are this test's own
	t.Setenv("TMPDIR", temp)
	s := site(t, map[string]string{"/": `<p>fine</p>`})
	g := newHouse(t).session("s", local)
	tab := data[stateData](t, g.call("navigate", args{"url": s.URL})).Tab
	killed := 0
	for _, line := range users(t, temp) {
		pid, rest, _ := strings.Cut(line, ": ")
		if n, err := strconv.Atoi(pid); err == nil && strings.Contains(rest, "--type=renderer") {
			p, err := os.FindProcess(n)
			check(t, err)
			check(t, p.Kill())
			killed++
		}
	}
	if killed == 0 {
		t.Fatal("no process of a page was found")
	}
	soon(t, "the crash is not seen", func() bool {
		_, err := g.try("read", args{"tab": tab})
		return err != nil && strings.Contains(err.Error(), "crashed")
	})
	g.refused(tool.Failed, "click", args{"text": "fine"}, "crashed", "web.browse.close")
	holds(t, g.call("tabs", args{}).Content[0].Text, "crashed")
	g.call("close", args{"tab": tab})
	g.call("navigate", args{"url": s.URL})
	holds(t, g.text(args{}), "fine")
}

func TestTabsHaveALimit(t *testing.T) {
	s := site(t, map[string]string{"/": `<button onclick="for (let i = 0; i < 10; i++) window.open('/p')">Many</button>`, "/p": `<p>popup</p>`})
	g := newHouse(t).session("s", settings{"private_hosts": []any{"127.0.0.1"}, "max_tabs": 3})
	g.call("navigate", args{"url": s.URL})
	r := g.call("click", args{"text": "Many"})
	holds(t, r.Summary, "more tabs than are allowed")
	tabs := data[struct{ Tabs []struct{ Tab string } }](t, g.call("tabs", args{})).Tabs
	if len(tabs) != 3 {
		t.Errorf("%d tabs are open", len(tabs))
	}
	g.refused(tool.Limited, "navigate", args{"url": s.URL, "new_tab": true}, "max_tabs")
	g.call("close", args{"tab": tabs[2].Tab})
	g.call("navigate", args{"url": s.URL, "new_tab": true})
	g.call("close", args{"all": true})
	g.refused(tool.NotFound, "read", args{}, "no page is open", "web.browse.navigate")
	g.refused(tool.NotFound, "read", args{"tab": tabs[0].Tab}, "there is no tab")
}

func TestDownloads(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href=/big download>Big</a> <a href=/endless download>Endless</a> <a href=/.hidden download>Hidden</a> <a href="data:text/plain,hello" download="made.txt">Made</a>`)
		case "/big":
			w.Header().Set("Content-Length", "5000000")
			_, _ = w.Write(make([]byte, 5_000_000))
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 100_000)); err != nil {
					return
				}
			}
		case "/zip":
			w.Header().Set("Content-Type", "application/zip")
			fmt.Fprint(w, "PK")
		default:
			w.Header().Set("Content-Type", "application/octet-stream")
			fmt.Fprint(w, "small")
		}
	}))
	t.Cleanup(s.Close)
	h := newHouse(t)
	g := h.session("s", settings{"private_hosts": []any{"127.0.0.1"}, "max_download_bytes": 1_000_000})
	g.call("navigate", args{"url": s.URL})
	for _, name := range []string{"Big", "Endless"} {
		r := g.call("click", args{"text": name})
		if d := data[stateData](t, r).Downloads; len(d) != 1 || d[0].State != "failed" || !strings.Contains(d[0].Why, "max_download_bytes") {
			t.Errorf("%s: %s", name, r.Data)
		}
	}
	r := g.call("navigate", args{"url": s.URL + "/zip"})
	holds(t, r.Summary, "a file, not a page", "downloads/")
	g.call("click", args{"text": "Made"})
	holds(t, g.file("downloads/made.txt"), "hello")
	g.call("click", args{"text": "Hidden"})
	entries, err := os.ReadDir(filepath.Join(g.dir, "downloads"))
	check(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s is hidden", e.Name())
		}
	}
	if all := data[struct{ Downloads []struct{ State string } }](t, g.call("tabs", args{})).Downloads; len(all) != 5 {
		t.Errorf("the list of downloads: %+v", all)
	}
	off := h.session("off", settings{"private_hosts": []any{"127.0.0.1"}, "max_download_bytes": 0})
	off.call("navigate", args{"url": s.URL})
	if d := data[stateData](t, off.call("click", args{"text": "Hidden"})).Downloads; len(d) != 1 || d[0].State != "failed" {
		t.Errorf("with downloads off: %+v", d)
	}
	bare := h.session("bare", local)
	bare.grant.Root = nil
	bare.call("navigate", args{"url": s.URL})
	if d := data[stateData](t, bare.call("click", args{"text": "Made"})).Downloads; len(d) != 1 || d[0].State != "failed" {
		t.Errorf("without a workspace: %+v", d)
	}
}

// Sessions see nothing of each other.
func TestSessionsAreApart(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := r.FormValue("who"); who != "" {
			http.SetCookie(w, &http.Cookie{Name: "who", Value: who})
		}
		c, err := r.Cookie("who")
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<p>cookie %v %v</p><p id=p></p><script>if (%q) { localStorage.who = %q } p.textContent = 'stored ' + localStorage.who</script>`, c, err, r.FormValue("who"), r.FormValue("who"))
	}))
	t.Cleanup(s.Close)
	h := newHouse(t)
	ada, bob := h.session("ada", local), h.session("bob", local)
	tab := data[stateData](t, ada.call("navigate", args{"url": s.URL + "/?who=ada"})).Tab
	bob.call("navigate", args{"url": s.URL + "/?who=bob"})
	for _, g := range []*ground{ada, bob} {
		g.call("navigate", args{"url": s.URL})
		holds(t, g.text(args{}), "who="+g.session, "stored "+g.session)
	}
	bob.refused(tool.NotFound, "read", args{"tab": tab}, "there is no tab")
	bob.refused(tool.NotFound, "close", args{"tab": tab}, "there is no tab")
	lacks(t, string(bob.call("tabs", args{}).Data), tab)
	cleo := h.session("cleo", local)
	cleo.call("navigate", args{"url": s.URL})
	holds(t, cleo.text(args{}), "named cookie not present", "stored undefined")

	h.opened.OnSessionEnd("ada")
	again := h.session("ada", local)
	again.call("navigate", args{"url": s.URL})
	holds(t, again.text(args{}), "named cookie not present", "stored undefined")
	// The rules of one session are not another's.
	strict := h.session("strict", nil)
	strict.refused(tool.Denied, "navigate", args{"url": s.URL}, "not public")
	holds(t, bob.text(args{}), "who=bob")
}

// Many sessions and many calls at once; each tab has its turns.
func TestCrowd(t *testing.T) {
	s := site(t, map[string]string{"/": `<button onclick="n.textContent = 1 + +n.textContent">More</button> <output id=n>0</output>`})
	h := newHouse(t)
	var wg sync.WaitGroup
	for i := range 4 {
		g := h.session(fmt.Sprint("crowd", i), local)
		wg.Go(func() {
			g.call("navigate", args{"url": s.URL})
			var calls sync.WaitGroup
			for range 4 {
				calls.Go(func() { g.call("click", args{"text": "More"}) })
			}
			calls.Wait()
			if text := g.text(args{}); !strings.HasSuffix(text, "4") {
				t.Errorf("four clicks gave %q", text)
			}
		})
	}
	wg.Wait()
}

func TestSettings(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<p>%s | %s</p><p id=p></p><script>p.textContent = innerWidth + 'x' + innerHeight + ' ' + navigator.language + ' ' + (1.5).toLocaleString() + ' ' + navigator.webdriver</script>`, r.UserAgent(), r.Header.Get("Accept-Language"))
	}))
	t.Cleanup(s.Close)
	g := newHouse(t).sessionWith("s", settings{"viewport": "900x500", "user_agent": "Testing/1.0", "locale": "de-DE"}, local)
	g.call("navigate", args{"url": s.URL})
	holds(t, g.text(args{}), "Testing/1.0", "de-DE", "900x500 de-DE 1,5")
	g.refused(tool.Denied, "navigate", args{"url": "http://10.0.0.1"}, "tools.modules.web.browse.constraints.private_hosts")
}

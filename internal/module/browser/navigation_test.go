package browser_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"callgate/tool"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for address, kind := range map[string]tool.Kind{
		"file:///etc/passwd": tool.Denied, "FILE:/etc/passwd": tool.Denied, "ftp://example.com/": tool.Denied,
		"chrome://version": tool.Denied, "chrome-extension://x/": tool.Denied, "devtools://devtools": tool.Denied,
		"view-source:http://127.0.0.1/": tool.Denied, "filesystem:http://a/": tool.Denied, "blob:http://a/b": tool.Denied,
		"data:text/html,hi": tool.Denied, "javascript:alert(1)": tool.Denied, "about:version": tool.Denied,
		"http://169.254.169.254/latest/meta-data/": tool.Denied, "http://10.0.0.1/": tool.Denied,
		"http://[::1]/": tool.Denied, "http://2130706433/": tool.Denied, "http://user@127.0.0.1/": tool.Denied,
		"two words": tool.Invalid, "/etc/passwd": tool.Invalid,
	} {
		s.refused(kind, "navigate", args{"url": address})
		s.refused(kind, "tabs", args{"action": "new", "url": address})
	}
}

// What the network does to a navigation is explained.
func TestNavigationErrors(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	nobody := free.Addr().String()
	check(t, free.Close())
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
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
	})
	for address, c := range map[string]struct {
		kind tool.Kind
		word string
	}{
		"http://" + nobody:             {tool.Failed, "nothing listens"},
		"https://" + nobody:            {tool.Failed, "nothing listens"},
		"http://no-such-host.invalid":  {tool.NotFound, "no host"},
		"https://no-such-host.invalid": {tool.NotFound, "no host"},
		secure.URL:                     {tool.Failed, "certificate"},
		web.URL + "/circle":            {tool.Failed, "circle"},
		web.URL + "/none":              {tool.Failed, "no page"},
		web.URL + "/private":           {tool.Denied, "10.1.2.3"},
	} {
		s.refused(c.kind, "navigate", args{"url": address}, c.word)
	}
	if _, err := s.try("navigate", args{"url": web.URL + "/break"}); err == nil {
		t.Error("a broken connection was taken for a page")
	}
	for path, status := range map[string]int{"/auth": 401, "/bad": 500} {
		r := s.call("navigate", args{"url": web.URL + path})
		if d := data[stateData](t, r); d.Status != status || !strings.Contains(r.Summary, fmt.Sprint(status)) {
			t.Errorf("%s: %s", r.Summary, r.Data)
		}
	}
	lacks(t, s.text(args{}), "Basic")
}

// A page that has not loaded in time can be used as far as it is there, and one that did
// not answer leaves the page before it.
func TestSlowPages(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
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
	})
	t.Cleanup(func() { close(release) })
	s := sharedModule(t).session("", settings{"timeout_seconds": 1.5}, local())
	r := s.call("navigate", args{"url": web.URL})
	if d := data[stateData](t, r); !d.Loading {
		t.Errorf("a page without its picture: %s", r.Data)
	}
	contains(t, s.text(args{}), "here already")
	s.refused(tool.Timeout, "navigate", args{"url": web.URL + "/never"}, "in time")
	contains(t, s.text(args{}), "here already")
}

func TestDialogs(t *testing.T) {
	t.Parallel()
	web := site(t, map[string]string{
		"/": `<button onclick="out.textContent = prompt('Your name?', 'Bob')">Ask</button>
			<button onclick="alert('Boo')">Warn</button><output id=out></output><input id=field>
			<script>onbeforeunload = e => { if (field.value) e.preventDefault() };
			for (let i = 0; i < 3; i++) setTimeout(() => alert('timer ' + i), 0)</script>`,
		"/next": `<p>next</p>`,
	})
	s := newSession(t)
	r := s.call("navigate", args{"url": web.URL})
	if d := data[stateData](t, r).Dialogs; len(d) != 3 || d[0].Message != "timer 0" {
		t.Errorf("as it loaded: %s", r.Data)
	}
	s.call("click", args{"text": "Warn"})
	s.call("click", args{"text": "Ask", "dialog": "accept"})
	contains(t, s.text(args{}), "Bob")
	s.call("click", args{"text": "Ask", "dialog": "accept", "dialog_text": "Ada"})
	contains(t, s.text(args{}), "Ada")
	s.call("click", args{"text": "Ask"})
	lacks(t, s.text(args{}), "Ada")
	s.call("type", args{"selector": "#field", "text": "unsaved"})
	s.refused(tool.Failed, "navigate", args{"url": web.URL + "/next"}, "confirm that it is left", "accept")
	s.call("navigate", args{"url": web.URL + "/next", "dialog": "accept"})
	contains(t, s.text(args{}), "next")
}

// A page that comes after the call that told of the last one is waited for, whether it comes before the next call or
// after it has begun.
func TestWaitingForAPage(t *testing.T) {
	t.Parallel()
	leave, arrived := make(chan struct{}), make(chan struct{}, 1)
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/leave":
			<-leave
		case "/arrived":
			arrived <- struct{}{}
		case "/next":
			fmt.Fprint(w, `<p>next page</p><script>fetch('/arrived')</script>`)
		default:
			fmt.Fprint(w, `<p>first page</p><script>fetch('/leave').then(() => location = '/next')</script>`)
		}
	})
	s := newSession(t)
	for _, early := range []bool{true, false} {
		s.call("navigate", args{"url": web.URL})
		leave <- struct{}{}
		if early {
			<-arrived
		}
		s.call("wait", args{"until": "navigation"})
		contains(t, s.text(args{}), "next page")
		if !early {
			<-arrived
		}
		s.refused(tool.Timeout, "wait", args{"until": "navigation", "timeout_seconds": 0.3}, "in vain", "/next")
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	web := site(t, map[string]string{
		"/": `<p id=p>loading</p><script>
			setTimeout(() => { p.textContent = 'ready now'; const d = document.createElement('div');
				d.className = 'late'; d.textContent = 'x'; document.body.append(d) }, 300);
			setTimeout(() => history.pushState(0, '', '/step'), 400);</script>`,
	})
	s := newSession(t)
	for _, a := range []args{
		{"text": "READY now"}, {"text_gone": "loading"}, {"selector": ".late"}, {"url": "/step"}, {"until": "idle"},
	} {
		s.call("navigate", args{"url": web.URL})
		s.call("wait", a)
	}
	began := time.Now()
	s.refused(tool.Timeout, "wait", args{"text": "never", "timeout_seconds": 0.3}, "in vain", "/step")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a wait of 0.3 s took %v", took)
	}
	s.refused(tool.Invalid, "wait", args{}, "one thing")
	s.refused(tool.Invalid, "wait", args{"text": "a", "url": "b"}, "one thing")
	s.refused(tool.Invalid, "wait", args{"selector": "[["}, "not a CSS selector")
}

// A page that hangs affects neither other tabs nor other sessions.
func TestHang(t *testing.T) {
	t.Parallel()
	web := site(t, map[string]string{
		"/hang": `<button onclick="for (;;);">Hang</button>`,
		"/ok":   `<p>fine</p><button>Fine</button>`,
	})
	f := sharedModule(t)
	s, other := f.session("", nil, local()), f.session("other", nil, local())
	other.call("navigate", args{"url": web.URL + "/ok"})

	hung := data[stateData](t, s.call("navigate", args{"url": web.URL + "/hang"})).Tab
	s.configure(settings{"timeout_seconds": 1}, local())
	s.refused(tool.InDoubt, "click", args{"text": "Hang"}, "does not answer", "web.browse.close")
	began := time.Now()
	s.refused(tool.Failed, "read", args{}, "does not answer")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a second call to a tab that hangs took %v", took)
	}
	s.configure(nil, local())
	contains(t, other.text(args{}), "fine")
	elsewhere := strings.Replace(web.URL, "127.0.0.1", "localhost", 1) // has a process of its own
	s.call("navigate", args{"url": elsewhere + "/ok", "new_tab": true})
	contains(t, s.text(args{}), "fine")
	s.call("close", args{"tab": hung})
	contains(t, s.text(args{}), "fine")
}

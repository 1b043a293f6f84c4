package browser_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"callgate/tool"
)

// Wherever a tab is led, the rules of the last call decide: by a redirect, a link, a form,
// a script or a window that a page opens. What a frame shows is not asked about.
func TestRulesDecideWhereATabGoes(t *testing.T) {
	t.Parallel()
	other := site(t, map[string]string{"/": "elsewhere", "/frame": "in a frame"})
	here := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, other.URL+"/?d=redirect", http.StatusFound)
		case "/script":
			_, _ = w.Write([]byte("<script>location='" + other.URL + "/?d=script'</script>"))
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<title>here</title><a href="` + other.URL + `/?d=link">away</a> <a href="/next">next</a>
				<form action="` + other.URL + `/" method="post"><button>send</button></form>
				<iframe src="` + other.URL + `/frame"></iframe>`))
		}
	})
	s := newSession(t)
	var mu sync.Mutex
	var hops []tool.Hop
	s.grant.Follow = func(_ context.Context, hop tool.Hop) error {
		mu.Lock()
		defer mu.Unlock()
		hops = append(hops, hop)
		if strings.HasPrefix(hop.URL, other.URL) {
			return tool.Errorf("gate.follow", tool.Denied, "%s was not requested: no rule lists it", hop.URL)
		}
		return nil
	}
	asked := func() []tool.Hop {
		mu.Lock()
		defer mu.Unlock()
		all := hops
		hops = nil
		return all
	}
	s.refused(tool.Denied, "navigate", args{"url": here.URL + "/redirect"}, other.URL+"/?d=redirect was not requested")
	if got := asked(); len(got) != 1 || got[0] != (tool.Hop{URL: other.URL + "/?d=redirect"}) {
		t.Errorf("a redirect was judged as %+v", got)
	}
	s.call("navigate", args{"url": here.URL + "/"})
	if got := asked(); len(got) != 0 {
		t.Errorf("the address of the call, or a frame, was judged again: %+v", got)
	}
	s.call("click", args{"text": "next"})
	if got := asked(); len(got) != 1 || got[0] != (tool.Hop{URL: here.URL + "/next", Tool: "navigate", From: here.URL + "/"}) {
		t.Errorf("a link was judged as %+v", got)
	}
	s.refused(tool.Denied, "click", args{"text": "away"}, other.URL+"/?d=link was not requested")
	s.call("navigate", args{"url": here.URL + "/"})
	s.refused(tool.Denied, "click", args{"text": "send"}, other.URL+"/ was not requested")
}

package browser_test

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	"callgate/tool"
)

// Sessions see nothing of each other.
func TestSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		who := r.FormValue("who")
		if who != "" {
			http.SetCookie(w, &http.Cookie{Name: "who", Value: who})
		}
		c, err := r.Cookie("who")
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<p>cookie %v %v</p><p id=p></p><script>if (%q) { localStorage.who = %[3]q }
			p.textContent = 'stored ' + localStorage.who</script>`, c, err, who)
	})
	f := sharedModule(t)
	ada, bob := f.session("ada", nil, local()), f.session("bob", nil, local())
	tab := data[stateData](t, ada.call("navigate", args{"url": web.URL + "/?who=ada"})).Tab
	bob.call("navigate", args{"url": web.URL + "/?who=bob"})
	for _, s := range []*session{ada, bob} {
		s.call("navigate", args{"url": web.URL})
		contains(t, s.text(args{}), "who="+path.Base(s.id), "stored "+path.Base(s.id))
	}
	bob.refused(tool.NotFound, "read", args{"tab": tab}, "there is no tab")
	bob.refused(tool.NotFound, "close", args{"tab": tab}, "there is no tab")
	lacks(t, string(bob.call("tabs", args{}).Data), tab)
	cleo := f.session("cleo", nil, local())
	cleo.call("navigate", args{"url": web.URL})
	contains(t, cleo.text(args{}), "named cookie not present", "stored undefined")

	f.opened.OnSessionEnd(ada.id)
	again := f.session("ada", nil, local())
	again.call("navigate", args{"url": web.URL})
	contains(t, again.text(args{}), "named cookie not present", "stored undefined")
	// The rules of one session do not apply to another.
	strict := f.session("strict", nil, nil)
	strict.refused(tool.Denied, "navigate", args{"url": web.URL}, "not public")
	contains(t, bob.text(args{}), "who=bob")
}

// Many sessions call at once, and the calls of each use its tab one after the other.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	web := site(t, map[string]string{
		"/": `<button onclick="n.textContent = 1 + +n.textContent">More</button> <output id=n>0</output>`,
	})
	f := sharedModule(t)
	var wg sync.WaitGroup
	for i := range 4 {
		s := f.session(fmt.Sprint(i), nil, local())
		wg.Go(func() {
			s.call("navigate", args{"url": web.URL})
			var calls sync.WaitGroup
			for range 4 {
				calls.Go(func() { s.call("click", args{"text": "More"}) })
			}
			calls.Wait()
			if text := s.text(args{}); !strings.HasSuffix(text, "4") {
				t.Errorf("four clicks gave %q", text)
			}
		})
	}
	wg.Wait()
}

func TestTabLimit(t *testing.T) {
	t.Parallel()
	web := site(t, map[string]string{
		"/":  `<button onclick="for (let i = 0; i < 10; i++) window.open('/p')">Many</button>`,
		"/p": `<p>popup</p>`,
	})
	s := sharedModule(t).session("", nil, local().with("max_tabs", 3))
	s.call("navigate", args{"url": web.URL})
	r := s.call("click", args{"text": "Many"})
	contains(t, r.Summary, "more tabs than are allowed")
	tabs := data[struct{ Tabs []struct{ Tab string } }](t, s.call("tabs", args{})).Tabs
	if len(tabs) != 3 {
		t.Fatalf("%d tabs are open", len(tabs))
	}
	s.refused(tool.Limited, "navigate", args{"url": web.URL, "new_tab": true}, "max_tabs")
	s.call("close", args{"tab": tabs[2].Tab})
	s.call("navigate", args{"url": web.URL, "new_tab": true})
	s.call("close", args{"all": true})
	s.refused(tool.NotFound, "read", args{}, "no page is open", "web.browse.navigate")
	s.refused(tool.NotFound, "read", args{"tab": tabs[0].Tab}, "there is no tab")
}

// What the app file sets reaches the page.
func TestSettingsOfAPage(t *testing.T) {
	t.Parallel()
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<p>%s | %s</p><p id=p></p><script>p.textContent = innerWidth + 'x' + innerHeight + ' ' +
			navigator.language + ' ' + (1.5).toLocaleString() + ' ' + navigator.webdriver</script>`,
			r.UserAgent(), r.Header.Get("Accept-Language"))
	})
	config := settings{"viewport": "900x500", "user_agent": "Testing/1.0", "locale": "de-DE"}
	s := sharedModule(t).session("", config, local())
	s.call("navigate", args{"url": web.URL})
	contains(t, s.text(args{}), "Testing/1.0", "de-DE", "900x500 de-DE 1,5")
	s.refused(tool.Denied, "navigate", args{"url": "http://10.0.0.1"},
		"tools.modules.web.browse.constraints.private_hosts")
}

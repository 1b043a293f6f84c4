package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

const hasWidgets = "tools: {modules: {filesystem: {}, widget: {}}, capabilities: {default_policy: auto}}\n"

// rendered makes a call that shows a widget.
func (s *site) rendered(name, html string) *tool.Result {
	s.Helper()
	args, err := json.Marshal(map[string]any{"html": html, "title": "Sales <b>", "height": 200})
	kerneltest.OK(s, err)
	if name == "execute_tool" {
		args = []byte(`{"name":"widget.render","params":` + string(args) + `}`)
	}
	got := s.call(name, string(args))
	if got.Status != tool.Success {
		s.Fatalf("%s: %s", name, got.Summary)
	}
	return got
}

// frame gets the page of a widget with its headers.
func (s *site) frame(call string) (page string, header http.Header) {
	s.Helper()
	r, err := s.server.Client().Get(s.server.URL + "/widgets/" + call)
	return s.read(r, err, http.StatusOK), r.Header
}

func TestAWidgetIsShownInAFrame(t *testing.T) {
	t.Parallel()
	s := open(t, folder(t, map[string]string{"callgate.yaml": hasWidgets, "a.txt": "<p>a file</p>"}))
	got := s.rendered("widget.render", `<p onclick="x()">12</p><script>y()</script><img src="https://x.test/">`)
	page := s.get("/calls/" + got.Call)
	s.wants(page, `<iframe class="widget" sandbox src="/widgets/`+got.Call+`" title="Sales &lt;b&gt;" height="200"`)
	if strings.Contains(page, "<p onclick") {
		t.Error("the page around it holds its text as it is")
	}
	shown, header := s.frame(got.Call)
	s.wants(shown, "<p>12</p><img>", "<title>Sales &lt;b&gt;</title>")
	if strings.Contains(shown, "script") || strings.Contains(shown, "x.test") {
		t.Errorf("the widget holds what acts:\n%s", shown)
	}
	policy := header.Get("Content-Security-Policy")
	for _, part := range []string{"sandbox;", "default-src 'none';", "frame-ancestors 'self'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("its policy has no %s: %s", part, policy)
		}
	}
	if strings.Contains(policy, "allow-") || strings.Contains(policy, "http") || header.Get("X-Frame-Options") != "SAMEORIGIN" {
		t.Errorf("its headers are %v", header)
	}
	around, err := s.server.Client().Get(s.server.URL + "/approvals")
	s.read(around, err, http.StatusOK)
	if policy := around.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("another page may be framed: %s", policy)
	}
	large := s.rendered("widget.render", "<p>"+strings.Repeat("large ", 8000)+"end</p>") // it is kept outside the journal
	shown, _ = s.frame(large.Call)
	s.wants(shown, "large end</p>")
	read := s.call("filesystem.read", `{"path":"a.txt"}`)
	refused := s.call("widget.render", `{"html":"<script>x</script>"}`)
	for _, call := range []string{read.Call, refused.Call, "nosuch", "..%2fapprovals"} {
		s.fails("/widgets/"+call, http.StatusNotFound)
	}
	if strings.Contains(s.get("/calls/"+refused.Call), "<iframe") {
		t.Error("a call that failed shows a frame")
	}
}

// What a human made of the arguments is what is shown.
func TestAnEditedWidget(t *testing.T) {
	t.Parallel()
	asks := strings.Replace(hasWidgets, "auto}", "auto, approve: [{module: widget}]}", 1)
	s := open(t, folder(t, map[string]string{"callgate.yaml": asks}))
	asked := s.waiting("widget.render", `{"html":"<p>first</p>"}`)
	s.fails("/widgets/"+asked.Call, http.StatusNotFound)
	s.post("/approvals/"+asked.Approval, url.Values{"action": {"edit"}, "arg.html": {"<p>second</p>"}})
	s.ended(asked.Call)
	shown, _ := s.frame(asked.Call)
	s.wants(shown, "<p>second</p>")
}

// chatting is a site whose agent shows a widget, by its name or through execute_tool.
func chatting(t *testing.T, call string) (s *site, conversation string) {
	t.Helper()
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{call}}, kerneltest.Answer{Text: "There."})
	injection := "direct"
	if strings.HasPrefix(call, "execute_tool") {
		injection = "discovery"
	}
	dir := folder(t, nil)
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+
		"}]\nruntime: {tool_injection: "+injection+"}\n"+hasWidgets)
	s = open(t, dir)
	s.post("/app/trust", url.Values{"shown": {hidden(s.get("/rules"), "shown")}})
	page := s.post("/conversations", url.Values{"text": {"show me"}})
	id := regexp.MustCompile(`action="/conversations/([^"]+)"`).FindStringSubmatch(page)[1]
	kerneltest.Eventually(t, func() bool {
		page := s.get("/conversations/" + id)
		return strings.Contains(page, "There.") && !strings.Contains(page, "data-live-part")
	})
	return s, id
}

const figures = `{"title":"Orders of the week","html":"<style>td { text-align: end }</style><h3>Orders</h3>` +
	`<table><tr><th>Mon</th><td>12</td></tr><tr><th>Tue</th><td>30</td></tr></table>` +
	`<svg viewBox='0 0 90 40' height='80'><rect x='5' y='20' width='20' height='20' fill='teal'/>` +
	`<rect x='35' y='5' width='20' height='35' fill='orange'/></svg>"}`

func TestAWidgetInAConversation(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]string{
		"by its name":          "widget__render " + figures,
		"through execute_tool": `execute_tool {"name":"widget.render","params":` + figures + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, id := chatting(t, call)
			page := s.get("/conversations/" + id)
			found := regexp.MustCompile(`<iframe class="widget" sandbox src="/widgets/([^"]+)" title="Orders of the week"`).
				FindStringSubmatch(page)
			if found == nil {
				t.Fatalf("no frame is shown:\n%s", plain(page))
			}
			shown, _ := s.frame(found[1])
			s.wants(shown, "<td>30</td>", `<rect x="35"`)
		})
	}
}

// A person looks at a widget, in the light and in the dark. Its text is in no page of the console.
func TestAWidgetAtABrowser(t *testing.T) {
	t.Parallel()
	s, id := chatting(t, "widget__render "+figures)
	b := browse(s)
	b.size(1100, 700, false)
	b.open("/conversations/" + id)
	b.do(seeing("iframe.widget"))
	b.sees("There.")
	inside, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.querySelector("iframe.widget").contentDocument === null`))
	kerneltest.OK(t, err)
	if !inside {
		t.Error("the page reaches into the frame: they have one origin")
	}
	b.capture("widget")
}

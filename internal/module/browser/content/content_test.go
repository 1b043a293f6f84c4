package content

import (
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/devtools/devtoolstest"
	"callgate/tool"
)

// nodes is the accessibility tree of a page with two links of one name and a button.
const nodes = `{"nodes":[
	{"nodeId":"1","role":{"value":"RootWebArea"},"childIds":["2","3","4"],"backendDOMNodeId":1},
	{"nodeId":"2","parentId":"1","role":{"value":"link"},"name":{"value":"Edit"},"backendDOMNodeId":2},
	{"nodeId":"3","parentId":"1","role":{"value":"link"},"name":{"value":"Edit"},"backendDOMNodeId":3},
	{"nodeId":"4","parentId":"1","role":{"value":"button"},"name":{"value":"Save"},"backendDOMNodeId":4}
]}`

// fakePage replies as a page with one document. Scripts return what the test sets.
type fakePage struct {
	mu       sync.Mutex
	script   string // the result of a script, as JSON
	resolved string // the reply to DOM.resolveNode; "": the element is gone
}

func (p *fakePage) reply(m *cdproto.Message) []*cdproto.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "Page.getFrameTree":
		frame := `{"id":"main","loaderId":"L","url":"http://x/"}`
		return []*cdproto.Message{devtoolstest.Reply(m, `{"frameTree":{"frame":`+frame+`}}`)}
	case "Page.createIsolatedWorld":
		return []*cdproto.Message{devtoolstest.Reply(m, `{"executionContextId":7}`)}
	case "Accessibility.getFullAXTree":
		return []*cdproto.Message{devtoolstest.Reply(m, nodes)}
	case "DOM.resolveNode":
		if p.resolved == "" {
			return []*cdproto.Message{devtoolstest.Refuse(m, "no node with that id")}
		}
		return []*cdproto.Message{devtoolstest.Reply(m, p.resolved)}
	case "Runtime.callFunctionOn":
		return []*cdproto.Message{devtoolstest.Reply(m, p.script)}
	default:
		return []*cdproto.Message{devtoolstest.Reply(m, `{}`)}
	}
}

func open(t testing.TB) (*Content, *fakePage) {
	t.Helper()
	p := &fakePage{
		script: `{"result":{"type":"object","objectId":"O"}}`, resolved: `{"object":{"type":"object","objectId":"O"}}`,
	}
	conn := devtools.Open(devtoolstest.New(p.reply))
	t.Cleanup(conn.Close)
	return New(conn.Session("S"), "main"), p
}

func TestFindByText(t *testing.T) {
	c, p := open(t)
	el, err := c.Find(t.Context(), Target{Text: "save"}, nil)
	if err != nil || el.What != `button "Save"` {
		t.Errorf("found %+v, %v", el, err)
	}
	for text, want := range map[string]struct {
		kind tool.Kind
		word string
	}{
		"Edit": {tool.Ambiguous, `e1: link "Edit"; e2: link "Edit"`}, "Nothing": {tool.NotFound, "web.browse.read"},
	} {
		_, err := c.Find(t.Context(), Target{Text: text}, nil)
		if tool.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.word) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p.resolved = ""
	if _, err := c.Find(t.Context(), Target{Text: "Save"}, nil); tool.KindOf(err) != tool.NotFound {
		t.Errorf("an element that was removed: %v", err)
	}
}

// A reference holds until the document is left or the element removed.
func TestFindByReference(t *testing.T) {
	c, p := open(t)
	root, refer, err := c.Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ref := refer(root.Find("Save", nil)[0])
	for _, form := range []string{ref, "[" + ref + "]", " " + ref + " "} {
		if el, err := c.Find(t.Context(), Target{Ref: form}, nil); err != nil || el.What != `button "Save"` {
			t.Errorf("%q is %+v, %v", form, el, err)
		}
	}
	gone := func(why string) {
		t.Helper()
		_, err := c.Find(t.Context(), Target{Ref: ref}, nil)
		if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "out of date") {
			t.Errorf("%s: %v", why, err)
		}
	}
	p.resolved = ""
	gone("an element that was removed")
	p.resolved = `{"object":{"type":"object","objectId":"O"}}`
	c.Reset("main")
	gone("a document that was left")
	if late := refer(root.Find("Save", nil)[0]); late == ref {
		t.Error("a reference was used twice")
	}
}

func TestShows(t *testing.T) {
	c, p := open(t)
	for script, want := range map[string]bool{
		`{"result":{"type":"boolean","value":true}}`: true, `{"result":{"type":"boolean","value":false}}`: false,
	} {
		p.script = script
		if got, err := c.Shows(t.Context(), "text", ""); got != want || err != nil {
			t.Errorf("the page shows the text: %v, %v; want %v", got, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	c, p := open(t)
	p.script = `{"result":{"type":"object","value":{"html":"<p>hi</p>","title":"T","cut":true}}}`
	text, err := c.Read(t.Context())
	if want := (Text{HTML: "<p>hi</p>", Title: "T", URL: "http://x/", Cut: true}); err != nil || text != want {
		t.Errorf("read %+v, %v", text, err)
	}
}

func TestFramesOfATab(t *testing.T) {
	c, _ := open(t)
	c.AddFrame("child")
	for range 2 * maxSeen {
		c.AddFrame("many")
	}
	c.AttachFrame(c.frames.session, "far")
	for frame, want := range map[cdp.FrameID]bool{"main": true, "child": true, "many": true, "stranger": false} {
		if c.HasFrame(frame) != want {
			t.Errorf("the tab has the frame %s: %v", frame, !want)
		}
	}
	if n := len(c.frames.seen); n > maxSeen {
		t.Errorf("%d frames are remembered", n)
	}
	c.DetachFrame(c.frames.session.ID)
	if len(c.frames.children) != 0 {
		t.Error("a frame whose session ended is kept")
	}
	c.Reset("next")
	if c.HasFrame("main") || c.HasFrame("child") || !c.HasFrame("next") {
		t.Error("the frames of a document that was left are kept")
	}
}

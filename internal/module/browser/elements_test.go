package browser_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/tool"
)

// site serves pages by their paths.
func site(t testing.TB, pages map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>"+strings.TrimPrefix(r.URL.Path, "/")+"</title>"+body)
	}))
	t.Cleanup(s.Close)
	return s
}

// on opens a page of its own for a test.
func on(t testing.TB, body string) *ground {
	t.Helper()
	g := newGround(t)
	g.call("navigate", args{"url": site(t, map[string]string{"/": body}).URL})
	return g
}

func TestClickWaitsUntilItCan(t *testing.T) {
	g := on(t, `<style>@keyframes slide{from{margin-left:0}to{margin-left:400px}} #moving{animation:slide .6s linear}</style>
		<button id=late disabled onclick="say('late')">Late</button>
		<button id=moving onclick="say('moving')">Moving</button>
		<div style="height:3000px"></div>
		<button id=far onclick="say('far')">Far</button>
		<button id=hidden style="visibility:hidden" onclick="say('hidden')">Hidden</button>
		<div style="position:relative"><button id=under onclick="say('under')">Under</button><div id=veil style="position:absolute;inset:0;background:#fff8">Veil</div></div>
		<output></output>
		<script>function say(s) { document.querySelector('output').textContent += s + ' ' }
		setTimeout(() => late.disabled = false, 700); setTimeout(() => veil.remove(), 1200);</script>`)
	for _, id := range []string{"moving", "late", "far", "under"} {
		g.call("click", args{"selector": "#" + id})
	}
	if said := g.text(args{}); !strings.HasSuffix(said, "moving late far under") {
		t.Errorf("the page says %q", said)
	}
	g.refused(tool.Failed, "click", args{"selector": "#hidden"}, "not visible")
}

func TestWhatIsInTheWayIsNamed(t *testing.T) {
	g := on(t, `<button disabled>Never</button>
		<div style="position:relative;width:200px;height:50px"><button>Under</button><div id=banner style="position:absolute;inset:0;background:#eee">Cookies?</div></div>`)
	g.refused(tool.Failed, "click", args{"text": "Never"}, "disabled")
	g.refused(tool.Failed, "click", args{"text": "Under"}, "covered by", "banner", "Cookies?")
}

func TestPointing(t *testing.T) {
	g := on(t, `<a href="#1">Edit</a> <a href="#2">Edit</a> <button>Only one</button> <div onclick="this.textContent='clicked'">Plain text</div>
		<p class=x>one</p><p class=x onclick="1">two</p>`)
	g.refused(tool.Ambiguous, "click", args{"text": "Edit"}, "2 things", "e")
	g.refused(tool.NotFound, "click", args{"text": "Nowhere"}, "web.browse.read")
	g.refused(tool.NotFound, "click", args{"selector": "#nowhere"}, "#nowhere")
	g.refused(tool.Invalid, "click", args{"selector": "a[["}, "not a CSS selector")
	g.refused(tool.Invalid, "click", args{}, "one of them")
	g.refused(tool.Invalid, "click", args{"text": "a", "selector": "b"}, "one of them")
	g.refused(tool.NotFound, "click", args{"ref": "e99"}, "out of date", "read the page again")
	g.call("click", args{"text": "only ONE"})
	g.call("click", args{"text": "Plain text"})
	holds(t, g.text(args{}), "clicked")
	if r := g.call("click", args{"selector": ".x"}); len(r.Warnings) == 0 || !strings.Contains(strings.Join(r.Warnings, " "), "2 elements") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestReferences(t *testing.T) {
	s := site(t, map[string]string{"/": `<button id=b onclick="this.remove()">Goes</button><button>Stays</button><a href="/next">Next</a>`, "/next": `<button>Other</button>`})
	g := newGround(t)
	g.call("navigate", args{"url": s.URL})
	first := g.tree()
	goes, stays := ref(t, first, "Goes"), ref(t, first, "Stays")
	g.call("click", args{"ref": goes})
	g.refused(tool.NotFound, "click", args{"ref": goes}, "out of date")
	if again := g.tree(); ref(t, again, "Stays") != stays {
		t.Errorf("an element changed its reference:\n%s\n%s", first, again)
	}
	g.call("click", args{"ref": stays})
	g.call("click", args{"text": "Next"})
	g.refused(tool.NotFound, "click", args{"ref": stays}, "out of date")
	if other := ref(t, g.tree(), "Other"); other == goes || other == stays {
		t.Errorf("the reference %s was given twice", other)
	}
}

func TestTyping(t *testing.T) {
	g := on(t, `<label>Name <input id=name value="old"></label><label>Notes <textarea id=notes></textarea></label>
		<label>Day <input type=date id=day></label><label>Size <input type=range id=size max=10></label>
		<div id=rich contenteditable>start</div><input id=fixed readonly value=x><input type=checkbox id=box><input id=short maxlength=3>
		<input id=events><output id=log></output><label>Secret<input type=password id=secret></label>
		<script>for (const e of ['keydown', 'keypress', 'input', 'keyup']) events.addEventListener(e, ev => log.textContent += e + (ev.key || '') + (ev.isTrusted ? '! ' : '? '));</script>`)
	g.call("type", args{"label": "Name", "text": "new"})
	g.call("type", args{"selector": "#name", "text": "er", "clear": false})
	g.call("type", args{"label": "Notes", "text": "one\ntwo\n\nfour 漢字 🙂"})
	g.call("type", args{"label": "Day", "text": "2026-07-28"})
	g.call("type", args{"selector": "#size", "text": "7"})
	g.call("type", args{"selector": "#rich", "text": "afresh"})
	g.call("type", args{"selector": "#events", "text": "aB"})
	g.call("type", args{"selector": "#secret", "text": "hush"})
	tree := g.tree()
	holds(t, tree, `"newer"`, "four 漢字 🙂", "2026-07-28", `slider "Size" [`, `value="7"`, "afresh",
		"keydowna! keypressa! input! keyupa!", "keydownB! keypressB!")
	lacks(t, tree, "start", "hush")
	g.refused(tool.Invalid, "type", args{"label": "Name", "text": "a\nb"}, "one line")
	g.refused(tool.Invalid, "type", args{"label": "Day", "text": "tomorrow"}, "2026-07-28")
	g.refused(tool.Failed, "type", args{"selector": "#fixed", "text": "a"}, "cannot be changed")
	g.refused(tool.Invalid, "type", args{"selector": "#box", "text": "a"}, "web.browse.click")
	g.refused(tool.Invalid, "type", args{"selector": "output", "text": "a"}, "not a text field")
	g.refused(tool.Invalid, "type", args{"selector": "#name"}, "nothing to type")
	g.refused(tool.Invalid, "type", args{"keys": []string{"Nokey"}}, "no key")
	if r := g.call("type", args{"selector": "#short", "text": "abcdef"}); len(r.Warnings) == 0 {
		t.Error("a field that took half of the text was not told")
	}
	long := strings.Repeat("all work and no play. ", 500)
	g.call("type", args{"selector": "#notes", "text": long})
	g.call("type", args{"selector": "#name", "keys": []string{"Control+A", "Delete"}})
	lacks(t, g.tree(), `"newer"`)
}

func TestFramesOfOtherSites(t *testing.T) {
	inner := site(t, map[string]string{"/": `<h2>Inside</h2><button onclick="this.textContent='Thanks'">Vote</button><label>City <input></label>`})
	other := strings.Replace(inner.URL, "127.0.0.1", "localhost", 1)
	g := on(t, `<h1>Outside</h1><div style="height:700px"></div><p>space</p><iframe src="`+other+`" style="border:7px solid;padding:5px;height:300px"></iframe>`)
	g.call("wait", args{"text": "Inside"})
	tree := g.tree()
	holds(t, tree, `heading "Outside"`, "- frame", `  - heading "Inside"`)
	g.call("click", args{"ref": ref(t, tree, "Vote")})
	g.call("type", args{"label": "City", "text": "Ghent"})
	holds(t, g.tree(), `button "Thanks"`, `"Ghent"`)
	holds(t, g.text(args{}), "In a frame, from "+other, "Inside")
	if r := g.call("screenshot", args{"selector": "button"}); len(r.Content) != 1 {
		t.Errorf("no picture: %s", r.Summary)
	}
}

func TestShadowTrees(t *testing.T) {
	g := on(t, `<my-card><b slot=title>Given</b></my-card><script>
		customElements.define('my-card', class extends HTMLElement { connectedCallback() {
			this.attachShadow({mode: 'open'}).innerHTML = '<h2>Card: <slot name=title></slot></h2><button class=in>Press</button><p hidden>not shown</p>';
			this.shadowRoot.querySelector('button').onclick = e => e.target.textContent = 'Pressed'; } });</script>`)
	holds(t, g.text(args{}), "## Card: **Given**", "Press")
	lacks(t, g.text(args{}), "not shown")
	g.call("click", args{"selector": "button.in"})
	holds(t, g.tree(), `button "Pressed"`)

	g = on(t, `<x-y></x-y><script>document.querySelector('x-y').attachShadow({mode: 'closed'}).innerHTML = '<button onclick="this.textContent=1+1">Closed</button>'</script>`)
	g.call("click", args{"ref": ref(t, g.tree(), "Closed")})
	holds(t, g.tree(), `button "2"`)
}

func TestReadPages(t *testing.T) {
	g := on(t, `<body><script>for (let i = 0; i < 4000; i++) { const p = document.createElement('p'); p.textContent = 'Paragraph ' + i + ' é漢'; document.body.append(p) }</script>`)
	type readData struct {
		Truncated  bool
		NextOffset int `json:"next_offset"`
		Characters int
		Total      int `json:"total_characters"`
	}
	var all strings.Builder
	for offset, n := 0, 0; ; n++ {
		r := g.call("read", args{"offset": offset, "limit": 20000})
		if len(r.Content[0].Text) > 48<<10 {
			t.Errorf("a part has %d bytes", len(r.Content[0].Text))
		}
		_, part, _ := strings.Cut(r.Content[0].Text, "\n\n")
		all.WriteString(part)
		d := data[readData](t, r)
		if !d.Truncated {
			if n < 3 || !strings.HasSuffix(all.String(), "Paragraph 3999 é漢") || strings.Count(all.String(), "Paragraph") != 4000 {
				t.Errorf("%d parts, %d paragraphs", n+1, strings.Count(all.String(), "Paragraph"))
			}
			break
		}
		offset = d.NextOffset
	}
	g.refused(tool.Invalid, "read", args{"offset": 10_000_000}, "past the end")
}

func TestScreenshots(t *testing.T) {
	g := on(t, `<body style="margin:0"><div id=box style="width:100px;height:60px;background:red;margin:2000px 0 0 50px"></div><div style="height:9000px"></div>`)
	size := func(a args) (int, int, *tool.Result) {
		t.Helper()
		r := g.call("screenshot", a)
		c := r.Content[0]
		if c.MIME == "image/jpeg" {
			m, err := jpeg.DecodeConfig(bytes.NewReader(c.Data))
			check(t, err)
			return m.Width, m.Height, r
		}
		m, err := png.DecodeConfig(bytes.NewReader(c.Data))
		check(t, err)
		return m.Width, m.Height, r
	}
	if w, h, _ := size(args{}); w != 1280 || h != 800 {
		t.Errorf("the window: %dx%d", w, h)
	}
	if w, h, _ := size(args{"format": "jpeg"}); w != 1280 || h != 800 {
		t.Errorf("as jpeg: %dx%d", w, h)
	}
	w, h, r := size(args{"selector": "#box"})
	if w != 100 || h != 60 {
		t.Errorf("the element: %dx%d", w, h)
	}
	img, err := png.Decode(bytes.NewReader(r.Content[0].Data))
	check(t, err)
	for _, at := range [][2]int{{0, 0}, {99, 59}} {
		if red, green, _, _ := img.At(at[0], at[1]).RGBA(); red>>8 != 255 || green != 0 {
			t.Errorf("the picture of the element is not of it: at %v %v", at, img.At(at[0], at[1]))
		}
	}
	if w, h, r := size(args{"full_page": true}); w != 1280 && h > 8000 || len(r.Warnings) == 0 {
		t.Errorf("the page: %dx%d %v", w, h, r.Warnings)
	}
	g.refused(tool.Invalid, "screenshot", args{"selector": "#box", "full_page": true}, "one of them")
}

func TestWaiting(t *testing.T) {
	s := site(t, map[string]string{"/": `<p id=p>loading</p><script>setTimeout(() => { p.textContent = 'ready now'; const d = document.createElement('div'); d.className = 'late'; d.textContent = 'x'; document.body.append(d) }, 300);
		setTimeout(() => history.pushState(0, '', '/step'), 400); if (location.hash) setTimeout(() => location = '/next', 500);</script>`, "/next": `<p>next page</p>`})
	g := newGround(t)
	for _, a := range []args{{"text": "READY now"}, {"text_gone": "loading"}, {"selector": ".late"}, {"url": "/step"}, {"until": "idle"}} {
		g.call("navigate", args{"url": s.URL})
		g.call("wait", a)
	}
	g.call("navigate", args{"url": s.URL + "/#go"})
	g.call("wait", args{"until": "navigation"})
	holds(t, g.text(args{}), "next page")
	began := time.Now()
	g.refused(tool.Timeout, "wait", args{"text": "never", "timeout_seconds": 0.3}, "in vain", "/next")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a wait of 0.3 s took %v", took)
	}
	g.refused(tool.Invalid, "wait", args{}, "one thing")
	g.refused(tool.Invalid, "wait", args{"text": "a", "url": "b"}, "one thing")
	g.refused(tool.Invalid, "wait", args{"selector": "[["}, "not a CSS selector")
}

func TestUpload(t *testing.T) {
	g, s := newGround(t), shop(t)
	check(t, os.WriteFile(filepath.Join(g.dir, "letter.txt"), []byte("Dear all"), 0o600))
	check(t, os.Symlink("/etc/hostname", filepath.Join(g.dir, "leads-out")))
	g.call("navigate", args{"url": s.URL + "/upload"})
	field := args{"selector": "input[type=file]"}
	with := func(files ...string) args { return args{"selector": field["selector"], "files": files} }
	g.refused(tool.Denied, "type", with("../x"), "outside")
	g.refused(tool.Denied, "type", with("leads-out"), "outside")
	g.refused(tool.NotFound, "type", with("none.txt"), "none.txt")
	g.refused(tool.Invalid, "type", args{"selector": "input[type=file]", "text": "letter.txt"}, "files")
	g.refused(tool.Invalid, "type", args{"selector": "button", "files": []string{"letter.txt"}}, "does not take files")
	holds(t, g.call("click", field).Summary, "asks for a file")
	g.call("type", with("letter.txt"))
	g.call("click", args{"text": "Send"})
	holds(t, g.text(args{}), "Got letter.txt: Dear all")
}

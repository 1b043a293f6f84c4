package browser_test

import (
	"bytes"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"callgate/tool"
)

func TestClickWaitsUntilItCan(t *testing.T) {
	t.Parallel()
	s := on(t, `<style>@keyframes slide{from{margin-left:0}to{margin-left:400px}}
		#moving{animation:slide .6s linear} #veil{position:absolute;inset:0;background:#fff8}</style>
		<button id=late disabled onclick="say('late')">Late</button>
		<button id=moving onclick="say('moving')">Moving</button>
		<div style="height:3000px"></div>
		<button id=far onclick="say('far')">Far</button>
		<div style="position:relative"><button id=under onclick="say('under')">Under</button><div id=veil>Veil</div></div>
		<output></output>
		<script>function say(s) { document.querySelector('output').textContent += s + ' ' }
		setTimeout(() => late.disabled = false, 700); setTimeout(() => veil.remove(), 1200);</script>`)
	for _, id := range []string{"moving", "late", "far", "under"} {
		s.call("click", args{"selector": "#" + id})
	}
	if said := s.text(args{}); !strings.HasSuffix(said, "moving late far under") {
		t.Errorf("the page says %q", said)
	}
}

// The error says why an element cannot be clicked. Each case waits until the time for the
// element is over.
func TestWhatIsInTheWayIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		words []string
	}{
		"disabled": {`<button id=b disabled>Never</button>`, []string{"disabled"}},
		"hidden":   {`<button id=b style="visibility:hidden">Hidden</button>`, []string{"not visible"}},
		"covered": {`<style>#banner{position:absolute;inset:0;background:#eee}</style>
			<div style="position:relative;width:200px;height:50px"><button id=b>Under</button>
			<div id=banner>Cookies?</div></div>`, []string{"covered by", "banner", "Cookies?"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on(t, c.body).refused(tool.Failed, "click", args{"selector": "#b"}, c.words...)
		})
	}
}

func TestPointing(t *testing.T) {
	t.Parallel()
	s := on(t, `<a href="#1">Edit</a> <a href="#2">Edit</a> <button>Only one</button>
		<div onclick="this.textContent='clicked'">Plain text</div>
		<p class=x>one</p><p class=x onclick="1">two</p>`)
	s.refused(tool.Ambiguous, "click", args{"text": "Edit"}, "2 things", "e")
	s.refused(tool.NotFound, "click", args{"text": "Nowhere"}, "web.browse.read")
	s.refused(tool.NotFound, "click", args{"selector": "#nowhere"}, "#nowhere")
	s.refused(tool.Invalid, "click", args{"selector": "a[["}, "not a CSS selector")
	s.refused(tool.Invalid, "click", args{}, "one of them")
	s.refused(tool.Invalid, "click", args{"text": "a", "selector": "b"}, "one of them")
	s.refused(tool.NotFound, "click", args{"ref": "e99"}, "out of date", "read the page again")
	s.call("click", args{"text": "only ONE"})
	s.call("click", args{"text": "Plain text"})
	contains(t, s.text(args{}), "clicked")
	contains(t, strings.Join(s.call("click", args{"selector": ".x"}).Warnings, " "), "2 elements")
}

func TestReferences(t *testing.T) {
	t.Parallel()
	web := site(t, map[string]string{
		"/":     `<button id=b onclick="this.remove()">Goes</button><button>Stays</button><a href="/next">Next</a>`,
		"/next": `<button>Other</button>`,
	})
	s := newSession(t)
	s.call("navigate", args{"url": web.URL})
	first := s.tree()
	goes, stays := ref(t, first, "Goes"), ref(t, first, "Stays")
	s.call("click", args{"ref": goes})
	s.refused(tool.NotFound, "click", args{"ref": goes}, "out of date")
	if again := s.tree(); ref(t, again, "Stays") != stays {
		t.Errorf("an element changed its reference:\n%s\n%s", first, again)
	}
	s.call("click", args{"ref": stays})
	s.call("click", args{"text": "Next"})
	s.refused(tool.NotFound, "click", args{"ref": stays}, "out of date")
	if other := ref(t, s.tree(), "Other"); other == goes || other == stays {
		t.Errorf("the reference %s was given twice", other)
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	s := on(t, `<label>Name <input id=name value="old"></label><label>Notes <textarea id=notes></textarea></label>
		<label>Day <input type=date id=day></label><label>Size <input type=range id=size max=10></label>
		<div id=rich contenteditable>start</div><input id=fixed readonly value=x>
		<input type=checkbox id=box><input id=short maxlength=3>
		<input id=events><output id=log></output><label>Secret<input type=password id=secret></label>
		<script>for (const e of ['keydown', 'keypress', 'input', 'keyup'])
			events.addEventListener(e, ev => log.textContent += e + (ev.key || '') + (ev.isTrusted ? '! ' : '? '));</script>`)
	s.call("type", args{"label": "Name", "text": "new"})
	s.call("type", args{"selector": "#name", "text": "er", "clear": false})
	s.call("type", args{"label": "Notes", "text": "one\ntwo\n\nfour 漢字 🙂"})
	s.call("type", args{"label": "Day", "text": "2026-07-28"})
	s.call("type", args{"selector": "#size", "text": "7"})
	s.call("type", args{"selector": "#rich", "text": "afresh"})
	s.call("type", args{"selector": "#events", "text": "aB"})
	s.call("type", args{"selector": "#secret", "text": "hush"})
	tree := s.tree()
	contains(t, tree, `"newer"`, "four 漢字 🙂", "2026-07-28", `slider "Size" [`, `value="7"`, "afresh",
		"keydowna! keypressa! input! keyupa!", "keydownB! keypressB!")
	lacks(t, tree, "start", "hush")
	s.refused(tool.Invalid, "type", args{"label": "Name", "text": "a\nb"}, "one line")
	s.refused(tool.Invalid, "type", args{"label": "Day", "text": "tomorrow"}, "2026-07-28")
	s.refused(tool.Failed, "type", args{"selector": "#fixed", "text": "a"}, "cannot be changed")
	s.refused(tool.Invalid, "type", args{"selector": "#box", "text": "a"}, "web.browse.click")
	s.refused(tool.Invalid, "type", args{"selector": "output", "text": "a"}, "not a text field")
	s.refused(tool.Invalid, "type", args{"selector": "#name"}, "nothing to type")
	s.refused(tool.Invalid, "type", args{"keys": []string{"Nokey"}}, "no key")
	if r := s.call("type", args{"selector": "#short", "text": "abcdef"}); len(r.Warnings) == 0 {
		t.Error("there is no warning for a field that holds half of the text")
	}
	long := strings.Repeat("all work and no play. ", 500)
	s.call("type", args{"selector": "#notes", "text": long})
	s.call("type", args{"selector": "#name", "keys": []string{"Control+A", "Delete"}})
	lacks(t, s.tree(), `"newer"`)
}

func TestFramesOfOtherSites(t *testing.T) {
	t.Parallel()
	inner := site(t, map[string]string{
		"/": `<h2>Inside</h2><button onclick="this.textContent='Thanks'">Vote</button><label>City <input></label>`,
	})
	other := strings.Replace(inner.URL, "127.0.0.1", "localhost", 1)
	s := on(t, `<h1>Outside</h1><div style="height:700px"></div><p>space</p>
		<iframe src="`+other+`" style="border:7px solid;padding:5px;height:300px"></iframe>`)
	s.call("wait", args{"text": "Inside"})
	tree := s.tree()
	contains(t, tree, `heading "Outside"`, "- frame", `  - heading "Inside"`)
	s.call("click", args{"ref": ref(t, tree, "Vote")})
	s.call("type", args{"label": "City", "text": "Ghent"})
	contains(t, s.tree(), `button "Thanks"`, `"Ghent"`)
	contains(t, s.text(args{}), "In a frame, from "+other, "Inside")
	if r := s.call("screenshot", args{"selector": "button"}); len(r.Content) != 1 {
		t.Errorf("no picture: %s", r.Summary)
	}
}

func TestShadowTrees(t *testing.T) {
	t.Parallel()
	s := on(t, `<my-card><b slot=title>Given</b></my-card><script>
		customElements.define('my-card', class extends HTMLElement { connectedCallback() {
			this.attachShadow({mode: 'open'}).innerHTML = '<h2>Card: <slot name=title></slot></h2>' +
				'<button class=in>Press</button><p hidden>not shown</p>';
			this.shadowRoot.querySelector('button').onclick = e => e.target.textContent = 'Pressed'; } });</script>`)
	contains(t, s.text(args{}), "## Card: **Given**", "Press")
	lacks(t, s.text(args{}), "not shown")
	s.call("click", args{"selector": "button.in"})
	contains(t, s.tree(), `button "Pressed"`)

	s = on(t, `<x-y></x-y><script>document.querySelector('x-y').attachShadow({mode: 'closed'}).innerHTML =
		'<button onclick="this.textContent=1+1">Closed</button>'</script>`)
	s.call("click", args{"ref": ref(t, s.tree(), "Closed")})
	contains(t, s.tree(), `button "2"`)
}

func TestReadPages(t *testing.T) {
	t.Parallel()
	s := on(t, `<body><script>for (let i = 0; i < 4000; i++) { const p = document.createElement('p');
		p.textContent = 'Paragraph ' + i + ' é漢'; document.body.append(p) }</script>`)
	type readData struct {
		Truncated  bool
		NextOffset int `json:"next_offset"`
		Characters int
		Total      int `json:"total_characters"`
	}
	var all strings.Builder
	for offset, n := 0, 0; ; n++ {
		r := s.call("read", args{"offset": offset, "limit": 20000})
		if len(r.Content[0].Text) > 48<<10 {
			t.Errorf("a part has %d bytes", len(r.Content[0].Text))
		}
		_, part, _ := strings.Cut(r.Content[0].Text, "\n\n")
		all.WriteString(part)
		d := data[readData](t, r)
		if !d.Truncated {
			paragraphs := strings.Count(all.String(), "Paragraph")
			if n < 3 || !strings.HasSuffix(all.String(), "Paragraph 3999 é漢") || paragraphs != 4000 {
				t.Errorf("%d parts, %d paragraphs", n+1, paragraphs)
			}
			break
		}
		offset = d.NextOffset
	}
	s.refused(tool.Invalid, "read", args{"offset": 10_000_000}, "past the end")
}

func TestScreenshots(t *testing.T) {
	t.Parallel()
	s := on(t, `<style>body{margin:0} #box{width:100px;height:60px;background:red;margin:2000px 0 0 50px}</style>
		<div id=box></div><div style="height:9000px"></div>`)
	size := func(a args) (int, int, *tool.Result) {
		t.Helper()
		r := s.call("screenshot", a)
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
	s.refused(tool.Invalid, "screenshot", args{"selector": "#box", "full_page": true}, "one of them")
}

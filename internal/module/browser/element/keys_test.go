package element

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/input"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/devtools/devtoolstest"
	"callgate/tool"
)

func TestKeyNames(t *testing.T) {
	for name, want := range map[string]bool{
		"Enter": true, "enter": true, "Escape": true, "ArrowDown": true, "PageDown": true, "F5": true, "a": true,
		"Space": true, "+": true, "é": false, "Nokey": false, "": false,
	} {
		if _, ok := keyNamed(name); ok != want {
			t.Errorf("the key %q is known: %v, want %v", name, ok, want)
		}
	}
}

// recorder is a page that records the commands it gets.
type recorder struct {
	*devtools.Session
	mu       sync.Mutex
	commands []*cdproto.Message
}

func newRecorder(t testing.TB, result func(m *cdproto.Message) string) *recorder {
	t.Helper()
	r := &recorder{}
	conn := devtools.Open(devtoolstest.New(func(m *cdproto.Message) []*cdproto.Message {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.commands = append(r.commands, m)
		return []*cdproto.Message{devtoolstest.Reply(m, result(m))}
	}))
	t.Cleanup(conn.Close)
	r.Session = conn.Session("S")
	return r
}

// events lists the key events that the page got, each as its type, its key and its
// modifiers.
func (r *recorder) events(t testing.TB) string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, m := range r.commands {
		if m.Method == "Input.insertText" {
			var p input.InsertTextParams
			if err := json.Unmarshal(m.Params, &p); err != nil {
				t.Fatal(err)
			}
			all = append(all, "insert:"+p.Text)
			continue
		}
		var p struct {
			Type, Key string
			Modifiers int
			Commands  []string
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Join(append([]string{p.Type, p.Key, strings.Repeat("*", p.Modifiers)}, p.Commands...), ":"))
	}
	return strings.Join(all, " ")
}

func empty(*cdproto.Message) string { return "{}" }

func TestPress(t *testing.T) {
	for name, want := range map[string]string{
		"Escape":    "keyDown:Escape: keyUp:Escape:",
		"a":         "keyDown:a: char:a: keyUp:a:",
		"Control+c": "keyDown:c:** keyUp:c:**",
		"ctrl+A":    "keyDown:A:**********:selectAll keyUp:A:**********",
		"Shift+a":   "keyDown:a:******** char:a:******** keyUp:a:********",
		"Alt++":     "keyDown:+:********* keyUp:+:*********",
		"+":         "keyDown:+:******** char:+:******** keyUp:+:********",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(t, empty)
			if err := Press(t.Context(), r.Session, []string{name}); err != nil {
				t.Fatal(err)
			}
			if got := r.events(t); got != want {
				t.Errorf("the events are %q, want %q", got, want)
			}
		})
	}
	for _, name := range []string{"Nokey", "Hyper+a", "Control+Nokey", "", "Control+"} {
		r := newRecorder(t, empty)
		if err := Press(t.Context(), r.Session, []string{name}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("the key %q: %v", name, err)
		}
		if got := r.events(t); got != "" {
			t.Errorf("the key %q sent %q", name, got)
		}
	}
}

func TestTypeText(t *testing.T) {
	long := strings.Repeat("x", maxTyped+1)
	for text, want := range map[string]string{
		"ab":   "keyDown:a: char:a: keyUp:a: keyDown:b: char:b: keyUp:b:",
		"漢":    "insert:漢",
		"\r\n": "keyDown:Enter: char:Enter: keyUp:Enter:",
		long:   "insert:" + long,
		"":     "",
	} {
		r := newRecorder(t, empty)
		if err := typeText(t.Context(), r.Session, text); err != nil {
			t.Fatal(err)
		}
		if got := r.events(t); got != want {
			t.Errorf("%q sent %q, want %q", text, got, want)
		}
	}
}

package frames_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/devtools/devtoolstest"
	"callgate/internal/module/browser/frames"
)

// browser replies to the commands of each session and method, as JSON. A reply that
// begins with ! is an error.
type browser struct {
	*devtools.Conn
	replies map[string]string // by session and method

	mu       sync.Mutex
	commands []*cdproto.Message
}

func open(t testing.TB, replies map[string]string) *browser {
	t.Helper()
	b := &browser{replies: replies}
	b.Conn = devtools.Open(devtoolstest.New(func(m *cdproto.Message) []*cdproto.Message {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.commands = append(b.commands, m)
		reply, ok := b.replies[string(m.SessionID)+" "+string(m.Method)]
		switch {
		case strings.HasPrefix(reply, "!"):
			return []*cdproto.Message{devtoolstest.Refuse(m, reply[1:])}
		case ok:
			return []*cdproto.Message{devtoolstest.Reply(m, reply)}
		case m.Method == "Page.createIsolatedWorld":
			return []*cdproto.Message{devtoolstest.Reply(m, `{"executionContextId":7}`)}
		default:
			return []*cdproto.Message{devtoolstest.Refuse(m, "no reply for "+string(m.Method))}
		}
	}))
	t.Cleanup(b.Close)
	return b
}

// last returns the parameters of the last command of a method.
func (b *browser) last(t testing.TB, method cdproto.MethodType) map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range slices.Backward(b.commands) {
		if m.Method == method {
			var params map[string]any
			if err := json.Unmarshal(m.Params, &params); err != nil {
				t.Fatal(err)
			}
			return params
		}
	}
	t.Fatalf("no command %s was sent", method)
	return nil
}

func (b *browser) sessions(ids ...target.SessionID) (all []*devtools.Session) {
	for _, id := range ids {
		all = append(all, b.Session(id))
	}
	return all
}

func frame(id, parent, url string) string {
	return fmt.Sprintf(`{"id":%q,"parentId":%q,"loaderId":"L","url":%q}`, id, parent, url)
}

func tree(frame string, children ...string) string {
	return `{"frame":` + frame + `,"childFrames":[` + strings.Join(children, ",") + `]}`
}

// The frames of a page, of one process and of another, come with the page's own first.
func TestList(t *testing.T) {
	inner := tree(frame("inner", "child", "c"))
	replies := map[string]string{
		"P Page.getFrameTree": `{"frameTree":` + tree(frame("main", "", "a"), tree(frame("child", "main", "b"), inner)) + `}`,
		"F Page.getFrameTree": `{"frameTree":` + tree(frame("far", "main", "d")) + `}`,
		"G Page.getFrameTree": "!the frame is gone",
	}
	b := open(t, replies)
	all, err := frames.List(t.Context(), b.sessions("P", "F", "G"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		got = append(got, fmt.Sprintf("%s<%s %s %s %d", f.ID, f.Parent, f.URL, f.Session.ID, f.World))
	}
	want := []string{"main< a P 7", "child<main b P 7", "inner<child c P 7", "far<main d F 7"}
	if !slices.Equal(got, want) {
		t.Errorf("the frames are %q, want %q", got, want)
	}
	if f := all.ByID("inner"); f == nil || f.URL != "c" || all.ByID("none") != nil {
		t.Errorf("a frame by its id is %+v", f)
	}
	replies["P Page.getFrameTree"] = "!no page"
	if _, err := frames.List(t.Context(), b.sessions("P", "F")); err == nil {
		t.Error("a page without a document was listed")
	}
}

func TestListIsBounded(t *testing.T) {
	many := make([]string, 10*frames.Max)
	for i := range many {
		many[i] = tree(frame(fmt.Sprint(i), "main", "x"))
	}
	b := open(t, map[string]string{"P Page.getFrameTree": `{"frameTree":` + tree(frame("main", "", "a"), many...) + `}`})
	all, err := frames.List(t.Context(), b.sessions("P"))
	if err != nil || len(all) != frames.Max {
		t.Errorf("%d frames are listed, %v", len(all), err)
	}
}

// A frame that is removed before it is entered has no world, and its scripts fail.
func TestRemovedFrame(t *testing.T) {
	b := open(t, map[string]string{
		"P Page.getFrameTree":        `{"frameTree":` + tree(frame("main", "", "a")) + `}`,
		"F Page.getFrameTree":        `{"frameTree":` + tree(frame("far", "main", "d")) + `}`,
		"F Page.createIsolatedWorld": "!removed",
	})
	all, err := frames.List(t.Context(), b.sessions("P", "F"))
	if err != nil || len(all) != 2 {
		t.Fatalf("the frames are %v, %v", all, err)
	}
	if err := all[1].Call(t.Context(), "response", nil); err == nil {
		t.Error("a script ran in a removed frame")
	}
	if object, err := all[1].CallForElement(t.Context(), "query", "a", 0); object != "" || err != nil {
		t.Errorf("a removed frame has the element %q, %v", object, err)
	}
	if _, err := frames.Enter(t.Context(), b.Session("F"), "far"); err == nil {
		t.Error("a removed frame was entered")
	}
}

func TestCall(t *testing.T) {
	replies := map[string]string{}
	b := open(t, replies)
	f, err := frames.Enter(t.Context(), b.Session("P"), "main")
	if err != nil {
		t.Fatal(err)
	}
	const call = "P Runtime.callFunctionOn"
	var got struct{ Status int }
	replies[call] = `{"result":{"type":"object","value":{"status":200}}}`
	if err := f.Call(t.Context(), "response", &got, "text", 3); err != nil || got.Status != 200 {
		t.Errorf("the script returned %+v, %v", got, err)
	}
	params := b.last(t, "Runtime.callFunctionOn")
	if args, _ := json.Marshal(params["arguments"]); string(args) != `[{"value":"text"},{"value":3}]` {
		t.Errorf("the arguments are %s", args)
	}
	if params["executionContextId"] != 7.0 || params["returnByValue"] != true {
		t.Errorf("the script was called with %v", params)
	}
	replies[call] = `{"result":{"type":"undefined"}}`
	if err := f.Call(t.Context(), "response", &got); err != nil {
		t.Errorf("a script without a result: %v", err)
	}
	replies[call] = `{"result":{"type":"object","objectId":"O"}}`
	if object, err := f.CallForElement(t.Context(), "query", "a", 0); object != "O" || err != nil {
		t.Errorf("the element is %q, %v", object, err)
	}
	var element runtime.RemoteObject
	if err := f.CallOn(t.Context(), "O", "element", &element); err != nil || element.ObjectID != "O" {
		t.Errorf("the element of the element is %+v, %v", element, err)
	}
	if params := b.last(t, "Runtime.callFunctionOn"); params["objectId"] != "O" || params["returnByValue"] == true {
		t.Errorf("the script was called with %v", params)
	}
	if err := f.Call(t.Context(), "response", nil, func() {}); err == nil {
		t.Error("an argument that JSON cannot write was sent")
	}
}

func TestScriptErrors(t *testing.T) {
	for name, c := range map[string]struct {
		reply    string
		thrown   string // "": not an error of ours
		contains string
	}{
		"ours":        {`"exception":{"type":"object","description":"Error: bad selector\n    at x"}`, "bad selector", "bad selector"},
		"of its kind": {`"exception":{"type":"object","description":"TypeError: x is null"}`, "TypeError: x is null", "x is null"},
		"without one": {`"text":"Uncaught"`, "", "Uncaught"},
	} {
		t.Run(name, func(t *testing.T) {
			details := `{"exceptionId":1,"lineNumber":1,"columnNumber":1,` + c.reply + `}`
			b := open(t, map[string]string{
				"P Runtime.callFunctionOn": `{"result":{"type":"undefined"},"exceptionDetails":` + details + `}`,
			})
			f, err := frames.Enter(t.Context(), b.Session("P"), "main")
			if err != nil {
				t.Fatal(err)
			}
			err = f.Call(t.Context(), "response", nil)
			var thrown frames.ScriptError
			if errors.As(err, &thrown); string(thrown) != c.thrown || !strings.Contains(fmt.Sprint(err), c.contains) {
				t.Errorf("the error is %v, thrown as %q", err, thrown)
			}
		})
	}
}

// The place of a frame with a process of its own is the sum of the places of all frames
// around it.
func TestOffset(t *testing.T) {
	box := func(x, y int) string {
		quad := fmt.Sprintf("[%d,%d,9,9,9,9,9,9]", x, y)
		const model = `{"model":{"content":%s,"padding":%[1]s,"border":%[1]s,"margin":%[1]s,"width":1,"height":1}}`
		return fmt.Sprintf(model, quad)
	}
	replies := map[string]string{
		"P Page.getFrameTree": `{"frameTree":` + tree(frame("main", "", "a"), tree(frame("near", "main", "b"))) + `}`,
		"F Page.getFrameTree": `{"frameTree":` + tree(frame("far", "near", "c"), tree(frame("farther", "far", "d"))) + `}`,
		"G Page.getFrameTree": `{"frameTree":` + tree(frame("farthest", "farther", "e")) + `}`,
		"P DOM.getFrameOwner": `{"backendNodeId":1}`, "P DOM.getBoxModel": box(100, 200),
		"F DOM.getFrameOwner": `{"backendNodeId":2}`, "F DOM.getBoxModel": box(10, 20),
	}
	b := open(t, replies)
	all, err := frames.List(t.Context(), b.sessions("P", "F", "G"))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][2]float64{
		"main": {0, 0}, "near": {0, 0}, "far": {100, 200}, "farther": {100, 200}, "farthest": {110, 220},
	} {
		i := slices.IndexFunc(all, func(f *frames.Frame) bool { return string(f.ID) == id })
		x, y, err := all.Offset(t.Context(), all[i])
		if err != nil || x != want[0] || y != want[1] {
			t.Errorf("%s is at %v, %v (%v), want %v", id, x, y, err, want)
		}
	}
	orphan := &frames.Frame{Session: b.Session("X"), ID: "x", Parent: "nowhere"}
	if _, _, err := all.Offset(t.Context(), orphan); err == nil {
		t.Error("a frame without a parent has a place")
	}
	replies["F DOM.getBoxModel"] = "!no box"
	if _, _, err := all.Offset(t.Context(), all.ByID("farthest")); err == nil {
		t.Error("a frame without a box has a place")
	}
}

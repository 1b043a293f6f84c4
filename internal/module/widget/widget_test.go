package widget_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/internal/module/widget"
	"callgate/tool"
)

type block = fetchtest.Block

func TestRender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args     block
		removed  string
		height   float64
		kind     tool.Kind
		inAnswer string
	}{
		"a table":       {args: block{"html": "<table><tr><td>1</td></tr></table>"}, removed: "[]", height: 500},
		"its height":    {args: block{"html": "<p>x</p>", "height": 90}, removed: "[]", height: 90},
		"with a script": {args: block{"html": "<p>x</p><script>y()</script>"}, removed: `["<script>"]`, height: 500},
		"with many": {
			args: block{"html": "x" + madeUp(30)}, height: 500, inAnswer: "10 more",
			removed: "",
		},
		"only a script": {args: block{"html": "<script>y()</script>"}, kind: tool.Invalid, inAnswer: "nothing of the page can be shown"},
		"white space":   {args: block{"html": " \n"}, kind: tool.Invalid, inAnswer: "nothing of the page can be shown"},
		"too large":     {args: block{"html": strings.Repeat("x", 2001)}, kind: tool.Invalid, inAnswer: "at most 2.0 KiB"},
		"too deep":      {args: block{"html": strings.Repeat("<b>", 100)}, kind: tool.Invalid, inAnswer: "more than 64 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := fetchtest.Open(t, widget.Module(), block{"height": 500}, block{"max_bytes": 2000})
			r, err := b.Call("render", c.args)
			if c.kind != "" {
				fetchtest.CheckError(t, err, c.kind, c.inAnswer)
				return
			}
			data := fetchtest.Data(t, r, err)
			removed, err := json.Marshal(data["removed"])
			if err != nil {
				t.Fatal(err)
			}
			plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(removed))
			if data["height"] != c.height || c.removed != "" && plain != c.removed || !strings.Contains(plain, c.inAnswer) {
				t.Errorf("it is %v", data)
			}
			if (plain == "[]") != (len(r.Warnings) == 0) {
				t.Errorf("warnings are %v", r.Warnings)
			}
		})
	}
}

// madeUp is so many elements that nobody knows.
func madeUp(n int) (text string) {
	for i := range n {
		text += "<x" + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + ">"
	}
	return text
}

func TestToolIsFitToPublish(t *testing.T) {
	t.Parallel()
	b := fetchtest.Open(t, widget.Module(), nil, nil)
	made := b.Tool("render")
	if err := made.Validate(); err != nil {
		t.Error(err)
	}
	if made.Runtime.Risk != tool.Low || made.Runtime.Network || len(made.Spec.Aliases) < 8 {
		t.Errorf("%+v", made)
	}
	if _, err := b.Call("render", json.RawMessage(made.Spec.Examples[0].Args)); err != nil {
		t.Error(err)
	}
}

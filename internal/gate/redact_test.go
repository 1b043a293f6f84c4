package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/tool"
)

// What is no text stays whole when a result is cut, and so do things with an
// address as far as their words fit; none of it makes the words longer than
// the limit.
func TestCuttingKeepsWhatIsNoText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 1000)
	for name, c := range map[string]struct {
		content []tool.Content
		want    string // types, with ! for what has words
	}{
		"a sound":                 {[]tool.Content{tool.Text(long), tool.Audio("audio/wav", []byte("wav"), "[audio]")}, "audio! text!"},
		"a picture":               {[]tool.Content{tool.Image("image/png", []byte("png")), tool.Text(long)}, "image text!"},
		"a short resource":        {[]tool.Content{tool.Resource("f:x", "text/plain", "short"), tool.Text(long)}, "resource! text!"},
		"a long resource":         {[]tool.Content{tool.Resource("f:x", "text/plain", long), tool.Text("end")}, "text!"},
		"the first of many":       {[]tool.Content{tool.Resource("f:x", "", long[:400]), tool.Resource("f:y", "", long[:400]), tool.Text(long)}, "resource! text!"},
		"bytes with long words":   {[]tool.Content{{Type: "resource", URI: "f:z", Data: []byte("zip"), Text: long}}, "resource text!"},
		"nothing but a long text": {[]tool.Content{tool.Text(long)}, "text!"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, gate.Limits{Result: 1000})
			h.add(t, "t:long@1.0.0", anyObject, reads, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				return &tool.Result{Summary: "long", Content: c.content}, nil
			})
			r := h.call(t, "t.long", `{}`)
			var got []string
			words := 0
			for _, p := range r.Content {
				kind := p.Type
				if p.Text != "" {
					kind += "!"
				}
				if p.Type != "text" && p.Type != "resource" && len(p.Data) == 0 {
					t.Errorf("%s lost its bytes", p.Type)
				}
				got = append(got, kind)
				words += len(p.Text)
			}
			if strings.Join(got, " ") != c.want || words > 1100 || r.ArtifactRef == "" || r.Cut == nil {
				t.Errorf("%d bytes of %v, %s, %v", words, got, r.ArtifactRef, r.Cut)
			}
		})
	}
}

// A long text is cut between its lines: the head is shown, of a command's output the
// tail too, and the cut says which lines these are. The whole is in the artifact, with
// what the tool itself told of a cut as its last line.
func TestLongTextsAreCutBetweenLines(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 500 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	own := &tool.Cut{Unit: "lines", Last: 500, Total: 900, Next: "offset=501"}
	data, _ := json.Marshal(map[string]string{"a": strings.Repeat("x", 600), "b": strings.Repeat("y", 600)})
	for name, c := range map[string]struct {
		result     tool.Result
		keepTail   bool
		begin, end string // of what is shown
		artifact   string
		cut        tool.Cut
	}{
		"head": {tool.Result{Content: []tool.Content{tool.Text(long.String())}}, false,
			"line 1\n", "line 123\n", long.String(), tool.Cut{Last: 123, Total: 500, Next: "offset=124"}},
		"head and tail": {tool.Result{Content: []tool.Content{tool.Text(long.String())}}, true,
			"line 1\n", "line 500\n", long.String(), tool.Cut{Last: 64, Tail: 446, Total: 500, Next: "offset=65"}},
		"a cut of the tool": {tool.Result{Content: []tool.Content{tool.Text(long.String())}, Cut: own}, false,
			"line 1\n", "line 123\n", long.String() + "[lines 1–500 of 900; continue with offset=501]\n",
			tool.Cut{Last: 123, Total: 501, Next: "offset=124"}},
		"data": {tool.Result{Data: data}, false, "{\n \"a\": \"xxx", "xxx\",\n",
			"{\n \"a\": \"" + strings.Repeat("x", 600) + "\",\n \"b\": \"" + strings.Repeat("y", 600) + "\"\n}",
			tool.Cut{Last: 2, Total: 4, Next: "offset=3"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, gate.Limits{Result: 1000})
			runtime := reads
			runtime.KeepTail = c.keepTail
			h.add(t, "t:long@1.0.0", anyObject, runtime, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				return &c.result, nil
			})
			r := h.call(t, "t.long", `{}`)
			c.cut.Unit, c.cut.Tool, c.cut.Next = "lines", "artifact.read", "ref="+r.Call+" "+c.cut.Next
			if r.Cut == nil || *r.Cut != c.cut {
				t.Errorf("cut %+v, want %+v", r.Cut, c.cut)
			}
			shown := r.Content[0].Text
			if len(r.Content) != 1 || len(shown) > 1050 || !strings.HasPrefix(shown, c.begin) || !strings.HasSuffix(shown, c.end) {
				t.Errorf("%d bytes: %q … %q", len(shown), shown[:20], shown[len(shown)-20:])
			}
			whole, err := h.Artifacts.Get(t.Context(), r.ArtifactRef)
			ok(t, err)
			if string(whole) != c.artifact {
				t.Errorf("the artifact is %.40q … %q", whole, whole[len(whole)-60:])
			}
		})
	}
}

package gate_test

import (
	"context"
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
			if strings.Join(got, " ") != c.want || words > 1100 || r.ArtifactRef == "" || len(r.Warnings) == 0 {
				t.Errorf("%d bytes of %v, %s, %v", words, got, r.ArtifactRef, r.Warnings)
			}
		})
	}
}

package resulttext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/resulttext"
	"callgate/tool"
)

// texts returns the texts of contents, each piece separated by a bar.
func texts(all []tool.Content) string {
	var out []string
	for _, c := range all {
		out = append(out, c.Text)
	}
	return strings.Join(out, "|")
}

func TestBodyEndsWithTheCut(t *testing.T) {
	t.Parallel()
	cut := &tool.Cut{Unit: "lines", Last: 2, Total: 5, Next: "offset=3"}
	const line = "[lines 1–2 of 5; continue with offset=3]"
	for name, c := range map[string]struct {
		result tool.Result
		want   string
	}{
		"text":                    {tool.Result{Content: []tool.Content{tool.Text("a\nb")}, Cut: cut}, "a\nb\n" + line},
		"text that ends its line": {tool.Result{Content: []tool.Content{tool.Text("a\nb\n")}, Cut: cut}, "a\nb\n" + line},
		"an image":                {tool.Result{Content: []tool.Content{tool.Image("image/png", []byte("x"))}, Cut: cut}, "|" + line},
		"data":                    {tool.Result{Data: json.RawMessage(`{"a":1}`), Cut: cut}, `{"a":1}|` + line},
		"a summary":               {tool.Result{Summary: "two lines", Cut: cut}, "two lines\n" + line},
		"nothing was cut":         {tool.Result{Content: []tool.Content{tool.Text("a")}}, "a"},
	} {
		before := texts(c.result.Content)
		if got := texts(resulttext.Body(&c.result)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if texts(c.result.Content) != before {
			t.Errorf("%s: the result itself was changed", name)
		}
	}
}

package gate_test

import (
	"context"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/journal/outputbus"
	"callgate/tool"
)

// TestLiveOutputIsMasked: who watches a call sees no more than who reads its result.
func TestLiveOutputIsMasked(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	h.Output = &outputbus.Bus{}
	g := gate.New(h.Config)
	h.modules.Mask = func(text string) string { return strings.ReplaceAll(text, "swordfish", "[masked]") }
	h.add(t, "t:print@1.0.0", anyObject, reads, func(_ context.Context, _ tool.Call, grant tool.Grant) (*tool.Result, error) {
		grant.Output("stdout", []byte("the word is sword"))
		grant.Output("stdout", []byte("fish\nand sword"))
		grant.Output("stdout", []byte("fish"))
		return tool.OK("the word is swordfish", nil)
	})
	heard := h.Output.Subscribe(t.Context())
	h.Gate = g
	r := h.call(t, "t.print", `{}`)
	var live strings.Builder
	for _, out := range heard.Take() {
		live.Write(out.Text)
	}
	const want = "the word is [masked]\nand [masked]"
	if live.String() != want || strings.Contains(r.Summary, "swordfish") {
		t.Errorf("live %q, result %q", live.String(), r.Summary)
	}
}

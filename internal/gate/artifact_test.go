package gate_test

import (
	"context"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/tool"
)

// TestArtifactsThatAreNotHere: a ref that a handler makes up is not told on.
func TestArtifactsThatAreNotHere(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	kept, err := h.Artifacts.Put(t.Context(), []byte("a sound"))
	ok(t, err)
	for ref, want := range map[string]string{
		kept: kept, "hash123": "", "sha256:" + strings.Repeat("0", 64): "", "../../etc/passwd": "",
	} {
		name := "t:keep" + string(rune('a'+h.sources)) + "@1.0.0"
		h.add(t, name, anyObject, reads, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			return &tool.Result{Status: tool.Success, Summary: "kept", ArtifactRef: ref}, nil
		})
		r := h.call(t, strings.TrimSuffix(strings.Replace(name, ":", ".", 1), "@1.0.0"), `{}`)
		if r.ArtifactRef != want || (want == "") != (len(r.Warnings) == 1) {
			t.Errorf("%s: %+v", ref, r)
		}
	}
}

package editpreview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/linediff"
	"callgate/internal/protocol"
	"callgate/tool"
)

// TestPatchIsShown: the question about a patch shows the patch.
func TestPatchIsShown(t *testing.T) {
	t.Parallel()
	r := protocol.Approval{Call: tool.Call{
		Tool: tool.ID{Namespace: "filesystem", Name: "apply_patch"},
		Args: []byte(`{"patch":"*** Begin Patch\n*** Update File: a\n@@ f\n x\n-y\n+z\n*** Delete File: b\n*** End Patch\n"}`),
	}}
	want := []linediff.Line{
		{Sign: '@', Text: "*** Update File: a"}, {Sign: '@', Text: "@@ f"}, {Sign: ' ', Text: "x"}, {Sign: '-', Text: "y"},
		{Sign: '+', Text: "z"}, {Sign: '@', Text: "*** Delete File: b"},
	}
	if d := cmp.Diff(want, patchLines(r)); d != "" {
		t.Error(d)
	}
}

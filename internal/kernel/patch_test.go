package kernel_test

import (
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/permissions"
	"callgate/tool"
)

// TestAcceptEditsAndPatches: a patch that changes and adds files is an edit; one that
// deletes a file asks, as deleting does, and so does one that touches rules.
func TestAcceptEditsAndPatches(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	s, _ := openAsking(t, k)
	patch := func(files string) [2]string {
		return [2]string{"filesystem.apply_patch", `{"patch":"*** Begin Patch\n` + files + `*** End Patch\n"}`}
	}
	add := patch(`*** Add File: p/a.txt\n+x\n`)
	want(t, s, tool.Waiting, add)
	permit(t, k, s, permissions.Change{Mode: "accept-edits"})
	want(t, s, tool.Success, add, patch(`*** Update File: p/a.txt\n*** Move to: p/b.txt\n-x\n+y\n`))
	want(t, s, tool.Waiting, patch(`*** Delete File: p/b.txt\n`), patch(`*** Add File: p/c\n+x\n*** Add File: q/callgate.yaml\n+x\n`))
	want(t, s, tool.Refused, patch(`*** Add File: p/d\n+x\n*** Add File: locked/a\n+x\n`))
}

package kernel_test

import (
	"path/filepath"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/permissions"
	"callgate/tool"
)

// A file that is named like a secret asks to be read, and to be given a name under which
// nothing would ask, without rules and in accept-edits.
func TestSecretFilesAsk(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	dir := folderIn(t, "here")
	for _, name := range []string{"tokens.json", "n.txt", "sub/key.pem"} {
		kerneltest.Write(t, filepath.Join(dir, filepath.FromSlash(name)), "hush\n")
	}
	s := kerneltest.OpenSession(t, k, dir)
	asking := [][2]string{
		{"filesystem.read", `{"path":"tokens.json"}`},
		{"filesystem.grep", `{"pattern":"h","path":"tokens.json"}`},
		{"filesystem.move", `{"from":"tokens.json","to":"a.txt"}`},
		{"filesystem.apply_patch", `{"patch":"diff --git a/tokens.json b/a.txt\nrename from tokens.json\nrename to a.txt\n"}`},
	}
	want(t, s, tool.Waiting, asking...)
	want(t, s, tool.Success, [2]string{"filesystem.move", `{"from":"sub/key.pem","to":"key.pem"}`},
		[2]string{"filesystem.move", `{"from":"n.txt","to":"m.txt"}`})
	permit(t, k, s, permissions.Change{Mode: "accept-edits"})
	want(t, s, tool.Waiting, asking...)
	want(t, s, tool.Success, [2]string{"filesystem.move", `{"from":"m.txt","to":"n.txt"}`})
}

package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
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

// A change of a notebook's cell is an edit of its file, to the rules too.
func TestRulesOfEditsHoldForNotebooks(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), strings.Replace(askingApp, "approve:", "grant:", 1))
	const text = `{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}`
	kerneltest.Write(t, filepath.Join(dir, "locked", "a.ipynb"), text)
	kerneltest.Write(t, filepath.Join(dir, "open", "a.ipynb"), text)
	s := kerneltest.OpenAccepted(t, k, dir)
	insert := func(path string) [2]string {
		return [2]string{"filesystem.notebook_edit", `{"path":"` + path + `","mode":"insert","cell":1,"source":"x","cell_type":"code"}`}
	}
	want(t, s, tool.Success, insert("open/a.ipynb"))
	want(t, s, tool.Refused, insert("locked/a.ipynb"))
}

// What a deny rule may be about is asked about, also where another rule asks anyway.
func TestAcceptEditsAsksWhereADenyRuleIsInDoubt(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"),
		strings.NewReplacer("[write, edit]", "[move]", "path:", "from:").Replace(askingApp))
	kerneltest.Write(t, filepath.Join(dir, "locked", "a.txt"), "a")
	kerneltest.Write(t, filepath.Join(dir, "open", "a.txt"), "a")
	s := kerneltest.OpenAccepted(t, k, dir)
	permit(t, k, s, permissions.Change{Mode: "accept-edits", Allow: []string{"Move"}})
	want(t, s, tool.Success, [2]string{"filesystem.move", `{"from":"open","to":"c"}`})
	want(t, s, tool.Refused, [2]string{"filesystem.move", `{"from":"locked/a.txt","to":"b"}`})
	want(t, s, tool.Waiting, [2]string{"filesystem.move", `{"from":"locked","to":"b"}`})
}

// Accept-edits is no way around what the rules deny to write, and does not cover what
// other programs run by themselves.
func TestAcceptEditsAsksAboutWhatIsNoMereEdit(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	s, dir := openAsking(t, k)
	kerneltest.Write(t, filepath.Join(dir, "n.txt"), "n\n")
	kerneltest.OK(t, os.Symlink("locked/a.txt", filepath.Join(dir, "link")))
	permit(t, k, s, permissions.Change{Mode: "accept-edits"})
	move := func(from, to string) [2]string {
		return [2]string{"filesystem.move", `{"from":"` + from + `","to":"` + to + `","overwrite":true}`}
	}
	want(t, s, tool.Waiting, move("n.txt", "locked/a.txt"), move("locked/a.txt", "b.txt"), move("locked", "b"),
		move("link", "link2"), move("n.txt", ".bashrc"), move("n.txt", ".vscode/tasks.json"),
		[2]string{"filesystem.apply_patch", `{"patch":"diff --git a/n.txt b/x\nrename from n.txt\nrename to locked/z\n"}`})
	for _, path := range []string{
		".bashrc", "sub/.envrc", ".VSCode/tasks.json", ".idea/x.xml", ".husky/pre-commit", ".mcp.json", ".gitmodules",
		".claude/settings.json",
	} {
		want(t, s, tool.Waiting, [2]string{"filesystem.write", `{"path":"` + path + `","content":"x"}`})
	}
	want(t, s, tool.Success, move("n.txt", "vscode/n.txt"), [2]string{"filesystem.write", `{"path":"docs/notes.md","content":"x"}`})
}

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

// A rule about reading a file counts for a search in that file too, which a grant lets run.
func TestSearchInOneFileReadsIt(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), "app: {app_id: a}\ntools:\n  capabilities:\n"+
		"    grant: [{module: filesystem, actions: [read, grep]}]\n"+
		"    approve: [{module: filesystem, actions: [read], match: {path: '**/tokens.json'}}]\n"+
		"    deny: [{module: filesystem, actions: [read], match: {path: closed.txt}}]\n")
	for _, name := range []string{"tokens.json", "n.txt", "closed.txt"} {
		kerneltest.Write(t, filepath.Join(dir, name), "hush\n")
	}
	s := kerneltest.OpenAccepted(t, k, dir)
	in := func(path string) [2]string {
		return [2]string{"filesystem.grep", `{"pattern":"h","path":"` + path + `"}`}
	}
	want(t, s, tool.Waiting, in("tokens.json"))
	want(t, s, tool.Refused, in("closed.txt"))
	want(t, s, tool.Success, in("n.txt"), in("."))
}

// A project's file lets files run that are named like secrets if it names them, and a human
// accepted that; else the question says what it is about.
func TestGrantOfSecretFiles(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "tokens.json"), "hush\n")
	read := [2]string{"filesystem.read", `{"path":"tokens.json"}`}
	file := func(match string) {
		kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), "app: {app_id: a}\ntools:\n  capabilities:\n"+
			"    grant: [{module: filesystem, actions: [read]"+match+"}]\n")
	}
	file("")
	s := kerneltest.OpenAccepted(t, k, dir)
	r := kerneltest.Call(t, s, read[0], read[1])
	if r.Status != tool.Waiting || !strings.Contains(r.Summary, "tokens.json, whose name is that of a file with secrets") {
		t.Errorf("granted without a word on the file: %s %q", r.Status, r.Summary)
	}
	s.Close()
	file(", match: {path: tokens.json}")
	s = kerneltest.OpenSession(t, k, dir)
	want(t, s, tool.Waiting, read)
	s.Close()
	want(t, kerneltest.OpenAccepted(t, k, dir), tool.Success, read)
}

// A command that reads below a folder is compared with the rules by the files that are there.
func TestReadingBelowAFolder(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), "app: {app_id: a}\ntools:\n  capabilities:\n"+
		"    approve: [{module: filesystem, actions: [read], match: {path: '**/closed.txt'}}]\n")
	for _, name := range []string{"open/a.txt", "shut/b/closed.txt", "out/a.txt", "linked/a.txt", ".env"} {
		kerneltest.Write(t, filepath.Join(dir, filepath.FromSlash(name)), "hush\n")
	}
	kerneltest.OK(t, os.Symlink("../shut/b/closed.txt", filepath.Join(dir, "out", "link")))
	kerneltest.OK(t, os.Symlink("../.env", filepath.Join(dir, "linked", "link")))
	s := kerneltest.OpenSession(t, k, dir)
	in := func(folder string) [2]string {
		return [2]string{"shell.bash", `{"command":"grep -R hush ` + folder + `"}`}
	}
	want(t, s, tool.Success, in("open"))
	want(t, s, tool.Waiting, in("shut"), in("out"), in("linked"))
	s.Close()
	kerneltest.OK(t, os.Remove(filepath.Join(dir, "callgate.yaml")))
	s = kerneltest.OpenSession(t, k, dir)
	want(t, s, tool.Success, in("open"), in("shut"))
	want(t, s, tool.Waiting, in("linked"))
}

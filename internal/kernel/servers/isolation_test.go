package servers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/sandbox"
	_ "callgate/internal/sandbox/selfstart"
)

// TestIsolation reads what files say of isolation: a project's file that says nothing
// gets the sandbox, a human is shown it in words, and a change of it is accepted anew.
func TestIsolation(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().Level == sandbox.Process {
		t.Skip("there is no sandbox here")
	}
	a := kerneltest.NewServer(t, "box", map[string]string{"where": "Says where it runs."})
	folder := kerneltest.AppWithServers(t, auto, a)
	file := filepath.Join(folder, "callgate.yaml")
	data, err := os.ReadFile(file)
	ok(t, err)
	const said = "isolation: contained"
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for _, c := range []struct{ line, launch, reach string }{
		{said, "isolation=contained env CALLGATE_WORKSPACE=", "contained: it can read your home folder and the rest of the disk"},
		{"readable: [" + a.Folder + "]", "isolation=sandboxed readable=" + a.Folder, "sandboxed: it sees its folder"},
		{"network: true, readable: [" + a.Folder + "]", "isolation=sandboxed network=true", "and has the network"},
		{"cwd: workspace, readable: [" + a.Folder + "]", "isolation=sandboxed readable=" + a.Folder + " env -C " + folder + " CALLGATE_WORKSPACE=",
			"it starts in that folder, and may run any file"},
		{"isolation: none", "isolation=none env CALLGATE_WORKSPACE=", "none: it can reach everything that you can"},
	} {
		write(t, file, strings.Replace(string(data), said, c.line, 1))
		s := kerneltest.OpenSession(t, k, folder)
		one := kerneltest.ServersByName(t, k, s)["box"]
		if one.Accepted || !strings.HasPrefix(one.Launch, c.launch) || !strings.Contains(one.Reach, c.reach) {
			t.Errorf("%s: accepted %v, %s, %s", c.line, one.Accepted, one.Launch, one.Reach)
		}
		kerneltest.AcceptServers(t, k, s)
		kerneltest.AcceptApp(t, k, s)
		s = kerneltest.OpenSession(t, k, folder)
		r := kerneltest.Call(t, s, "mcp_box.where", `{}`)
		if len(r.Content) == 0 || !strings.HasSuffix(r.Content[0].Text, " for "+folder) ||
			strings.HasPrefix(r.Content[0].Text, folder) != strings.Contains(c.line, "cwd: workspace") {
			t.Errorf("%s: it runs in %+v", c.line, r)
		}
	}
}

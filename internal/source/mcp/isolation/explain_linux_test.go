package isolation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/isolation"
)

// What a server says before it ends leads to the wall that stopped it, and to the
// line that opens it.
func TestExplain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("there is no home")
	}
	contained, sandboxed := config.Isolation{Mode: config.Contained}, config.Isolation{Mode: config.Sandboxed}
	for name, c := range map[string]struct {
		isolation  config.Isolation
		said       string
		ended      bool
		what, open string
	}{
		"npm without the network": {sandboxed, "npm error code EAI_AGAIN\nnpm error request failed", true,
			"it has no network", "network: true"},
		"python without the network": {sandboxed, "socket.gaierror: [Errno -3] Temporary failure in name resolution", true,
			"it has no network", "network: true"},
		"a node package": {sandboxed, "Cannot find package 'x' imported from " + h.home + "/notes/a", true,
			"notes/a is out of its sight", "readable: [" + h.home + "/notes/a]"},
		"a file elsewhere": {sandboxed, "Error: ENOENT: no such file or directory, open '" + h.home + "/notes/a'", false,
			"notes/a is out of its sight", "readable: [" + h.home + "/notes/a]"},
		"a write elsewhere": {sandboxed, "mkdir: cannot create directory '/srv/data/x': Read-only file system", true,
			"/srv/data/x cannot be written", "writable: [/srv/data]"},
		"a system call":  {sandboxed, "Bad system call", true, "a system call was refused", "isolation: contained"},
		"nothing known":  {sandboxed, "oh no", true, "it sees its folder", "isolation: contained"},
		"npx that waits": {sandboxed, "", false, "it has no network", "network: true"},
		"still running":  {sandboxed, "oh no", false, "", ""},
		"its own folder": {sandboxed, "ENOENT: no such file or directory, open '" + h.work + "/missing'", false, "", ""},
		"a private file": {contained, "EACCES: permission denied, open '" + home + "/.aws/credentials'", true,
			".aws is private", "readable: [" + home + "/.aws]"},
		"the state": {contained, "cat: " + h.state + "/human.key: No such file or directory", true,
			"is the kernel's own", "isolation: none"},
		"a module of the folder": {contained, "/usr/bin/python3: No module named a", true,
			"the module a of " + h.work + " is not loaded", "cwd: workspace and isolation: sandboxed"},
		"another module":   {contained, "ModuleNotFoundError: No module named 'elsewhere'", true, "", ""},
		"a bug of its own": {contained, "TypeError: undefined is not a function", true, "", ""},
		"a missing file":   {contained, "cat: /no/such: No such file or directory", true, "", ""},
		"no walls":         {config.Isolation{Mode: config.None}, "EACCES: permission denied, open '/root/.aws/x'", true, "", ""},
	} {
		machine := isolation.Machine{Hidden: []string{h.state}, Cache: filepath.Join(h.home, ".cache")}
		walls, err := machine.Walls(c.isolation, "/usr/bin/npx", isolation.Place{Dir: h.work})
		if err != nil {
			t.Fatal(err)
		}
		wall, ok := walls.Explain("; its log ends:\n"+c.said, c.ended, !c.ended && c.said == "")
		if ok != (c.what != "") || !strings.Contains(wall.What, c.what) || wall.Open != c.open {
			t.Errorf("%s: %+v, %v; want %q, %q", name, wall, ok, c.what, c.open)
		}
	}
}

package servers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/servers"
	"callgate/internal/sandbox/sandboxtest"
)

// On a machine without user namespaces the question says that a contained server is not
// started, a yes does not start it, and a yes given for more than the machine does is no
// yes: relaxed asks again, in other words.
func TestConsentIsForWhatTheMachineDoes(t *testing.T) {
	if !sandboxtest.Inside(t, sandboxtest.NoNamespaces) {
		return
	}
	a := kerneltest.NewServer(t, "box", map[string]string{"where": "Says where it runs."})
	folder := kerneltest.AppWithServers(t, auto, a)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenSession(t, k, folder)
	one := kerneltest.ServersByName(t, k, s)["box"]
	if !strings.Contains(one.Reach, "this machine cannot do") || !strings.Contains(one.Reach, "not started") ||
		!strings.Contains(strings.Join(one.Problems, "\n"), "user namespaces") {
		t.Errorf("it says %q, and %q", one.Reach, one.Problems)
	}
	full := strings.Replace(one.Launch, "walls=nothing ", "", 1)
	if full == one.Launch {
		t.Fatalf("the line does not say what this machine does: %q", one.Launch)
	}
	if err := k.AcceptServer(kerneltest.Human(t, k), s, "box", servers.Word{Launch: full}); err == nil {
		t.Error("a yes for more than this machine does was taken")
	}
	ok(t, k.AcceptServer(kerneltest.Human(t, k), s, "box", servers.Word{Launch: one.Launch}))
	if r := kerneltest.Call(t, s, "mcp_box.where", `{}`); r.Error == nil || strings.Contains(r.Error.Error(), "isolation: contained") {
		t.Errorf("it was started: %+v", r)
	}
	file := filepath.Join(folder, "callgate.yaml")
	data, err := os.ReadFile(file)
	ok(t, err)
	write(t, file, string(data)+"runtime: {sandbox: relaxed}\n")
	s = kerneltest.OpenSession(t, k, folder)
	kerneltest.AcceptApp(t, k, s)
	s = kerneltest.OpenSession(t, k, folder)
	one = kerneltest.ServersByName(t, k, s)["box"]
	if one.Accepted || !strings.Contains(one.Reach, "it can reach everything that you can") {
		t.Errorf("relaxed: accepted %v, and it says %q", one.Accepted, one.Reach)
	}
	kerneltest.AcceptServers(t, k, s)
	s = kerneltest.OpenSession(t, k, folder)
	if r := kerneltest.Call(t, s, "mcp_box.where", `{}`); r.Error != nil {
		t.Errorf("accepted, relaxed: %v", r.Error)
	}
}

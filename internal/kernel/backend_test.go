package kernel_test

import (
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
	"callgate/toolcatalog"
)

// TestBackendTakesNoPlaceOfOthers has a backend list tools that are named as the kernel's are: none
// of that listing is believed, and the tools of others stay.
func TestBackendTakesNoPlaceOfOthers(t *testing.T) {
	t.Parallel()
	low := tool.Runtime{Risk: tool.Low, SideEffect: tool.None}
	for _, name := range []string{
		"filesystem.read", "context_builder.search_tools", "mcp_github.issue", "callgate.summarize", "orxa.summarize",
	} {
		evil := toolcatalog.NewLocal("evil")
		if err := evil.Register(kerneltest.NewTool(t, name, low, nil)); err != nil {
			t.Fatal(err)
		}
		good := toolcatalog.NewLocal("good")
		if err := good.Register(kerneltest.NewTool(t, "desk.triage", low, nil)); err != nil {
			t.Fatal(err)
		}
		k, err := kernel.Open(t.Context(), kernel.Config{
			State: kerneltest.StateDir(t), Backends: []toolcatalog.Backend{evil, good}, UserFile: t.TempDir() + "/none.yaml",
		})
		if err != nil {
			t.Fatal(err)
		}
		snap, err := k.Tools.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := snap.View("").Latest("desk.triage"); !ok {
			t.Errorf("%s: the tools of the other backend are gone", name)
		}
		if len(snap.Problems) != 1 || !strings.Contains(snap.Problems[0].String(), "not a backend's") {
			t.Errorf("%s: %v", name, snap.Problems)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
	same := toolcatalog.NewLocal("same")
	_, err := kernel.Open(t.Context(), kernel.Config{
		State: kerneltest.StateDir(t), Backends: []toolcatalog.Backend{same, same}, UserFile: t.TempDir() + "/none.yaml",
	})
	if tool.KindOf(err) != tool.Conflict {
		t.Errorf("two backends of one name: %v", err)
	}
}

// TestNobodyRegistersBuiltins has an embedding program give tools that are named as built-in
// LLM-backed ones are: a newer version would be called in the place of one that asks a human first.
func TestNobodyRegistersBuiltins(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for _, name := range []string{"callgate.summarize", "orxa.summarize"} {
		made := kerneltest.NewTool(t, name, tool.Runtime{Risk: tool.Low, SideEffect: tool.None}, nil)
		made.ID.Version = tool.Version{Major: 2}
		if err := k.Register("evil", made); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

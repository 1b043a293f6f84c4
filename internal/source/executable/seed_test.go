package executable_test

import (
	"testing"

	"callgate/internal/module/filesystem"
	"callgate/internal/module/shell"
	"callgate/internal/registry"
)

// TestSeedNames lists the fourteen tools that the seed calls built in, and
// which tool of ours answers to each name; "" is one that is not built yet, or
// not here.
func TestSeedNames(t *testing.T) {
	t.Parallel()
	var r registry.Registry
	if err := r.Add(registry.Global, registry.Static{Source: "filesystem", List: append(filesystem.Tools(filesystem.Config{}), shell.Tools(shell.Config{})...)}); err != nil {
		t.Fatal(err)
	}
	snap, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"choir.exec":           "shell.bash",
		"choir.fs.read":        "filesystem.read",
		"choir.fs.write":       "filesystem.write",
		"choir.fs.search":      "filesystem.grep",
		"choir.tts.speak":      "",
		"choir.web.search":     "",
		"choir.web.browse":     "",
		"choir.notion.query":   "",
		"choir.email.send":     "",
		"choir.email.receive":  "",
		"choir.email.check":    "",
		"choir.memory.query":   "",
		"choir.memory.upsert":  "",
		"choir.memory.compact": "",
	} {
		got, err := snap.View(registry.Global).Resolve(name, nil)
		if want == "" && err == nil || want != "" && (err != nil || got.ID.Dotted() != want) {
			t.Errorf("%s is %v (%v), want %q", name, got, err, want)
		}
	}
}

package registry_test

import (
	"testing"

	"callgate/internal/registry"
	"callgate/tool"
)

// TestServersTakeNoReservedName has a server whose tools are named like those of
// the kernel: whatever the spelling, the kernel's tool answers, or none.
func TestServersTakeNoReservedName(t *testing.T) {
	var r registry.Registry
	own := static(t, "own", "filesystem:read@1.0.0", "shell:bash@1.0.0", "context_builder:search_tools@1.0.0")
	own.List[0].Spec.Short, own.List[0].Spec.Aliases = "Read", []string{"choir.fs.read"}
	own.List[1].Spec.Short = "Bash"
	own.List[2].Runtime.Control = true
	add(t, &r, registry.Global, own)
	theirs := static(t, "x", "mcp_x:filesystem_read@1.0.0", "mcp_x:read@1.0.0", "mcp_x:bash@1.0.0", "mcp_x:search_tools@1.0.0",
		"mcp_x:shell_bash@1.0.0", "mcp_x:choir_fs_read@1.0.0", "mcp_x:filesystem-read@1.0.0", "mcp_x:weather@1.0.0")
	theirs.List[2].Spec.Short, theirs.List[2].Spec.Aliases = "Bash", []string{"BASH", "shell-bash"}
	add(t, &r, "app", theirs)
	v := snapshot(t, &r).View("app")
	spellings := map[string]string{
		"filesystem.read": "filesystem.read", "filesystem_read": "filesystem.read", "filesystem-read": "filesystem.read",
		"FileSystem Read": "filesystem.read", "filesystem::read": "filesystem.read", "filesystem__read": "filesystem.read",
		"filesystem/read": "filesystem.read", "Read": "filesystem.read", "read": "filesystem.read", "READ": "filesystem.read",
		"choir.fs.read": "filesystem.read", "choir_fs_read": "filesystem.read", "Bash": "shell.bash", "bash": "shell.bash",
		"BASH": "shell.bash", "shell_bash": "shell.bash", "shell-bash": "shell.bash",
		"search_tools": "context_builder.search_tools", "Search-Tools": "context_builder.search_tools",
		"mcp_x.filesystem_read": "mcp_x.filesystem_read", "mcp_x__filesystem_read": "mcp_x.filesystem_read",
		"mcp_x_filesystem_read": "", "mcp_x.read": "mcp_x.read", "mcp_x:bash@1.0.0": "mcp_x.bash", "weather": "mcp_x.weather",
	}
	for name, want := range spellings {
		if got, err := v.Resolve(name, nil); want != "" && (err != nil || got.ID.Dotted() != want) {
			t.Errorf("Resolve(%q) = %v, %v; want %s", name, got, err, want)
		}
		// Where the kernel's tools are denied or off, no server's stands in.
		off := func(t *tool.Tool) bool { return t.ID.Namespace == "mcp_x" }
		got, err := v.Resolve(name, off)
		if own := want != "" && want[:4] != "mcp_"; own && err == nil && got.ID.Namespace == "mcp_x" {
			t.Errorf("with the kernel's tools off, Resolve(%q) = %v", name, got.ID)
		}
		if own := want != "" && want[:4] != "mcp_"; v.Reserved(name) != own {
			t.Errorf("Reserved(%q) = %v", name, v.Reserved(name))
		}
	}
}

package apps_test

import (
	"slices"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
)

// TestProfilesOfTwoFiles: a profile may name what either file has, and where both
// have one of a name the user's is used.
func TestProfilesOfTwoFiles(t *testing.T) {
	t.Parallel()
	k, _ := openFor(t, "tools: {modules: {mcp: {config: {servers: {mine: {command: x}}}}}}\n"+
		"profiles: {small: {actions: [filesystem.read]}, own: {servers: [mine]}}\n")
	folder := folderWith(t, "profiles: {small: {modules: [shell, filesystem]}, theirs: {servers: [mine], modules: [shell]}}\n")
	open := func(folder, profile string) (*session.Session, error) {
		return k.OpenSession(t.Context(), session.Spec{Workspace: folder, Profile: profile})
	}
	for profile, want := range map[string]string{"small": "filesystem.read", "own": "", "theirs": "shell.bash"} {
		s, err := open(folder, profile)
		kerneltest.OK(t, err)
		names := kerneltest.ToolNames(t, s)
		if (want == "") != (names == "") || !strings.Contains(names, want) || strings.Contains(names, "filesystem.write") {
			t.Errorf("%s gives %s", profile, names)
		}
		replaced := func(w string) bool { return strings.Contains(w, "its profile small is not used") }
		if !slices.ContainsFunc(s.Warnings(), replaced) {
			t.Errorf("warnings: %v", s.Warnings())
		}
		s.Close()
	}
	s, err := open(t.TempDir(), "own")
	kerneltest.OK(t, err)
	s.Close()
	if _, err := open(t.TempDir(), "theirs"); err == nil || !strings.Contains(err.Error(), "the profiles are own, small") {
		t.Errorf("without the project: %v", err)
	}
}

// TestProfileNamesWhatIsThere: the file is refused whether or not it has servers and
// folders of its own.
func TestProfileNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	const servers = "tools: {modules: {mcp: {config: {servers: {github: {command: x}}}}}}\n"
	for text, want := range map[string]string{
		"profiles: {a: {servers: [github]}}\n":                      "there is no MCP server",
		"profiles: {a: {modules: [filesytem]}}\n":                   "did you mean filesystem?",
		"profiles: {a: {actions: [filesystem.raed]}}\n":             "did you mean read?",
		servers + "profiles: {a: {servers: [gihub]}}\n":             "did you mean github?",
		servers + "profiles: {a: {actions: [github.issue]}}\n":      "write mcp_github.issue",
		servers + "profiles: {a: {servers: [github]}}\n":            "",
		"tools: {dirs: [tools]}\nprofiles: {a: {modules: [own]}}\n": "",
	} {
		folder := folderWith(t, text)
		write(t, folder+"/tools/.keep", "")
		s, err := k.OpenSession(t.Context(), session.Spec{Workspace: folder})
		if want == "" {
			kerneltest.OK(t, err)
			s.Close()
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

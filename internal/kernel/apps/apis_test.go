package apps_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

const triageAPI = "openapi: 3.0.3\ninfo: {title: Desk, version: '1'}\npaths:\n" +
	"  /triage: {get: {operationId: triage, summary: Stand-in., responses: {}}}\n"

// folderWithAPI makes a folder whose app file has an API with an operation named triage.
func folderWithAPI(t *testing.T, name string) string {
	t.Helper()
	folder := folderWith(t, "tools: {capabilities: {default_policy: auto}, modules: {openapi: {config: {apis: {"+
		name+": {document: api.yaml, server: 'https://api.example.com'}}}}}}\n")
	write(t, filepath.Join(folder, "api.yaml"), triageAPI)
	return folder
}

// An API of a project takes no name of the user's own tools, nor of the program that runs the kernel: it is
// left out, whether its operations have the names of theirs or not, and the session says what to do.
func TestAPIOfAProjectTakesNoOwnName(t *testing.T) {
	t.Parallel()
	const userFile = "tools:\n  llm:\n    tools:\n" +
		"    - {id: 'desk:triage@1.0.0', description: The user's own., user_template: 'Urgent?'}\n" +
		"    - {id: 'notes:add@1.0.0', description: The user's own., user_template: 'Note.'}\n"
	own := kerneltest.NewTool(t, "acme.triage", tool.Runtime{Risk: tool.Low}, func(context.Context) (any, error) {
		return map[string]any{"from": "the program"}, nil
	})
	file := filepath.Join(t.TempDir(), "callgate", "callgate.yaml")
	write(t, file, strings.ReplaceAll(userFile, "The user's own.", "'The user''s own.'"))
	k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), UserFile: file})
	kerneltest.OK(t, k.Register("the program", own))
	for name, c := range map[string]struct{ api, want, is, why string }{
		"a tool of the user's file":   {"desk", "desk.triage", "The user's own.", "tools of your own app file"},
		"a module of the user's file": {"notes", "notes.add", "The user's own.", "tools of your own app file"},
		"a tool of the program":       {"acme", "acme.triage", "A tool of the test.", "a module of the program"},
		"a name that is free":         {"helpdesk", "helpdesk.triage", "Stand-in.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := kerneltest.OpenAccepted(t, k, folderWithAPI(t, c.api))
			view, err := s.View().List(t.Context())
			kerneltest.OK(t, err)
			var inModule []string
			for _, one := range view {
				if one.ID.Namespace == c.api {
					inModule = append(inModule, one.ID.Dotted()+": "+one.Spec.Description)
				}
			}
			if got := strings.Join(inModule, "; "); !strings.HasPrefix(got, c.want+": "+c.is) ||
				len(inModule) != 1 {
				t.Errorf("the module %s holds %s", c.api, got)
			}
			told := strings.Join(s.Warnings(), "\n")
			if c.why == "" && strings.Contains(told, "left out") || c.why != "" && (!strings.Contains(told, c.why) ||
				!strings.Contains(told, "give it another under tools.modules.openapi.config.apis")) {
				t.Errorf("the session says %q", told)
			}
		})
	}
}

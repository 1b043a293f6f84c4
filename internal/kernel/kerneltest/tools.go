package kerneltest

import (
	"context"
	"path/filepath"
	"testing"

	"callgate/internal/programtest"
	"callgate/tool"
)

// NewTool makes a tool that accepts any object and does what run does.
func NewTool(t testing.TB, name string, r tool.Runtime, run func(context.Context) (any, error)) *tool.Tool {
	t.Helper()
	made, err := tool.Func(name, "A tool of the test.", r, func(ctx context.Context, _ map[string]any) (any, error) {
		return run(ctx)
	})
	OK(t, err)
	return made
}

// GreetManifest is the manifest of the executable tool team.greet.
const GreetManifest = `{
  "llm": {
    "name": "team.greet", "description": "Greets.",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
  },
  "runtime": {"timeout_ms": 10000, "side_effect": "none", "idempotent": true, "version": "1.0", "risk": "low"}
}`

// WriteExecutable writes an executable tool, a script, and its manifest.
func WriteExecutable(t testing.TB, dir, name, manifest, script string) {
	t.Helper()
	Write(t, filepath.Join(dir, name+".json"), manifest)
	programtest.Write(t, filepath.Join(dir, name), "#!/bin/sh\n"+script)
}

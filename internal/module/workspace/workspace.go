// Package workspace is the module whose changes of files wait for a human: read, write, edit,
// delete, glob and grep over the files of the workspace as they would be with what waits.
//
// # Law
//
//   - A change is kept by the kernel, against what was approved last, and is a proposal: a
//     human approves or rejects the file, or hunks of it (internal/kernel/proposals). The
//     tools see it at once; the disk, and every other tool, only when it was approved.
//   - What is pending belongs to an app in a folder, and all its sessions there see it.
//   - With auto_approve a change is on the disk at once, by the call itself and under its
//     locks. Without sync_to_disk the disk is neither read nor written: an approved file is
//     the kernel's.
//   - agent_root keeps the tools to one folder. It is the agent's view, and no wall: other
//     tools see the rest.
package workspace

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"callgate/internal/module"
	"callgate/internal/module/filesystem/pathglob"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "workspace"

// Module returns the module for the kernel.
func Module() module.Module {
	return module.Module{
		Name:          Namespace,
		Summary:       "files whose changes wait until a human approves them: write, edit, delete, read, find",
		Settings:      func() any { return defaults() },
		NeedsSettings: true,
		Open: func(h module.Host) (*module.Instance, error) {
			m := &files{pending: h.Pending, helpers: h.Helpers, hidden: h.Hidden}
			var tools []*tool.Tool
			for _, d := range []module.Definition{
				m.readTool(), m.writeTool(), m.editTool(), m.deleteTool(), m.globTool(), m.grepTool(),
			} {
				tools = append(tools, d.Tool(Namespace))
			}
			return &module.Instance{Tools: tools}, nil
		},
	}
}

// files is the open module.
type files struct {
	pending func() module.PendingFiles
	helpers *sandbox.Helpers
	hidden  []string
}

// settings are what an app file may say about the module.
type settings struct {
	AutoApprove bool              `config:"auto_approve" narrower:"false" help:"write changes at once, and have none wait for a human"`
	SyncToDisk  bool              `config:"sync_to_disk" help:"false: the kernel alone has the files, and the disk is not touched"`
	AgentRoot   string            `config:"agent_root" help:"the folder of the workspace that the tools see; the whole of it by default"`
	Lint        map[string]string `config:"lint" help:"commands that check a changed file on standard input, by patterns of its {path}"`
	LintTimeout module.Seconds    `config:"lint_timeout" range:"1,120" help:"how long such a command may take"`

	MaxFile    int `constraint:"max_file_bytes" range:"1,4194304" help:"the largest file that is read or changed"`
	MaxPending int `constraint:"max_pending_files" range:"1,1000" help:"how many files may wait in a folder"`

	checks []check // made by Check
}

// check is a command for files whose paths match.
type check struct {
	pattern *pathglob.Pattern
	byName  bool // the pattern has no slash, and is one of names
	command string
}

func defaults() *settings {
	return &settings{SyncToDisk: true, LintTimeout: 10, MaxFile: 1 << 20, MaxPending: 100}
}

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *settings) Check() error {
	if s.AgentRoot != "" && !filepath.IsLocal(filepath.FromSlash(s.AgentRoot)) {
		return fmt.Errorf("agent_root %q is no folder of the workspace", s.AgentRoot)
	}
	s.checks = nil
	for _, text := range slices.Sorted(maps.Keys(s.Lint)) {
		pattern, err := pathglob.Parse(text)
		if err != nil {
			return fmt.Errorf("the pattern %q of lint cannot be read: %w", text, err)
		}
		s.checks = append(s.checks, check{pattern, path.Base(text) == text, s.Lint[text]})
	}
	return nil
}

// root is the folder that the tools see, "." for the workspace.
func (s *settings) root() string { return path.Clean(filepath.ToSlash(s.AgentRoot)) }

// handler makes the handler of a tool.
func handler[In any](m *files, name string, run func(*view, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		v, err := m.view(ctx, op, call, grant)
		if err != nil {
			return nil, err
		}
		return run(v, in)
	})
}

// changing is what the tools say of themselves that change a file. With auto_approve they do
// at once what filesystem.write does, so their risk is no lower.
func changing(mode tool.Mode) tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "file:{path}", Mode: mode}}, Risk: tool.Medium, SideEffect: tool.Write,
		ParamAliases: otherNames,
	}
}

// reading is what the tools say of themselves that read.
func reading() tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}}, Risk: tool.Low, SideEffect: tool.Read,
		Idempotent: true, MaxResult: 512 << 10, ParamAliases: otherNames,
	}
}

// otherNames are what other programs call the parameters.
var otherNames = []tool.ParamAlias{{Name: "file_path", Param: "path"}, {Name: "file", Param: "path"}}

const pathParam = `"path": {
      "type": "string", "minLength": 1, "description": "The file, relative to the workspace or absolute inside it."
    }`

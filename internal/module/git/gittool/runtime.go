package gittool

import (
	"time"

	"callgate/tool"
)

// RepoProperty and PathsProperty are parameters that most tools have.
const (
	RepoProperty = `"repo": {
      "type": "string", "default": ".",
      "description": "The repository's folder, relative to the workspace. Default: the workspace itself."
    }`
	PathsProperty = `"paths": {
      "type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 1000,
      "description": "Only these files and folders, relative to the repository. Literal: no patterns."
    }`
)

// CommitSchema is the JSON Schema of a commit in a result.
const CommitSchema = `{
      "type": "object",
      "properties": {
        "id": {"type": "string"},
        "parents": {"type": "array", "items": {"type": "string"}},
        "author": {"type": "string"},
        "email": {"type": "string"},
        "date": {"type": "string"},
        "committer": {"type": "string", "description": "Where it is not the author."},
        "committed": {"type": "string", "description": "When, if not at the date."},
        "refs": {"type": "array", "items": {"type": "string"}},
        "subject": {"type": "string"},
        "body": {"type": "string"}
      },
      "required": ["id", "parents", "author", "email", "date", "subject"]
    }`

// MaxTime is longer than an app file can give a call, so that the module's own
// limit always ends it first.
const MaxTime = 1860 * time.Second

// ReadRuntime is the runtime view of a tool that changes nothing.
func ReadRuntime() tool.Runtime {
	return tool.Runtime{
		Effects: repoEffects(tool.S), Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Timeout: MaxTime,
	}
}

// WriteRuntime is the runtime view of a tool that changes a repository, and
// with files its working tree.
func WriteRuntime(risk tool.Risk, files bool) tool.Runtime {
	r := tool.Runtime{Effects: repoEffects(tool.X), Risk: risk, SideEffect: tool.Write, Timeout: MaxTime}
	if files {
		r.Effects = append(r.Effects, tool.Effect{Resource: "workspace", Mode: tool.U})
	}
	return r
}

// NetworkRuntime is the runtime view of a tool that leaves the machine.
func NetworkRuntime(files bool) tool.Runtime {
	r := WriteRuntime(tool.High, files)
	r.SideEffect, r.Network = tool.External, true
	return r
}

// repoEffects is what a call touches: the repository, and the files of its working
// tree, which it reads. The intention on those stops no writer; it keeps the calls of
// one answer in order, such as a file that is written and then added.
func repoEffects(mode tool.Mode) []tool.Effect {
	return []tool.Effect{
		{Resource: "repo:{repo}", Mode: mode},
		{Resource: "repo:.", Mode: mode, Unless: []string{"repo"}},
		{Resource: "file:{repo}", Mode: tool.IS},
		{Resource: "file:.", Mode: tool.IS, Unless: []string{"repo"}},
	}
}

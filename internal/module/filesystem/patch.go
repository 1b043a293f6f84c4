package filesystem

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/patchfile"
	"callgate/internal/module/filesystem/patching"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/filesystem/textedit"
	"callgate/internal/module/filesystem/wholefile"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed patch.md
var patchDoc string

const patchInput = `{
  "type": "object",
  "properties": {
    "patch": {
      "type": "string", "minLength": 1,
      "description": "The patch, from *** Begin Patch to *** End Patch, or a unified diff."
    }
  },
  "required": ["patch"],
  "additionalProperties": false
}`

const patchOutput = `{
  "type": "object",
  "properties": {
    "files": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "path": {"type": "string", "description": "The file, relative to the workspace."},
          "action": {"type": "string", "enum": ["added", "updated", "deleted", "moved"]},
          "moved_to": {"type": "string", "description": "Its new path, if it was moved."},
          "added": {"type": "integer", "description": "Lines that came."},
          "removed": {"type": "integer", "description": "Lines that went."}
        },
        "required": ["path", "action"]
      }
    }
  },
  "required": ["files"]
}`

func patchTool(files *seen.Files) module.Definition {
	return module.Definition{
		Name: "apply_patch", Short: "ApplyPatch", Doc: patchDoc, Input: patchInput, Output: patchOutput,
		Examples: []tool.Example{
			module.Example("change one file, add one and delete one",
				`{"patch": "*** Begin Patch\n*** Update File: src/main.go\n@@ func main() {\n-\thelo()\n+\thello()\n`+
					`*** Add File: NOTES.md\n+# Notes\n*** Delete File: old.txt\n*** End Patch\n"}`),
		},
		Aliases: []string{
			"patch_file", "patch_files", "apply_diff", "apply_patch",
			"apply a patch", "apply a diff", "change several files at once",
			"appliquer un correctif", "appliquer un patch", "modifier plusieurs fichiers",
		},
		Tags: []string{"file", "text", "patch", "diff", "edit", "fichier", "modifier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{patch|files}", Mode: tool.X}},
			Risk:    tool.Medium, SideEffect: tool.Write, MaxResult: maxResult,
		},
		Handler: tracked("apply_patch", files, applyPatch),
	}
}

type patchArgs struct {
	Patch string `json:"patch"`
}

type patchedFile struct {
	Path    string `json:"path"`
	Action  string `json:"action"`
	MovedTo string `json:"moved_to,omitempty"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

func applyPatch(ctx context.Context, w workfile.Workspace, known seen.Workspace, in patchArgs) (*tool.Result, error) {
	patch, err := patchfile.Parse(in.Patch)
	if err != nil {
		return nil, tool.Errorf(w.Op, tool.Invalid, "the patch cannot be read: %v", err).
			WithHint("nothing was changed; mend that line and send the whole patch again")
	}
	size := int64(len(in.Patch))
	for i := range patch.Files {
		if at, err := w.Resolve(patch.Files[i].Path, true); err == nil && at.Info != nil {
			size += min(at.Info.Size(), wholefile.MaxSize)
		}
	}
	const copies = 4 // as bytes and as lines, before and after
	release, err := wholefile.Reserve(ctx, w, copies*size)
	if err != nil {
		return nil, err
	}
	defer release()
	p := patching.New(w, known)
	for i := range patch.Files {
		if err := p.Add(&patch.Files[i]); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, w.Fail("", err)
	}
	if err := p.Commit(); err != nil {
		return nil, err
	}
	return patchResult(p)
}

func patchResult(p *patching.Plan) (*tool.Result, error) {
	data := struct {
		Files []patchedFile `json:"files"`
	}{}
	var text strings.Builder
	for _, one := range p.Files {
		change := textedit.ChangeOf(one.Old, textedit.DiffSpan(one.Old, one.New))
		done := patchedFile{Path: one.At.Shown, Action: one.Action, Added: change.Added, Removed: change.Removed}
		fmt.Fprintf(&text, "%s %s", one.Action, one.At.Shown)
		if one.To != nil {
			done.MovedTo = one.To.Shown
			fmt.Fprintf(&text, " to %s", one.To.Shown)
		}
		fmt.Fprintf(&text, " (+%d −%d lines)\n", change.Added, change.Removed)
		if one.Action == "updated" && text.Len() < maxText {
			text.WriteString(change.Text)
		}
		data.Files = append(data.Files, done)
	}
	r, err := tool.OK("patched "+amount.Of(len(data.Files), "file"), data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(text.String())}
	}
	return r, err
}

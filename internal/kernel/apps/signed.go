package apps

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/app/llmtools"
	"callgate/internal/kernel/signatures"
	"callgate/internal/signing"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// loadSigned reads the files in force, without the tools that must be signed and are not.
func (l *Loader) loadSigned(
	ctx context.Context, files inforce.Files, workspace string, known app.KnownModules, partial bool,
) (*app.App, error) {
	a, err := loadFiles(l, files, workspace, known, partial)
	if err != nil {
		return nil, err
	}
	if err := l.sift(ctx, a); err != nil {
		return nil, err
	}
	return a, l.takeCatalogs(ctx, a, scopeOf(files, workspace))
}

// sift takes those LLM-backed tools out of an app that must be signed and do not count as that, and
// warns of each. What is checked is what was read, with the file's own signature.
func (l *Loader) sift(ctx context.Context, a *app.App) error {
	if !a.LLM.Signed || len(a.LLM.Tools) == 0 {
		return nil
	}
	keys, err := l.opt.Signatures.Trusted(ctx)
	if err != nil {
		return err
	}
	judged := map[*llmtools.File]error{}
	refused := map[tool.ID]bool{}
	for _, t := range oldestFirst(a.LLM.Tools) {
		why, known := judged[t.File]
		if !known {
			why = l.judge(ctx, a, t, keys)
			judged[t.File] = why
		}
		if why == nil {
			continue
		}
		said := fmt.Sprintf("%s: the tool %s is left out: %v", a.Path, t.ID, why)
		if a.Runtime.Strict {
			return tool.Errorf("apps.Load", tool.Invalid, "%s", said)
		}
		refused[t.ID] = true
		a.Warnings = append(a.Warnings, said)
	}
	if len(refused) == 0 {
		return nil
	}
	drop := func(of *llmtools.Block) {
		of.Tools = slices.DeleteFunc(slices.Clone(of.Tools), func(t llmtools.Tool) bool { return refused[t.ID] })
	}
	drop(&a.LLM)
	if project := a.OfProject(); project != nil && project != a {
		drop(&project.LLM)
	}
	return nil
}

// oldestFirst puts tools in the order in which they were signed: of two versions that come together,
// the older one comes first.
func oldestFirst(tools []llmtools.Tool) []llmtools.Tool {
	times := make(map[*llmtools.File]time.Time, len(tools))
	for _, t := range tools {
		if _, known := times[t.File]; !known && t.File != nil {
			times[t.File] = signing.Claimed(t.File.Signature)
		}
	}
	return slices.SortedStableFunc(slices.Values(tools), func(a, b llmtools.Tool) int {
		return times[a.File].Compare(times[b.File])
	})
}

// judge says why a tool does not count as signed.
func (l *Loader) judge(ctx context.Context, a *app.App, t llmtools.Tool, keys []signing.Key) error {
	if t.Builtin {
		return nil // the app turns it on, and the kernel has it
	}
	if t.File == nil {
		return signing.Refuse(signing.Unsigned, "write it into a file of a folder in tools.llm.dirs", "nobody knows its file")
	}
	id, any := t.ID.String(), t.ID.Dotted()
	if t.File.IsApp {
		id, any = "the app file", ""
	}
	place := cmp.Or(a.Path, "your own app file")
	if t.FromUser {
		place = "your own app file"
	}
	return l.opt.Signatures.Check(ctx, signatures.Content{
		Place: place, ID: id, Tool: any, File: t.File.Name, Folder: t.File.Folder, Data: []byte(t.File.Text),
		Signature: t.File.Signature,
	}, keys)
}

// signed is what checks the manifests of an app's folders; nil where they need no signature. The
// text names the keys by which it judges.
func (l *Loader) signed(ctx context.Context, a *app.App) (check executable.SignedFunc, named string, err error) {
	if !a.SignedDirs {
		return nil, "", nil
	}
	keys, err := l.opt.Signatures.Trusted(ctx)
	if err != nil {
		return nil, "", err
	}
	return func(m executable.Signed) error {
		return l.opt.Signatures.Check(context.WithoutCancel(ctx), signatures.Content{
			Place: a.Path, ID: "manifest " + m.ID.String(), File: m.File, Folder: m.Folder, Data: m.Data,
			Tool:      "manifest " + m.ID.Dotted() + " of " + filepath.Base(m.Folder), // a layer stands over another
			Signature: m.Signature, Program: m.Program,
		}, keys)
	}, fmt.Sprint(keys), nil
}

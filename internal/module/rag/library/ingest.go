package library

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"callgate/internal/amount"
	"callgate/internal/doctext"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Report says what an ingestion did.
type Report struct {
	Added     int       `json:"added"`
	Updated   int       `json:"updated"`
	Unchanged int       `json:"unchanged"`
	Removed   int       `json:"removed"`
	Chunks    int       `json:"chunks"` // that were written
	Skipped   []Skipped `json:"skipped,omitempty"`
	SkippedIn int       `json:"skipped_count,omitempty"`
	Warnings  []string  `json:"warnings,omitempty"`

	unit string // what the documents are called; "": documents
}

// Skipped is a document that was not ingested.
type Skipped struct {
	Document string `json:"document"`
	Why      string `json:"why"`
}

// maxTold bounds the documents that a report names.
const maxTold = 20

func (r *Report) skip(name, why string) {
	if r.SkippedIn++; len(r.Skipped) < maxTold {
		r.Skipped = append(r.Skipped, Skipped{name, why})
	}
}

// Summary is the report in words.
func (r *Report) Summary(base string) string {
	text := fmt.Sprintf("%s: %s added, %d updated, %d unchanged",
		base, amount.Of(r.Added, cmp.Or(r.unit, "document")), r.Updated, r.Unchanged)
	if r.Removed > 0 {
		text += fmt.Sprintf(", %d removed", r.Removed)
	}
	if r.SkippedIn > 0 {
		text += fmt.Sprintf(", %d skipped", r.SkippedIn)
	}
	return text + "; " + amount.Of(r.Chunks, "chunk") + " written"
}

// source is a document that is to be ingested.
type source struct {
	name string
	// hash tells one content from another.
	hash  string
	bytes int64
	read  func(ctx context.Context) (*doctext.Document, error)
}

// writer ingests documents into a base, some at a time.
type writer struct {
	*Library
	base   chunkstore.Base
	model  embedder // nil: no vectors
	known  map[string]chunkstore.Document
	moved  []string // documents that are as they were, and come from elsewhere now
	origin chunkstore.Origin

	extractors []compiled // of a folder

	report  Report
	pending []chunkstore.Stored
	waiting int      // chunks that are pending
	freed   int      // chunks that the pending ones replace
	chunks  int      // of the base
	staging *staging // of a base of several kernels; nil: documents are stored as they come
}

// recipe is a part of what a document's hash tells: another way of dividing makes all documents new.
const recipe = "1"

// writer begins an ingestion.
func (l *Library) writer(
	ctx context.Context, base chunkstore.Base, origin chunkstore.Origin,
) (w *writer, release func(), err error) {
	e, release, err := l.embedder()
	if err != nil {
		return nil, release, err
	}
	w = &writer{Library: l, base: base, origin: origin, known: map[string]chunkstore.Document{}, chunks: base.Chunks}
	if base.Shared {
		w.staging = newStaging(l, base)
		end := release
		release = func() { w.staging.discard(ctx); end() }
	}
	switch {
	case base.Model == "":
	case e != nil && e.ID() == base.Model:
		w.model = e
	default:
		release()
		return nil, func() {}, tool.Errorf(l.op, tool.Conflict, "%s has vectors of the model %s, and the app uses another",
			base.Name, base.Model).WithHint("compute its vectors anew first: %s", l.remedy())
	}
	documents, err := l.Documents(ctx, base)
	for _, d := range documents {
		w.known[d.Name] = d
	}
	return w, release, err
}

// add ingests a document if it is new. A document that cannot be read is in the report.
func (w *writer) add(ctx context.Context, s source) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", recipe, w.settings.ChunkBytes, s.hash))
	s.hash = hex.EncodeToString(sum[:16])
	was, known := w.known[s.name]
	if known && was.Hash == s.hash {
		if w.report.Unchanged++; was.Origin != w.origin {
			w.moved = append(w.moved, s.name)
		}
		return nil
	}
	d, err := s.read(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.report.skip(s.name, tool.Truncate(messageOf(err)))
		return nil
	}
	for _, text := range d.Warnings {
		if len(w.report.Warnings) < maxTold {
			w.report.Warnings = append(w.report.Warnings, s.name+": "+text)
		}
	}
	if known {
		w.report.Updated++
	} else {
		w.report.Added++
	}
	return w.put(ctx, s, d)
}

func (w *writer) put(ctx context.Context, s source, d *doctext.Document) error {
	w.scrub(d)
	stored := chunkstore.Stored{Document: chunkstore.Document{
		Name: s.name, Origin: w.origin, Title: d.Title, Format: string(d.Format), Hash: s.hash, Bytes: s.bytes,
		Ingested: time.Now(),
	}}
	for _, c := range d.Chunks(w.settings.ChunkBytes) {
		stored.Parts = append(stored.Parts, chunkstore.Chunk{Chunk: c})
	}
	w.report.Chunks += len(stored.Parts)
	w.waiting += len(stored.Parts)
	w.freed += w.known[s.name].Chunks
	stored.Chunks = len(stored.Parts)
	w.known[s.name] = stored.Document
	w.pending = append(w.pending, stored)
	const batch = 1000
	if w.waiting < batch {
		return nil
	}
	return w.flush(ctx)
}

// scrub takes secrets out of a document, before it is divided: a half of one would not be known.
func (w *writer) scrub(d *doctext.Document) {
	scrub := w.service.host.Scrub
	d.Title = scrub(d.Title)
	for i := range d.Sections {
		s := &d.Sections[i]
		s.Part, s.Lead = scrub(s.Part), scrub(s.Lead)
		for k := range s.Headings {
			s.Headings[k] = scrub(s.Headings[k])
		}
		for k := range s.Blocks {
			s.Blocks[k].Text = scrub(s.Blocks[k].Text)
		}
	}
}

// flush stores what is pending.
func (w *writer) flush(ctx context.Context) error {
	more := w.waiting - w.freed
	if w.chunks += more; more > 0 && w.chunks > w.settings.MaxChunks {
		return tool.Errorf(w.op, tool.Limited, "%s would have more than %d chunks", w.base.Name, w.settings.MaxChunks).
			WithHint("ingest less, use another knowledge base, or let the app file allow more: %s",
				w.settings.Key("constraints.max_chunks"))
	}
	if w.model != nil {
		if err := w.setVectors(ctx, w.model, w.pending); err != nil {
			return err
		}
	}
	if err := w.store(ctx); err != nil {
		return err
	}
	w.pending, w.waiting, w.freed, w.moved = nil, 0, 0, nil
	return nil
}

// store stores what is pending, or stages it.
func (w *writer) store(ctx context.Context) error {
	if s := w.staging; s != nil {
		s.changes.Moved, s.changes.Origin = append(s.changes.Moved, w.moved...), w.origin
		return s.put(ctx, w.pending)
	}
	if err := w.Put(ctx, w.base, w.pending); err != nil {
		return err
	}
	return w.SetOrigin(ctx, w.base, w.moved, w.origin)
}

// finish stores what is left, and ends the ingestion.
func (w *writer) finish(ctx context.Context) error {
	if err := w.flush(ctx); err != nil || w.staging == nil {
		return err
	}
	removed, err := w.staging.publish(ctx)
	w.report.Removed = removed
	return err
}

func messageOf(err error) string {
	if e, ok := err.(*tool.Error); ok {
		return e.Message
	}
	return err.Error()
}

// limits bound the documents that are read.
func (w *writer) limits() doctext.Limits { return doctext.Limits{Bytes: w.settings.MaxFile} }

// IngestText ingests a text under a name.
func (l *Library) IngestText(ctx context.Context, base chunkstore.Base, name, text string) (*Report, error) {
	read := func(ctx context.Context) (*doctext.Document, error) {
		return doctext.Read(ctx, name, []byte(text), doctext.Limits{Bytes: l.settings.MaxFile})
	}
	return l.ingestOne(ctx, base, chunkstore.Text, sourceOf(name, []byte(text), read))
}

// sourceOf is a document that is read of a content.
func sourceOf(name string, content []byte, read func(context.Context) (*doctext.Document, error)) source {
	sum := sha256.Sum256(content)
	return source{name: name, hash: hex.EncodeToString(sum[:]), bytes: int64(len(content)), read: read}
}

// ingestOne ingests a document, if its content has changed.
func (l *Library) ingestOne(
	ctx context.Context, base chunkstore.Base, origin chunkstore.Origin, s source,
) (*Report, error) {
	w, release, err := l.writer(ctx, base, origin)
	defer release()
	if err != nil {
		return nil, err
	}
	if err = w.add(ctx, s); err == nil {
		err = w.finish(ctx)
	}
	return &w.report, err
}

// IngestFiles ingests files of the workspace by their paths.
func (l *Library) IngestFiles(ctx context.Context, base chunkstore.Base, paths []string) (*Report, error) {
	workspace, err := workfile.New(l.op, l.grant)
	if err != nil {
		return nil, err
	}
	w, release, err := l.writer(ctx, base, chunkstore.File)
	defer release()
	if err != nil {
		return nil, err
	}
	for _, name := range paths {
		at, err := workspace.Existing(name, true)
		if err != nil {
			return nil, err
		}
		if err := w.addFile(ctx, workspace, at, at.Shown); err != nil {
			return nil, err
		}
	}
	return &w.report, w.finish(ctx)
}

// addFile ingests a file. Its path is that in the folder that is ingested.
func (w *writer) addFile(ctx context.Context, workspace workfile.Workspace, at workfile.Path, path string) error {
	f, info, err := workspace.OpenPath(at)
	if err != nil {
		w.report.skip(at.Shown, tool.Truncate(messageOf(err)))
		return nil
	}
	defer f.Close()
	if info.Size() > int64(w.settings.MaxFile) {
		w.report.skip(at.Shown, fmt.Sprintf("it is %s; at most %s are read", amount.Bytes(info.Size()),
			amount.Bytes(w.settings.MaxFile)))
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(w.settings.MaxFile)+1))
	if err != nil {
		w.report.skip(at.Shown, "it cannot be read")
		return nil
	}
	return w.add(ctx, w.reading(path, at.Shown, content))
}

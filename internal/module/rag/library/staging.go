package library

import (
	"context"
	"crypto/rand"
	"time"

	"callgate/internal/module/rag/chunkstore"
)

// staging is an ingestion into a base of several kernels, of which nobody sees anything before it is published.
type staging struct {
	*Library
	base    chunkstore.Base
	id      string
	changes chunkstore.Publication
}

func newStaging(l *Library, base chunkstore.Base) *staging {
	id := rand.Text()
	return &staging{Library: l, base: base, id: id, changes: chunkstore.Publication{
		Ingestion: id, Model: base.Model, NextModel: base.Model, MaxChunks: l.settings.MaxChunks,
	}}
}

// put stages documents.
func (s *staging) put(ctx context.Context, documents []chunkstore.Stored) error {
	if len(documents) == 0 {
		return nil
	}
	s.changes.Staged += len(documents)
	return s.service.Shared.Stage(ctx, s.base.ID, s.id, documents)
}

// publish ends the ingestion, and returns how many documents were removed.
func (s *staging) publish(ctx context.Context) (removed int, err error) {
	c := &s.changes
	if c.Staged == 0 && len(c.Removed) == 0 && len(c.Moved) == 0 && c.NextModel == c.Model {
		return 0, nil
	}
	if removed, err = s.service.Shared.Publish(ctx, s.base.ID, *c); err == nil {
		c.Staged = 0
	}
	return removed, err
}

// discard removes what was staged and not published. What cannot be removed now is removed by a later ingestion.
func (s *staging) discard(ctx context.Context) {
	if s.changes.Staged == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = s.service.Shared.Discard(ctx, s.id)
}

// migrateShared puts documents with vectors of another model in the place of all documents of a base.
func migrateShared(ctx context.Context, l *Library, base chunkstore.Base, e embedder, model string) (int, error) {
	s := newStaging(l, base)
	s.changes.NextModel, s.changes.Version, s.changes.MaxChunks = model, base.Version, 0
	defer s.discard(ctx)
	documents, err := l.Documents(ctx, base)
	if err != nil {
		return 0, err
	}
	known := make(map[string]chunkstore.Document, len(documents))
	var some []chunkstore.Stored
	for _, d := range documents {
		if known[d.Name] = d; d.Chunks == 0 {
			some = append(some, chunkstore.Stored{Document: d})
		}
	}
	const batch = 1000
	chunks, waiting := 0, 0
	var failed error
	flush := func() {
		if failed == nil {
			failed = s.putAnew(ctx, e, some)
		}
		some, waiting = nil, 0
	}
	err = l.Chunks(ctx, base, 0, func(c chunkstore.Chunk) { // those of a document come one after the other
		if n := len(some); n == 0 || some[n-1].Name != c.Document {
			if waiting >= batch {
				flush()
			}
			some = append(some, chunkstore.Stored{Document: known[c.Document]})
		}
		last := &some[len(some)-1]
		last.Parts = append(last.Parts, chunkstore.Chunk{Chunk: c.Chunk})
		chunks, waiting = chunks+1, waiting+1
	})
	if err != nil {
		return 0, err
	}
	if flush(); failed != nil {
		return 0, failed
	}
	_, err = s.publish(ctx)
	return chunks, err
}

// putAnew stages documents with vectors of a model; nil: without.
func (s *staging) putAnew(ctx context.Context, e embedder, documents []chunkstore.Stored) error {
	if e != nil {
		if err := s.setVectors(ctx, e, documents); err != nil {
			return err
		}
	}
	return s.put(ctx, documents)
}

// setVectors computes the vectors of the chunks of documents.
func (l *Library) setVectors(ctx context.Context, e embedder, documents []chunkstore.Stored) error {
	var texts []string
	for _, d := range documents {
		for _, c := range d.Parts {
			texts = append(texts, clip(chunkstore.SearchText(d.Title, c.Chunk)))
		}
	}
	rows, err := embedAll(ctx, e, texts)
	if err != nil {
		return l.noVectors(err)
	}
	for _, d := range documents {
		for i := range d.Parts {
			d.Parts[i].Vector, rows = rows[0], rows[1:]
		}
	}
	return nil
}

// Package library keeps the knowledge bases of a project: it ingests documents and answers
// questions about them with passages and their places.
//
// # Law
//
// A library belongs to one user, one app and one folder, and lies in a file of its own in the
// module's state. Beside it are the bases that the user and the app have at all nodes: see shared.go.
// Files are read through the workspace of the call. A document is read again only if its content
// changed, and what is gone from a folder is removed when the folder is ingested again. Texts leave
// the machine only for the embeddings endpoint that the app file names, through a guard. Where no
// vectors can be had, words alone decide, and the answer says so.
package library

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/module/rag/ranking"
	"callgate/internal/search/embed/vector"
	"callgate/tool"
)

// Service holds the libraries that are open, while the kernel runs.
type Service struct {
	// Shared keeps the bases of several kernels; nil: there are none. It is set before the service is used.
	Shared SharedBases

	host      module.Host
	queryTime time.Duration // of a query in SQL
	exact     int           // see ranking.Index

	mu     sync.Mutex
	closed bool
	stores []*openStore // the last used at the end
	held   []*held      // the indexes in memory, the last used at the end
}

// held is the index of a base in memory.
type held struct {
	mu      sync.Mutex // while it is brought up to date
	file    string
	base    int64
	model   string
	version int64
	index   *ranking.Index
}

// maxHeld bounds the indexes in memory.
const maxHeld = 8

// New returns a service. Nothing is opened before the first call needs it.
func New(h module.Host) *Service {
	if h.Scrub == nil {
		h.Scrub = func(text string) string { return text }
	}
	return &Service{host: h, queryTime: queryTime}
}

// Library is the knowledge bases of one call's project.
type Library struct {
	*chunkstore.Store
	service  *Service
	op       string
	call     tool.Call
	grant    tool.Grant
	settings *Settings
}

// ModelID is the model that documents are ingested with now; "": words alone count.
func (l *Library) ModelID() (string, error) {
	e, release, err := l.embedder()
	defer release()
	if err != nil || e == nil {
		return "", err
	}
	return e.ID(), nil
}

// BaseOrNew finds a base, and makes it where there is none.
func (l *Library) BaseOrNew(ctx context.Context, name string) (chunkstore.Base, error) {
	base, err := l.Base(ctx, name)
	if tool.KindOf(err) != tool.NotFound {
		return base, err
	}
	model, err := l.ModelID()
	if err != nil {
		return base, err
	}
	base, err = l.Create(ctx, chunkstore.Base{Name: name, Model: model})
	if tool.KindOf(err) == tool.Conflict { // somebody was faster
		return l.Base(ctx, name)
	}
	return base, err
}

// index returns the index of a base, up to date.
func (l *Library) index(ctx context.Context, base chunkstore.Base) (*ranking.Index, error) {
	h := l.service.hold(placeOf(l, base), base.ID)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.index != nil && h.model == base.Model && h.version == base.Version {
		return h.index, nil
	}
	if h.index != nil && h.model == base.Model {
		ids, err := l.IDs(ctx, base)
		if err != nil {
			return nil, err
		}
		if worn := h.index.Keep(ids); worn {
			h.index = nil
		}
	}
	if h.model != base.Model {
		h.index = nil
	}
	next := h.index
	if next == nil {
		next = &ranking.Index{Exact: l.service.exact}
	}
	if err := l.addChunks(ctx, base, next); err != nil {
		h.index = nil // it may have a part of what is new
		return nil, err
	}
	h.index, h.model, h.version = next, base.Model, base.Version
	return next, nil
}

// addChunks adds the chunks that an index has not.
func (l *Library) addChunks(ctx context.Context, base chunkstore.Base, x *ranking.Index) error {
	const batch = 2000
	var some []ranking.Entry
	err := l.Chunks(ctx, base, x.Last(), func(c chunkstore.Chunk) {
		some = append(some, ranking.Entry{ID: c.ID, Text: c.SearchText(), Vector: c.Vector})
		if len(some) == batch {
			x.Add(some)
			some = some[:0]
		}
	})
	x.Add(some)
	return err
}

// hold finds the place of an index in memory. The one that was used longest ago makes room.
func (s *Service) hold(file string, base int64) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, h := range s.held {
		if h.file == file && h.base == base {
			s.held = append(append(s.held[:i:i], s.held[i+1:]...), h)
			return h
		}
	}
	h := &held{file: file, base: base}
	if s.held = append(s.held, h); len(s.held) > maxHeld {
		s.held = append([]*held(nil), s.held[1:]...)
	}
	return h
}

// Forget drops the indexes of a library from memory, and returns how many there were. The next
// question reads them again.
func (l *Library) Forget() int {
	l.service.mu.Lock()
	defer l.service.mu.Unlock()
	var kept []*held
	for _, h := range l.service.held {
		if h.file != l.Path() && h.file != SharedPrefix {
			kept = append(kept, h)
		}
	}
	n := len(l.service.held) - len(kept)
	l.service.held = kept
	return n
}

// Migrate computes the vectors of a base anew, with the model of now.
func (l *Library) Migrate(ctx context.Context, base chunkstore.Base) (model string, chunks int, err error) {
	e, release, err := l.embedder()
	defer release()
	if err != nil {
		return "", 0, err
	}
	if e != nil {
		model = e.ID()
	}
	if base.Shared {
		chunks, err = migrateShared(ctx, l, base, e, model)
		return model, chunks, err
	}
	vectors := map[int64]vector.Row{}
	if e != nil {
		var ids []int64
		var texts []string
		err = l.Chunks(ctx, base, 0, func(c chunkstore.Chunk) {
			ids, texts = append(ids, c.ID), append(texts, clip(c.SearchText()))
		})
		if err != nil {
			return "", 0, err
		}
		rows, err := embedAll(ctx, e, texts)
		if err != nil {
			return "", 0, l.noVectors(err)
		}
		for i, id := range ids {
			vectors[id] = rows[i]
		}
	}
	if err := l.SetVectors(ctx, base, model, vectors); err != nil {
		return "", 0, err
	}
	return model, len(vectors), nil
}

// remedy is the tool that computes vectors anew.
func (l *Library) remedy() string {
	if strings.HasPrefix(l.op, "index.") {
		return "index.scan"
	}
	return "rag.migrate_embeddings"
}

// noVectors is the error of a model that does not answer.
func (l *Library) noVectors(err error) error {
	var told *tool.Error
	if errors.As(err, &told) {
		return told
	}
	return tool.Errorf(l.op, tool.Unavailable, "no vectors could be made: %w", err)
}

// maxEmbedded bounds the text that a vector is made of.
const maxEmbedded = 8 << 10

// clip returns the beginning of a text, cut between two characters.
func clip(text string) string {
	if len(text) <= maxEmbedded {
		return text
	}
	return strings.ToValidUTF8(text[:maxEmbedded], "")
}

// embedAll computes the vectors of texts, as they are stored.
func embedAll(ctx context.Context, e embedder, texts []string) ([]vector.Row, error) {
	rows := make([]vector.Row, 0, len(texts))
	const batch = 512
	for len(texts) > 0 {
		some := texts[:min(batch, len(texts))]
		texts = texts[len(some):]
		got, err := e.Embed(ctx, some)
		if err == nil && len(got) != len(some) {
			err = errors.New("the model gave another number of vectors than of texts")
		}
		if err != nil {
			return nil, err
		}
		for _, v := range got {
			values, scale := vector.Quantize(v)
			rows = append(rows, vector.Row{Values: values, Scale: scale})
		}
	}
	return rows, nil
}

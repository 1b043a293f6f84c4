package search

import (
	"context"

	"callgate/internal/search/embed"
	"callgate/internal/search/embed/vector"
)

// Embedder turns texts into vectors of the same dimension. Their cosine is the
// similarity of the texts' meanings.
type Embedder interface {
	ID() string // of the model and its version: equal IDs, equal vectors
	EmbedAll(ctx context.Context, texts []string) ([][]float32, error)
}

// Static is an embedder with a static model.
type Static struct{ Model *embed.Static }

// ID is the ID of the model.
func (s Static) ID() string { return s.Model.ID() }

// EmbedAll never fails.
func (s Static) EmbedAll(_ context.Context, texts []string) ([][]float32, error) {
	list := make([][]float32, len(texts))
	inParallel(len(texts), func(i int) { list[i] = s.Model.Embed(nil, texts[i]) })
	return list, nil
}

// The recipe of a tool's row. It is part of the name of a cache, so that a new
// recipe begins a new cache.
const (
	recipe     = "whole + 0.3 name, 1"
	nameWeight = 0.3
)

// embedded computes the rows of documents.
func embedded(ctx context.Context, e Embedder, docs []document) ([]vector.Row, error) {
	texts := make([]string, 0, 2*len(docs))
	for _, d := range docs {
		whole, name := d.texts()
		texts = append(texts, whole, name)
	}
	vectors, err := e.EmbedAll(ctx, texts)
	if err != nil {
		return nil, err
	}
	rows := make([]vector.Row, len(docs))
	for i := range docs {
		rows[i] = combine(vectors[2*i], vectors[2*i+1])
	}
	return rows, nil
}

// combine computes a tool's row. The dot product with it is the weighted mean of
// two cosines.
func combine(whole, name []float32) vector.Row {
	sum := make([]float32, len(whole))
	for i := range sum {
		sum[i] = (whole[i] + nameWeight*name[i]) / (1 + nameWeight)
	}
	values, scale := vector.Quantize(sum)
	return vector.Row{Values: values, Scale: scale}
}

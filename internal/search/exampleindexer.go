package search

import (
	"context"
	"slices"

	"callgate/internal/search/embed/vector"
)

// exampleQueue holds the examples that an endpoint has not embedded yet, and the
// rows that no cache keeps. The lock of the indexer guards it.
type exampleQueue struct {
	docs   []document   // whose examples are to be embedded
	texts  []string     // of catalogs, to be embedded
	asked  map[key]bool // those of texts
	memory map[key]vector.Row
}

// maxMemory limits the rows that only memory keeps. Beyond it they are computed
// again.
const maxMemory = 1 << 14

// exampleBatch is the number of documents whose examples are embedded at once.
const exampleBatch = batchSize / maxExamples

// examplesOf computes the rows of the examples of documents, with a static model.
func (v *vectorIndexer) examplesOf(docs []document, documents int) []withExamples {
	texts := make([][]string, len(docs))
	inParallel(len(docs), func(i int) { texts[i] = v.index.examples(docs[i], documents) })
	list := make([]withExamples, 0, len(docs))
	for i, d := range docs {
		if len(texts[i]) > 0 {
			list = append(list, withExamples{key: d.key, texts: texts[i]})
		}
	}
	_ = v.complete(context.Background(), list) // a static model does not fail
	return list
}

// complete computes the rows of examples: from the cache, or by the embedder.
func (v *vectorIndexer) complete(ctx context.Context, list []withExamples) error {
	var all []string
	for _, d := range list {
		all = append(all, d.texts...)
	}
	rows, err := v.embedExamples(ctx, all, false)
	if err != nil {
		return err
	}
	for i := range list {
		n := len(list[i].texts)
		list[i].rows, rows = rows[:n:n], rows[n:]
	}
	return nil
}

// exampleRows returns the rows of a catalog's examples. A static model computes
// what is missing; otherwise those have no values, and missing names them.
func (v *vectorIndexer) exampleRows(
	ctx context.Context, texts []string, private bool,
) (rows []vector.Row, missing []string) {
	if len(texts) == 0 {
		return nil, nil
	}
	if v.quick() {
		rows, _ = v.embedExamples(ctx, texts, private) // a static model does not fail
		return rows, nil
	}
	rows, at := v.storedExamples(texts)
	for _, i := range at {
		missing = append(missing, texts[i])
	}
	return rows, missing
}

// embedExamples returns the rows of examples. It keeps those that it computes; the
// private ones in memory alone.
func (v *vectorIndexer) embedExamples(ctx context.Context, texts []string, private bool) ([]vector.Row, error) {
	rows, missing := v.storedExamples(texts)
	if len(missing) == 0 {
		return rows, nil
	}
	ask := make([]string, len(missing))
	for i, at := range missing {
		ask[i] = texts[at]
	}
	vectors, err := v.index.opts.Embedder.EmbedAll(ctx, ask)
	if err != nil {
		return nil, err
	}
	inParallel(len(missing), func(i int) {
		values, scale := vector.Quantize(vectors[i])
		rows[missing[i]] = vector.Row{Values: values, Scale: scale}
	})
	v.keepExamples(texts, rows, missing, private)
	return rows, nil
}

// storedExamples returns the rows that memory or the cache has, and the places of
// the others.
func (v *vectorIndexer) storedExamples(texts []string) (rows []vector.Row, missing []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rows = make([]vector.Row, len(texts))
	for i, text := range texts {
		k := exampleKey(text)
		row, ok := v.queue.memory[k]
		if !ok && v.cache != nil {
			row.Values, row.Scale, ok = v.cache.Get(k)
		}
		if rows[i] = row; !ok {
			missing = append(missing, i)
		}
	}
	return rows, missing
}

// keepExamples keeps rows that were computed.
func (v *vectorIndexer) keepExamples(texts []string, rows []vector.Row, computed []int, private bool) {
	v.mu.Lock()
	cache := v.cache
	if cache == nil || private {
		if v.queue.memory == nil || len(v.queue.memory)+len(computed) > maxMemory {
			v.queue.memory = map[key]vector.Row{}
		}
		for _, i := range computed[:min(len(computed), maxMemory)] {
			v.queue.memory[exampleKey(texts[i])] = rows[i]
		}
		cache = nil
	}
	v.mu.Unlock()
	if cache == nil {
		return
	}
	for _, i := range computed {
		cache.Put(exampleKey(texts[i]), rows[i].Values, rows[i].Scale)
	}
	_ = cache.Flush() // rows that are not on disk are computed again
}

// queueExamples has an endpoint embed the examples of documents later.
func (v *vectorIndexer) queueExamples(docs []document, documents int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, d := range docs {
		if len(v.index.examples(d, documents)) > 0 {
			v.queue.docs = append(v.queue.docs, d)
		}
	}
}

// fillExamples starts to embed the examples of a catalog in the background. What
// is in the queue is not added again.
func (v *vectorIndexer) fillExamples(texts []string) {
	if len(texts) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.queue.asked == nil {
		v.queue.asked = map[key]bool{}
	}
	for _, text := range texts {
		if k := exampleKey(text); !v.queue.asked[k] && len(v.queue.texts) < maxMemory {
			v.queue.asked[k] = true
			v.queue.texts = append(v.queue.texts, text)
		}
	}
	v.start()
}

// nextExamples returns the examples that are embedded next: of some documents, or
// of catalogs.
func (v *vectorIndexer) nextExamples() (docs []document, texts []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.queue.docs) > 0 {
		return v.queue.docs[:min(exampleBatch, len(v.queue.docs))], nil
	}
	return nil, v.queue.texts[:min(batchSize, len(v.queue.texts))]
}

// batchOfExamples embeds some of the queued examples. That makes a new state, so
// catalogs are made anew.
func (v *vectorIndexer) batchOfExamples(ctx context.Context) error {
	docs, texts := v.nextExamples()
	list := make([]withExamples, 0, len(docs))
	documents := len(v.index.current.Load().slots)
	for _, d := range docs {
		if of := v.index.examples(d, documents); len(of) > 0 {
			list = append(list, withExamples{key: d.key, texts: of})
		}
	}
	if err := v.complete(ctx, list); err != nil {
		return err
	}
	if _, err := v.embedExamples(ctx, texts, false); err != nil {
		return err
	}
	v.mu.Lock()
	v.queue.docs = slices.Clone(v.queue.docs[len(docs):])
	v.queue.texts = slices.Clone(v.queue.texts[len(texts):])
	for _, text := range texts {
		delete(v.queue.asked, exampleKey(text))
	}
	v.mu.Unlock()
	v.index.addExamples(list)
	return nil
}

// addExamples publishes a state with the examples of further documents.
func (x *Index) addExamples(list []withExamples) {
	x.mu.Lock()
	defer x.mu.Unlock()
	next := *x.current.Load()
	next.examples = next.examples.add(&next, list)
	x.current.Store(&next)
}

package library

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"callgate/internal/doctext"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/module/rag/ranking"
)

// Question is what is asked of knowledge bases.
type Question struct {
	Text string
	Mode ranking.Mode // "": both
	Most int
	// Under, unless it is empty, is the folder or the document that passages come from.
	Under string
}

// Passage is a part of a document that answers a question.
type Passage struct {
	Base     string   `json:"base"`
	Document string   `json:"document"`
	Title    string   `json:"title,omitempty"`
	Headings []string `json:"headings,omitempty"`
	Place    string   `json:"place"`
	Citation string   `json:"citation"`
	Unit     string   `json:"unit"`
	Part     string   `json:"part,omitempty"`
	First    int      `json:"first"`
	Last     int      `json:"last"`
	Score    float64  `json:"score"`
	Keywords float64  `json:"keywords"`
	Meaning  float64  `json:"meaning"`
	Text     string   `json:"text"`

	id int64
}

// Answer is the passages that answer a question, the best first.
type Answer struct {
	Passages []Passage
	Warnings []string
}

// Ask answers a question from bases.
func (l *Library) Ask(ctx context.Context, bases []chunkstore.Base, q Question) (*Answer, error) {
	a := &Answer{}
	vectors := l.questionVectors(ctx, bases, q, a)
	var all []found
	for _, base := range bases {
		x, err := l.index(ctx, base)
		if err != nil {
			return nil, err
		}
		most := 4 * q.Most // some are left out below
		if q.Under != "" {
			most = max(1000, 50*q.Most)
		}
		for _, h := range x.Rank(ranking.Query{Text: q.Text, Vector: vectors[base.Model], Mode: q.Mode, Most: most}) {
			all = append(all, found{base, h})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.hit.Score, a.hit.Score) })
	return a, l.choose(ctx, q, all, a)
}

// found is a chunk of a base that may be in an answer.
type found struct {
	base chunkstore.Base
	hit  ranking.Hit
}

// choose takes the best passages into an answer. A text that stands in several documents is given
// once.
func (l *Library) choose(ctx context.Context, q Question, all []found, a *Answer) error {
	texts := map[string]bool{}
	reader := hitChunks{l, all, map[chunkKey][]chunkstore.Chunk{}}
	for i, f := range all {
		if len(a.Passages) == q.Most {
			break
		}
		chunks, err := reader.at(ctx, i)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			outside := q.Under != "" && c.Document != q.Under &&
				!strings.HasPrefix(c.Document, strings.TrimSuffix(q.Under, "/")+"/")
			if outside || texts[c.Text] {
				continue
			}
			texts[c.Text] = true
			p := PassageOf(f.base.Name, c)
			p.Score, p.Keywords, p.Meaning = round(f.hit.Score), round(f.hit.Keywords), round(f.hit.Meaning)
			a.Passages = append(a.Passages, p)
		}
	}
	return nil
}

// PassageOf writes a chunk for those who read it.
func PassageOf(base string, c chunkstore.Chunk) Passage {
	citation := c.Document + ", " + c.Place()
	if c.Unit == doctext.Key { // the place says it all
		citation = c.Place()
	}
	return Passage{
		Base: base, Document: c.Document, Title: c.Title, Headings: c.Headings, Place: c.Place(),
		Citation: citation, Unit: string(c.Unit), Part: c.Part, First: c.First, Last: c.Last,
		Text: c.Text, id: c.ID,
	}
}

func round(x float64) float64 { return float64(int(x*10_000+0.5)) / 10_000 }

// questionVectors returns the vector of a question for each model that the bases have.
func (l *Library) questionVectors(
	ctx context.Context, bases []chunkstore.Base, q Question, a *Answer,
) map[string][]float32 {
	vectors := map[string][]float32{}
	if q.Mode == ranking.Keywords {
		return vectors
	}
	e, release, err := l.embedder()
	defer release()
	for _, base := range bases {
		if base.Model == "" || vectors[base.Model] != nil {
			continue
		}
		if err == nil && (e == nil || e.ID() != base.Model) {
			a.Warnings = append(a.Warnings, base.Name+" has vectors of another model ("+base.Model+
				"), so words alone counted there: "+l.remedy()+" computes them anew")
			continue
		}
		var got [][]float32
		if err == nil {
			got, err = e.Embed(ctx, []string{clip(q.Text)})
		}
		if err != nil || len(got) != 1 {
			a.Warnings = append(a.Warnings, "meaning did not count, words alone did: "+messageOf(l.noVectors(err)))
			return vectors
		}
		vectors[base.Model] = got[0]
	}
	return vectors
}

// AskAll answers several questions about the same, with one list of passages: those that are high
// in several answers come first.
func (l *Library) AskAll(ctx context.Context, bases []chunkstore.Base, texts []string, q Question) (*Answer, error) {
	const rankWeight = 60 // of reciprocal rank fusion, as its authors chose it
	merged := &Answer{}
	at := map[chunkKey]int{}
	for _, text := range texts {
		one := q
		one.Text, one.Most = text, 4*q.Most
		a, err := l.Ask(ctx, bases, one)
		if err != nil {
			return nil, err
		}
		for rank, p := range a.Passages {
			key := chunkKey{p.Base, p.id}
			i, known := at[key]
			if !known {
				i = len(merged.Passages)
				at[key] = i
				kept := p
				kept.Score = 0
				merged.Passages = append(merged.Passages, kept)
			}
			merged.Passages[i].Score += 1 / float64(rankWeight+rank+1)
		}
		for _, w := range a.Warnings {
			if !slices.Contains(merged.Warnings, w) {
				merged.Warnings = append(merged.Warnings, w)
			}
		}
	}
	slices.SortStableFunc(merged.Passages, func(a, b Passage) int { return cmp.Compare(b.Score, a.Score) })
	merged.Passages = merged.Passages[:min(len(merged.Passages), q.Most)]
	for i := range merged.Passages {
		merged.Passages[i].Score = round(merged.Passages[i].Score)
	}
	return merged, nil
}

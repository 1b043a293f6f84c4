package httpapi

import (
	"net/http"

	"callgate/internal/protocol"
	"callgate/internal/search"
)

func (a *api) search(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	var q protocol.Search
	if err := read(r, &q); err != nil {
		return err
	}
	found, err := s.View().Search(r.Context(), search.Request{
		Queries: q.Queries, Limit: q.Limit, Offset: q.Offset,
		Filter: search.Filter{Modules: q.Modules, Tags: q.Tags, MaxRisk: q.MaxRisk, SideEffects: q.SideEffects},
	})
	if err != nil {
		return err
	}
	out := protocol.SearchResult{Answers: make([]protocol.QueryResult, len(found.Answers)), Unmatched: found.Unmatched, Degraded: found.Degraded}
	for i, given := range found.Answers {
		one := protocol.QueryResult{Query: given.Query, Total: given.Total, Hits: make([]protocol.SearchHit, len(given.Hits))}
		for j, h := range given.Hits {
			t := a.describe(s.View().Of(h.Tool))
			if !q.Schemas {
				t.Input, t.Output = nil, nil
			}
			one.Hits[j] = protocol.SearchHit{Tool: t, Score: h.Score, Semantic: h.Semantic, Why: h.Why()}
		}
		out.Answers[i] = one
	}
	return answer(w, out)
}

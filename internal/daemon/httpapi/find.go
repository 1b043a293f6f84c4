package httpapi

import (
	"net/http"

	"callgate/internal/app"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/protocol"
	"callgate/internal/provider/catalog"
	"callgate/toolcatalog"
)

// findRoutes finds tools by what is exactly known of them, and models that are good at one.
type findRoutes struct{ tools *toolRoutes }

func (a *findRoutes) routes() map[string]route.Func {
	return map[string]route.Func{protocol.RouteFindTools: a.find, protocol.RouteToolModels: a.models}
}

// scores are what the app of a session knows of models.
func scores(a *app.App) toolcatalog.Scores {
	if a == nil {
		return catalog.Default()
	}
	return a.LLM.Table()
}

func (a *findRoutes) find(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.tools.kernel, r)
	if err != nil {
		return err
	}
	var in protocol.FindTools
	if err := route.Read(r, &in); err != nil {
		return err
	}
	found, err := s.View().FindBy(r.Context(), toolcatalog.Filter(in), scores(s.App()))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(found, func(v toolview.Tool) protocol.Tool {
		t := a.tools.describe(v)
		t.Input, t.Output = nil, nil
		return t
	}))
}

func (a *findRoutes) models(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.tools.kernel, r)
	if err != nil {
		return err
	}
	var in protocol.FindModels
	if err := route.Read(r, &in); err != nil {
		return err
	}
	t, err := s.View().Tool(r.Context(), in.Tool)
	if err != nil {
		return err
	}
	found, err := toolcatalog.ModelsFor(t.Tool, scores(s.App()), in.MinScore)
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.ToolModels{
		Tool:   t.ID.String(),
		Models: wire.List(found, func(m toolcatalog.ModelScore) protocol.ModelScore { return protocol.ModelScore(m) }),
	})
}

// searchWords answers a search by words.
func (a *toolRoutes) searchWords(
	r *http.Request, s *session.Session, q protocol.Search,
) (protocol.SearchResult, error) {
	queries := q.Queries
	if len(queries) == 0 {
		queries = []string{""}
	}
	var out protocol.SearchResult
	for _, text := range queries {
		ask := toolcatalog.Query{Text: text, Limit: q.Limit}
		if len(q.Modules) > 0 {
			ask.Namespace = q.Modules[0]
		}
		hits, err := s.View().SearchWords(r.Context(), ask)
		if err != nil {
			return out, err
		}
		if len(hits) == 0 {
			out.Unmatched = append(out.Unmatched, text)
		}
		out.Answers = append(out.Answers, protocol.QueryResult{Query: text, Total: len(hits), Hits: wire.List(hits,
			func(h toolcatalog.Hit) protocol.SearchHit {
				t := a.describe(s.View().Of(h.Tool))
				if !q.Schemas {
					t.Input, t.Output = nil, nil
				}
				return protocol.SearchHit{Tool: t, Score: h.Score}
			})})
	}
	return out, nil
}

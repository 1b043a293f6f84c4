package figures

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel/session"
	"callgate/internal/modeluse"
	"callgate/internal/protocol"
	"callgate/llmtool"
	"callgate/tool"
)

func (a *figureRoutes) use(w http.ResponseWriter, r *http.Request) error {
	since, err := timeOf(r)
	if err != nil {
		return err
	}
	_ = a.kernel.Journal.Flush(r.Context())
	rows, err := modeluse.Collect(r.Context(), a.kernel.Journal, modeluse.Query{Since: since, Tool: r.FormValue("tool")})
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(rows, wire.ModelUse))
}

// advice says which models a tool of a session should ask, by the calls of its app.
func (a *figureRoutes) advice(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	since, err := timeOf(r)
	if err != nil {
		return err
	}
	var least uint64
	if err := route.Number(r, "min_calls", &least); err != nil {
		return err
	}
	t, err := s.View().Tool(r.Context(), r.FormValue("tool"))
	if err != nil {
		return err
	}
	d, ok := llmtool.DefinitionOf(t.Tool)
	if !ok {
		return tool.Errorf("httpapi", tool.Invalid, "%s asks no model", t.ID.Dotted()).
			WithHint("callgate models shows the tools that do")
	}
	_ = a.kernel.Journal.Flush(r.Context())
	rows, err := modeluse.Collect(r.Context(), a.kernel.Journal, modeluse.Query{
		Since: since, Tool: t.ID.String(), App: s.Caller().Principal().App,
	})
	if err != nil {
		return err
	}
	found, err := modeluse.Advise(askedNow(s, t.ID, d), rows, int(min(least, 1_000_000)))
	if err != nil {
		return err
	}
	return route.Answer(w, adviceDTO(s, t.ID, found))
}

// askedNow lists the models that a tool asks, in order.
func askedNow(s *session.Session, id tool.ID, d llmtool.Definition) []string {
	p := d.ModelPreference
	if a := s.App(); a != nil {
		p.Fallbacks = slices.Concat(a.LLM.First(id), []string{p.Preferred}, p.Fallbacks)
		p.Preferred = ""
		if name := a.LLM.Default(id); len(p.Models()) == 0 && name != "" {
			return []string{name}
		}
	}
	return p.Models()
}

func adviceDTO(s *session.Session, id tool.ID, found modeluse.Advice) protocol.ModelAdvice {
	out := protocol.ModelAdvice{
		Tool: id.String(), Now: found.Now, Models: found.Models, Reason: found.Reason, AppFile: s.Loaded().AppFile(),
	}
	if len(found.Models) > 0 {
		out.Choices = map[string][]string{}
		if project := s.App().OfProject(); project != nil {
			maps.Copy(out.Choices, project.LLM.Chosen)
		}
		out.Choices[id.String()] = found.Models
	}
	return out
}

// timeOf reads since when calls count.
func timeOf(r *http.Request) (since time.Time, err error) {
	if text := r.FormValue("since"); text != "" {
		if since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return since, tool.Errorf("httpapi", tool.Invalid, "since %q is no time", tool.Truncate(text)).
				WithHint("write it as 2026-01-02T15:04:05Z")
		}
	}
	return since, nil
}

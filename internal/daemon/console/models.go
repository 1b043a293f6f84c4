package console

import (
	"net/http"
	"time"

	"callgate/internal/amount"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// modelPages shows how models did, and the gate.
type modelPages struct{ *Console }

func (c *modelPages) routes() map[string]serve {
	return map[string]serve{"GET /models": c.models, "GET /stats": c.stats}
}

// modelsData is how each model did at each LLM-backed tool, out of the journal.
type modelsData struct {
	Since string
	Use   []protocol.ModelUse
}

func (c *modelPages) models(w http.ResponseWriter, r *http.Request) error {
	d := modelsData{Since: r.FormValue("since")}
	if d.Since == "" {
		d.Since = "30d"
	}
	span, ok := amount.ParseSpan(d.Since)
	if !ok {
		return tool.Errorf("console.models", tool.Invalid, "since is %q", tool.Truncate(d.Since)).
			WithHint("write it as 30d, 2w or 12h")
	}
	var err error
	if d.Use, err = client.NewModelUse(c.Client(r)).List(r.Context(), time.Now().Add(-span), ""); err != nil {
		return err
	}
	return c.show(w, r, "models", page{Title: "Models", Nav: "models", Data: d})
}

package console

import (
	"cmp"
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
	text, since, err := sinceOf(r)
	if err != nil {
		return err
	}
	d := modelsData{Since: text}
	if d.Use, err = client.NewModelUse(c.Client(r)).List(r.Context(), since, ""); err != nil {
		return err
	}
	return c.show(w, r, "models", page{Title: "Models", Nav: "models", Data: d})
}

// sinceOf is since when the page of a request shows things, as the person wrote it and as a time.
func sinceOf(r *http.Request) (text string, since time.Time, err error) {
	text = cmp.Or(r.FormValue("since"), "30d")
	span, ok := amount.ParseSpan(text)
	if !ok {
		return text, since, tool.Errorf("console", tool.Invalid, "since is %q", tool.Truncate(text)).
			WithHint("write it as 30d, 2w or 12h")
	}
	return text, time.Now().Add(-span), nil
}

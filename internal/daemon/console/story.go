package console

import (
	"net/http"
	"net/url"

	"callgate/internal/daemon/console/calls"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (c *journalPages) story(w http.ResponseWriter, r *http.Request) error {
	data, err := calls.ReadStory(r.Context(), c.Client(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	p := page{Title: data.Row.Tool, Nav: "journal", Data: data}
	if data.Running {
		p.Live = "call?id=" + url.QueryEscape(r.PathValue("id"))
	}
	return c.show(w, r, "call", p)
}

// resolve says what became of a call in doubt.
func (c *journalPages) resolve(w http.ResponseWriter, r *http.Request) error {
	happened := map[string]bool{"happened": true, "not": false}
	yes, said := happened[r.FormValue("action")]
	if !said {
		return tool.Errorf("console.resolve", tool.Invalid, "the form does not say what became of the call").
			WithHint("use one of its buttons")
	}
	id := r.PathValue("id")
	word := protocol.ResolveDoubt{Happened: yes, By: c.Person(r).Name}
	if err := c.Client(r).Resolve(r.Context(), id, word); err != nil {
		return err
	}
	return back(w, r, "/calls/"+url.PathEscape(id))
}

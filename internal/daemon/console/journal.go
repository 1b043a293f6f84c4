package console

import (
	"net/http"
	"strconv"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/console/calls"
	"callgate/internal/daemon/console/widget"
)

// journalPages shows what happened, and undoes it.
type journalPages struct{ *Console }

func (c *journalPages) routes() map[string]serve {
	return map[string]serve{
		"GET /journal":         c.journal,
		"POST /journal/verify": c.verify,
		"GET /calls/{id}":      c.story,
		"GET /widgets/{id}":    widget.Pages(c.Client),
		"GET /undo":            c.undo,
		"POST /undo":           c.doUndo,
		"POST /doubts/{id}":    c.resolve,
	}
}

func (c *journalPages) journal(w http.ResponseWriter, r *http.Request) error {
	filter, err := calls.ReadFilter(r.URL.Query(), time.Now())
	if err != nil {
		return err
	}
	before, _ := strconv.ParseUint(r.FormValue("before"), 10, 64) // what is no number is the newest
	data, err := calls.Read(r.Context(), c.Client(r), filter, before, calls.OnPage)
	if err != nil {
		return err
	}
	p := page{Title: "Journal", Nav: "journal", Data: data}
	if data.First {
		p.Live = "journal?" + filter.Query().Encode()
	}
	return c.show(w, r, "journal", p)
}

func (c *journalPages) verify(w http.ResponseWriter, r *http.Request) error {
	report, err := client.VerifyNodes(r.Context(), c.Client(r))
	if err != nil {
		return err
	}
	data, err := calls.Read(r.Context(), c.Client(r), calls.Filter{}, 0, calls.OnPage)
	if err != nil {
		return err
	}
	data.Verify = &report
	return c.show(w, r, "journal", page{Title: "Journal", Nav: "journal", Data: data})
}

package console

import (
	"net/http"

	"callgate/internal/client"
	"callgate/internal/protocol/operations"
)

// statsRecords is how many records the page looks at: it is to be there at once.
const statsRecords = 20_000

// statsData is what the gate did.
type statsData struct {
	Since string
	operations.Stats
}

func (c *modelPages) stats(w http.ResponseWriter, r *http.Request) error {
	text, since, err := sinceOf(r)
	if err != nil {
		return err
	}
	d := statsData{Since: text}
	if d.Stats, err = client.Stats(r.Context(), c.Client(r), since, statsRecords); err != nil {
		return err
	}
	return c.show(w, r, "stats", page{Title: "What it did for you", Nav: "stats", Data: d})
}

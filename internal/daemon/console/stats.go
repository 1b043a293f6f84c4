package console

import (
	"net/http"
	"time"

	"callgate/internal/amount"
	"callgate/internal/client"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// statsRecords is how many records the page looks at: it is to be there at once.
const statsRecords = 20_000

// statsData is what the gate did.
type statsData struct {
	Since string
	operations.Stats
}

func (c *modelPages) stats(w http.ResponseWriter, r *http.Request) error {
	d := statsData{Since: r.FormValue("since")}
	if d.Since == "" {
		d.Since = "30d"
	}
	span, ok := amount.ParseSpan(d.Since)
	if !ok {
		return tool.Errorf("console.stats", tool.Invalid, "since is %q", tool.Truncate(d.Since)).
			WithHint("write it as 30d, 2w or 12h")
	}
	var err error
	if d.Stats, err = client.Stats(r.Context(), c.Client(r), time.Now().Add(-span), statsRecords); err != nil {
		return err
	}
	return c.show(w, r, "stats", page{Title: "What it did for you", Nav: "stats", Data: d})
}

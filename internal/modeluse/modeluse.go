// Package modeluse says how models did at LLM-backed tools, out of what the journal holds, and
// which model a tool should ask first.
//
// # Law
//
// The journal is read a page at a time, the newest first, and nothing of it is kept but counts:
// memory does not grow with the number of calls. A call counts once for each model that it asked.
// What a model could not help, a cancelled call or a missing key, is not held against it. Calls of a
// benchmark are no use of a tool, and do not count.
//
// A proposal is made only out of enough calls, and only where they show that it is right: another
// model is cheaper and not worse, or better. It is words; a human applies it or does not.
package modeluse

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"callgate/internal/journal"
	"callgate/tool"
)

// Row is how one model did at one tool.
type Row struct {
	Tool     string `json:"tool"`  // its ID
	Model    string `json:"model"` // provider/model
	Calls    int    `json:"calls"` // that asked the model
	Attempts int    `json:"attempts"`
	// Judged are the calls that say something of the model, and Succeeded those to which it gave
	// the result.
	Judged    int `json:"judged"`
	Succeeded int `json:"succeeded"`
	Repaired  int `json:"repaired"` // calls in which it was shown a mistake
	// Outcomes counts the requests by how they ended.
	Outcomes map[string]int `json:"outcomes"`
	Input    int            `json:"input"` // tokens
	Output   int            `json:"output"`
	Cost     int64          `json:"cost"`   // millionths of a US dollar
	Priced   bool           `json:"priced"` // the cost of every request is known
	// Median and P95 are of the time that the model took for a call, to one in a hundred.
	Median time.Duration `json:"median"`
	P95    time.Duration `json:"p95"`
}

// Success is the share of the judged calls that went well.
func (r Row) Success() float64 { return share(r.Succeeded, r.Judged) }

// Rate is the share of the requests that ended in one of some ways.
func (r Row) Rate(outcomes ...string) float64 {
	n := 0
	for _, name := range outcomes {
		n += r.Outcomes[name]
	}
	return share(n, r.Attempts)
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Query selects calls.
type Query struct {
	Since time.Time
	Tool  string // an ID, namespace:name or namespace.name; "": all
	App   string // whose calls; "": of every app
}

// Reader reads the journal. *journal.Journal is one.
type Reader interface {
	Read(ctx context.Context, q journal.Query) ([]journal.Record, error)
}

const (
	page    = 2000
	maxRows = 5000 // tools and models; those that come later are not counted
)

// Collect counts what the journal holds, by tool and model.
func Collect(ctx context.Context, from Reader, q Query) ([]Row, error) {
	c := counter{rows: map[[2]string]*counted{}}
	for before := uint64(0); ; {
		records, err := from.Read(ctx, journal.Query{Before: before, Kind: journal.Ended, Newest: true, Limit: page})
		if err != nil {
			return nil, err
		}
		for _, r := range slices.Backward(records) {
			if r.Time.Before(q.Since) {
				return c.result(), nil
			}
			if r.End != nil && len(r.End.Attempts) > 0 && !r.Bench && q.wants(r) {
				c.add(r.Tool, r.End.Attempts)
			}
		}
		if len(records) < page {
			return c.result(), nil
		}
		before = records[0].Seq
	}
}

// wants reports whether a call is asked for.
func (q Query) wants(r journal.Record) bool {
	if q.App != "" && (r.Principal == nil || r.Principal.App != q.App) {
		return false
	}
	id := r.Tool
	name, _, _ := strings.Cut(id, "@")
	return q.Tool == "" || q.Tool == id || q.Tool == name || q.Tool == strings.Replace(name, ":", ".", 1)
}

// counter counts the calls of tools.
type counter struct{ rows map[[2]string]*counted }

// counted is a row while it is counted.
type counted struct {
	Row
	times histogram
}

// ofCall is what one call asked of one model.
type ofCall struct {
	took     time.Duration
	last     string
	repaired bool
}

// add counts a call.
func (c counter) add(id string, attempts []tool.Attempt) {
	calls := map[string]*ofCall{}
	for _, a := range attempts {
		row := c.row(id, a.Model)
		if row == nil {
			continue
		}
		row.Attempts++
		row.Outcomes[a.Outcome]++
		row.Input += a.Input
		row.Output += a.Output
		row.Cost += a.Cost
		row.Priced = row.Priced && (a.Priced || a.Input+a.Output == 0)
		one := calls[a.Model]
		if one == nil {
			one = &ofCall{}
			calls[a.Model] = one
		}
		one.took += a.Took
		one.last = a.Outcome
		one.repaired = one.repaired || a.Repair > 0
	}
	for model, one := range calls {
		row := c.row(id, model)
		row.Calls++
		row.times.add(one.took)
		if one.repaired {
			row.Repaired++
		}
		if one.last != "cancelled" && one.last != "no_key" {
			row.Judged++
		}
		if one.last == "ok" {
			row.Succeeded++
		}
	}
}

// row returns the row of a tool and a model; nil: there are too many.
func (c counter) row(id, model string) *counted {
	key := [2]string{id, model}
	row := c.rows[key]
	if row == nil && len(c.rows) < maxRows {
		row = &counted{Row: Row{Tool: id, Model: model, Outcomes: map[string]int{}, Priced: true}}
		c.rows[key] = row
	}
	return row
}

// result lists the rows by tool, the most asked model first.
func (c counter) result() []Row {
	all := make([]Row, 0, len(c.rows))
	for _, row := range c.rows {
		row.Median, row.P95 = row.times.quantile(0.5), row.times.quantile(0.95)
		all = append(all, row.Row)
	}
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), cmp.Compare(b.Calls, a.Calls), strings.Compare(a.Model, b.Model))
	})
	return all
}

// histogram counts times in buckets, each two in a hundred wider than the one before.
type histogram struct {
	buckets map[int]int
	count   int
}

const growth = 1.02

func (h *histogram) add(d time.Duration) {
	if h.buckets == nil {
		h.buckets = map[int]int{}
	}
	at := 0
	if d > time.Millisecond {
		at = int(math.Log(float64(d)/float64(time.Millisecond))/math.Log(growth)) + 1
	}
	h.buckets[at]++
	h.count++
}

// quantile returns the time below which a share of the counted times is.
func (h *histogram) quantile(share float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	places := make([]int, 0, len(h.buckets))
	for at := range h.buckets {
		places = append(places, at)
	}
	slices.Sort(places)
	rank := int(math.Ceil(share * float64(h.count)))
	for _, at := range places {
		if rank -= h.buckets[at]; rank <= 0 {
			return time.Duration(float64(time.Millisecond) * math.Pow(growth, float64(at)-0.5))
		}
	}
	return 0
}

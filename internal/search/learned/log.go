package learned

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"callgate/internal/journal"
	"callgate/tool"
)

// Reader reads the journal. *journal.Journal is one.
type Reader interface {
	Read(ctx context.Context, q journal.Query) ([]journal.Record, error)
}

const (
	logPage    = 2000
	maxRecords = 200_000 // of the journal that are looked at, the newest
	maxOpen    = 10_000  // sessions that are looked at
	searchTool = "context_builder.search_tools"
)

// Log is what the journal says of requests and the calls that they led to.
type Log struct {
	Pairs    []Pair // the newest first
	Records  int    // that were looked at
	Searches int    // that were looked at
	Partial  bool   // there were more records
}

// FromLog reads out of the journal which request led to which call: a search with one query,
// and the first call of one of the tools after it, in the same session and soon, that went well. The
// journal does not say what a search showed, so this is a guess where [Session.Succeeded] knows.
// Calls of the kernel itself and of benchmarks do not count.
func FromLog(ctx context.Context, from Reader, isTool func(dotted string) bool) (Log, error) {
	var l Log
	next := map[string]call{} // by session: the earliest call after the record that is looked at
	for before := uint64(0); ; {
		records, err := from.Read(ctx, journal.Query{Before: before, Kind: journal.Ended, Newest: true, Limit: logPage})
		if err != nil {
			return l, err
		}
		for _, r := range slices.Backward(records) {
			l.Records++
			if r.End != nil && r.End.Status == tool.Success && r.Principal != nil && !r.Principal.Daemon && !r.Bench {
				l.look(r, next, isTool)
			}
		}
		l.Partial = l.Records >= maxRecords
		if len(records) < logPage || l.Partial {
			return l, nil
		}
		before = records[0].Seq
	}
}

// call is a call that went well.
type call struct {
	tool string
	at   time.Time
}

// look takes in one record of a call that went well.
func (l *Log) look(r journal.Record, next map[string]call, isTool func(string) bool) {
	session, name := r.Principal.Session, Dotted(r.Tool)
	switch {
	case name == searchTool:
		l.Searches++
		led, ok := next[session]
		delete(next, session) // a call is the consequence of the last search before it
		request := queryOf(r)
		if !ok || request == "" || led.at.Sub(r.Time) > Soon {
			return
		}
		l.Pairs = append(l.Pairs, Pair{
			Tool: led.tool, Request: request, Seen: 1, First: led.at, Last: led.at, From: []Source{{session, led.at}},
		})
	case isTool(name) && (len(next) < maxOpen || next[session].tool != ""):
		next[session] = call{name, r.Time}
	}
}

// queryOf returns the one query of a recorded search; "" if it has none, or several.
func queryOf(r journal.Record) string {
	var in struct {
		Query   string   `json:"query"`
		Queries []string `json:"queries"`
	}
	if r.Ask == nil || json.Unmarshal(r.Ask.Args, &in) != nil {
		return ""
	}
	all := in.Queries
	if in.Query != "" {
		all = append([]string{in.Query}, all...)
	}
	if len(all) != 1 {
		return ""
	}
	text, ok := Clean(all[0])
	if !ok {
		return ""
	}
	return text
}

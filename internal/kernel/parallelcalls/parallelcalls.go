// Package parallelcalls makes the calls of one run_parallel. Law: each is a call of its
// own, judged and recorded by itself, and its ID follows from that of the run_parallel. A
// run_parallel that is made again after a crash makes only the calls that have touched
// nothing; of the others it returns what became of them.
package parallelcalls

import (
	"context"
	"strconv"

	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// Sessions finds open sessions.
type Sessions interface {
	Get(id string) (*session.Session, error)
}

// Maker makes the calls. All fields are required.
type Maker struct {
	Sessions Sessions
	Journal  *journal.Journal
}

// Call makes the calls of a run_parallel side by side: see control.Caller.
func (m Maker) Call(
	ctx context.Context, call tool.Call, targets []control.Target, done func(int, *tool.Result),
) ([]*tool.Result, error) {
	s, err := m.Sessions.Get(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	results, err := m.madeBefore(ctx, s, call.ID, len(targets))
	if err != nil {
		return nil, err
	}
	var requests []gate.CallRequest
	var places []int // of the requests among the targets
	for i, t := range targets {
		if results[i] != nil {
			done(i, results[i])
			continue
		}
		requests = append(requests, gate.CallRequest{ID: callID(call.ID, i), Name: t.Name, Args: t.Args, Parent: call.ID})
		places = append(places, i)
	}
	for i, r := range s.CallAll(ctx, requests, func(i int, r *tool.Result) { done(places[i], r) }) {
		results[places[i]] = r
	}
	return results, nil
}

func callID(parent string, i int) string { return parent + ".p" + strconv.Itoa(i+1) }

// madeBefore returns the results of the calls that an earlier process made; nil for those
// that it did not.
func (m Maker) madeBefore(ctx context.Context, s *session.Session, parent string, n int) ([]*tool.Result, error) {
	results := make([]*tool.Result, n)
	before, err := m.Journal.Read(ctx, journal.Query{Within: parent, Limit: 1, Stored: true})
	if err != nil || len(before) == 0 {
		return results, err
	}
	for i := range results {
		made, err := s.Made(ctx, callID(parent, i))
		if err == nil && made != nil && made.Status == tool.Waiting {
			made, err = s.Collect(ctx, made.Call)
		}
		if err != nil {
			return nil, err
		}
		results[i] = made
	}
	return results, nil
}

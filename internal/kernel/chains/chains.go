// Package chains verifies the journals of all nodes that share a database.
//
// # Law
//
// Each node writes one chain of records, and the database has all of them. Any node reads them all again: that of its
// own against its own anchor, that of another against the head of it that this node has seen and kept on its own disk
// (internal/journal/witness). So what somebody changes in the database shows though the node that wrote it is gone,
// but for records that no other node had seen the head of yet. What the anchor on another machine has seen is for the
// node there to say.
//
// A chain belongs to one node: two that begin with the same record are a copy.
package chains

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"callgate/internal/journal"
	"callgate/internal/journal/witness"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/recovery"
	"callgate/tool"
)

// Report is what verifying the journal of one node found.
type Report struct {
	journal.Report
	Node    string // its ID
	Name    string
	State   string // what the node does; "absent": the database does not know it any more
	Seen    uint64 // the last record that this node has kept the hash of; 0: none
	SeenAt  time.Time
	Missing string // what there was nothing to compare with for; "": all was compared
}

// Others verifies the journals of the other nodes, by name. Those of a kernel alone are none.
func Others(ctx context.Context, n *node.Node, own journal.Store) ([]Report, error) {
	if !n.IsShared() {
		return nil, nil
	}
	seen, err := n.SeenHeads(ctx) // before anything is read: what was seen must then be there
	if err != nil {
		return nil, err
	}
	members, err := n.Members(ctx)
	if err != nil {
		return nil, err
	}
	first := map[journal.Hash]string{} // whose chain begins with it
	if err := begins(ctx, own, n.Name(), first, nil); err != nil {
		return nil, err
	}
	var list []Report
	for _, m := range members {
		if m.This {
			continue
		}
		report := Report{Node: m.ID, Name: m.Name, State: m.Condition()}
		s, known := seen[m.ID]
		delete(seen, m.ID)
		if err := report.read(ctx, n.JournalOf(m.ID), s, known); err != nil {
			return nil, err
		}
		if err := begins(ctx, n.JournalOf(m.ID), m.Name, first, &report); err != nil {
			return nil, err
		}
		list = append(list, report)
	}
	for id, s := range maps.All(seen) {
		if id != n.ID {
			list = append(list, absent(id, s))
		}
	}
	slices.SortStableFunc(list, func(a, b Report) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
	})
	return list, nil
}

// absent is the report on a node that was seen, and that the database does not know.
func absent(id string, s witness.Seen) Report {
	r := Report{Node: id, Name: s.Name, State: "absent", Seen: s.Seq, SeenAt: s.At}
	r.add(journal.Problem{Seq: s.Seq, What: "the node was seen here, and the database does not know it any more"})
	return r
}

func (r *Report) add(p ...journal.Problem) { r.Problems = append(r.Problems, p...) }

// readings is how often a journal is read that is pruned while it is.
const readings = 3

// errOnlyRead is why nothing is written in the journal of another node.
var errOnlyRead = errors.New("the journal of another node is only read")

// read verifies a journal, and compares it with what was seen of it. A node that lives may prune its journal
// meanwhile, which cannot be told from a loss: it is read again then.
func (r *Report) read(ctx context.Context, store journal.Store, s witness.Seen, known bool) error {
	options := journal.Options{Hold: errOnlyRead}
	if known {
		r.Seen, r.SeenAt, options.Public = s.Seq, s.At, s.Key
	} else {
		r.Missing = "no head of it was seen here: whether its end was cut is not known"
	}
	for range readings {
		before, err := store.Drops(ctx)
		if err != nil {
			return err
		}
		found, err := verify(ctx, store, options)
		if err != nil {
			return err
		}
		if known {
			cut, err := s.Check(ctx, store)
			if err != nil {
				return err
			}
			found.Problems = append(found.Problems, cut...)
		}
		r.Report = found
		if after, err := store.Drops(ctx); err != nil || len(after) == len(before) {
			return err
		}
	}
	return nil
}

func verify(ctx context.Context, store journal.Store, options journal.Options) (journal.Report, error) {
	report, err := journal.Verify(ctx, store, options, nil)
	if err != nil {
		return report, err
	}
	hidden, err := doubts(ctx, store, options)
	if kind := tool.KindOf(err); err != nil && (kind == tool.Internal || kind == tool.Invalid) {
		hidden, err = []journal.Problem{{What: "the list of its calls in doubt could not be verified: " + err.Error()}}, nil
	}
	report.Problems = append(report.Problems, hidden...)
	return report, err
}

func doubts(ctx context.Context, store journal.Store, options journal.Options) ([]journal.Problem, error) {
	j, err := journal.Open(ctx, store, options)
	if err != nil {
		return nil, err
	}
	hidden, err := recovery.VerifyDoubts(ctx, j)
	return hidden, errors.Join(err, j.Close())
}

// Own verifies the journal of this kernel, with its list of calls in doubt.
func Own(ctx context.Context, j *journal.Journal) (journal.Report, error) {
	report, err := j.Verify(ctx)
	if err != nil {
		return report, err
	}
	hidden, err := recovery.VerifyDoubts(ctx, j)
	report.Problems = append(report.Problems, hidden...)
	return report, err
}

// begins notes with which record a chain begins, and tells of another that begins with the same one.
func begins(ctx context.Context, store journal.Store, name string, first map[journal.Hash]string, r *Report) error {
	rows, err := store.Rows(ctx, journal.Query{Limit: 1})
	if err != nil || len(rows) == 0 {
		return err
	}
	if other, there := first[rows[0].Hash]; there && r != nil {
		r.add(journal.Problem{Seq: rows[0].Seq, What: "it begins with the same record as the journal of the node " + other +
			": one of them is a copy"})
		return nil
	}
	first[rows[0].Hash] = name
	return nil
}

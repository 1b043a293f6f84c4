package history

import (
	"slices"
	"time"
)

// timeline is the acknowledged writes of a file, so that one between two times is
// found without looking at all.
type timeline struct {
	writes []*Op // by Sent
	first  []*Op // of writes[i:], the one that was done first
}

func timelines(ops []Op) map[string]*timeline {
	all := map[string]*timeline{}
	for i := range ops {
		op := &ops[i]
		if op.Verb != Write || op.Told != Success {
			continue
		}
		if all[op.File] == nil {
			all[op.File] = &timeline{}
		}
		all[op.File].writes = append(all[op.File].writes, op)
	}
	for _, t := range all {
		slices.SortFunc(t.writes, func(a, b *Op) int { return a.Sent.Compare(b.Sent) })
		t.first = slices.Clone(t.writes)
		for i := len(t.first) - 2; i >= 0; i-- {
			if t.first[i+1].Done.Before(t.first[i].Done) {
				t.first[i] = t.first[i+1]
			}
		}
	}
	return all
}

// between returns a write that was sent after one time and acknowledged before
// another, or nil.
func (t *timeline) between(after, before time.Time) *Op {
	if t == nil {
		return nil
	}
	at, _ := slices.BinarySearchFunc(t.writes, after, func(op *Op, after time.Time) int {
		if op.Sent.After(after) {
			return 1
		}
		return -1
	})
	if at == len(t.first) || !t.first[at].Done.Before(before) {
		return nil
	}
	return t.first[at]
}

package journal

import (
	"context"
	"fmt"

	"callgate/tool"
)

// Recover finds the calls that an earlier start of the kernel began and never
// ended, gives each of them one Doubted record, and returns those records once
// they are on disk. A kernel calls it before it begins a call. Calling it again,
// in this start or in a later one, finds only what is new: what could not be
// written is withdrawn, and found again.
func (j *Journal) Recover(ctx context.Context) ([]Record, error) {
	const op = "journal.Recover"
	j.recovering.Lock()
	defer j.recovering.Unlock()
	rows, err := j.store.Unended(ctx, j.since)
	if err != nil {
		return nil, wrap(op, err, "the calls in doubt cannot be read")
	}
	var doubts []Record
	seen := make(map[string]bool)
	for _, row := range rows {
		if row.Seq > j.firstSeq || seen[row.Call] {
			continue
		}
		seen[row.Call] = true
		doubts = append(doubts, doubt(row))
	}
	waiters, err := j.queue.putDoubts(doubts)
	if err != nil {
		return nil, err
	}
	for i, w := range waiters { // also when ctx has ended: half of the doubts would be found twice
		out := <-w.done
		if out.err != nil {
			err = out.err
		}
		doubts[i].Seq, doubts[i].Epoch = out.seq, out.epoch
	}
	if err != nil {
		return nil, err
	}
	return doubts, nil
}

// doubt is the record of a call that was begun in row and never ended.
func doubt(row Row) Record {
	begun, err := decode(row)
	if err != nil {
		begun = Record{Call: row.Call} // damaged, and in doubt all the same
	}
	return Record{
		Kind: Doubted, Call: row.Call, Parent: begun.Parent, Principal: begun.Principal,
		Name: begun.Name, Tool: begun.Tool,
		End:  &End{Status: tool.Failure, Error: tool.InDoubt, Summary: "it may or may not have happened"},
		Note: fmt.Sprintf("begun in record %d before the kernel was started again, and never ended", row.Seq),
	}
}

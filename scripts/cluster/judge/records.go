package judge

import (
	"slices"

	"callgate/scripts/cluster/effects"
)

// Records is what the journals of all nodes say.
type Records struct {
	Begun    map[string]bool // by the ID of the call
	Ended    map[string][]Ended
	Verified uint64   // records that were read again, each by its own node
	Problems []string // that verifying found
}

// Ended is how a record says that a call ended.
type Ended string

// EndedWell is that of a call that went well.
const EndedWell Ended = "success"

// AddRecords holds the journals against what clients were told and what was written: whatever was acknowledged is on
// record as it was told, and nothing was written whose call is not on record as begun.
func (r *Report) AddRecords(records *Records, outcomes []Outcome, writes []effects.Write) {
	r.Violations = append(r.Violations, records.Problems...)
	byKey := map[string]effects.Write{}
	for _, w := range writes {
		if w.Refused {
			continue
		}
		byKey[w.Key] = w
		if !records.Begun[w.Call] {
			r.violate("%s was written by call %s of node %s, which is not on record as begun", w.Account, w.Call, w.Node)
		}
	}
	for _, o := range outcomes {
		w, written := byKey[o.Key]
		if o.Verdict != Done || !written {
			continue
		}
		switch ends := records.Ended[w.Call]; {
		case !slices.Contains(ends, EndedWell):
			r.violate("%s was answered with success, and the journal says of call %s: %q", o.Key, w.Call, ends)
		case len(ends) > 1:
			r.violate("call %s of %s has %d ends on record", w.Call, o.Key, len(ends))
		}
	}
	for call, ends := range records.Ended {
		if len(ends) > 1 && slices.Contains(ends, EndedWell) {
			r.violate("call %s has %d ends on record: %q", call, len(ends), ends)
		}
	}
	r.Verified = records.Verified
}

// Package doubt holds the words of calls in doubt: how far a doubt has come, what is
// known of it, and the one call that may be made in its place.
package doubt

import (
	"time"

	"callgate/tool"
)

// State is how far an open doubt has come. It follows from the kinds of the
// records of its call.
type State string

// The states of a doubt, in their order; a doubt never goes back.
const (
	New    State = "new"    // doubted: nobody has decided whether the call is made again
	Judged State = "judged" // judged: it is not made again, and its asker does not know yet
	Told   State = "told"   // told: its asker knows
)

// Query selects open doubts in the order of Seq. Zero fields do not restrict.
type Query struct {
	After uint64 // doubted rows with a greater Seq
	Call  string
	State State
	Limit int // 0, or more than 10,000: 10,000
}

// Facts are what is known of a call in doubt from before it was cut off.
type Facts struct {
	Record    uint64       `json:"record"` // of its beginning
	Begun     time.Time    `json:"begun"`
	Claims    []tool.Claim `json:"claims,omitempty"`
	Workspace string       `json:"workspace,omitempty"`
	AppFile   string       `json:"app_file,omitempty"`
	Files     []FileState  `json:"files,omitempty"`
}

// FileState is the identity and the times of a file, by which a later look tells
// whether anybody has touched it.
type FileState struct {
	Absent   bool   `json:"absent,omitempty"` // the rest is of the nearest folder above
	Device   uint64 `json:"device,omitempty"`
	Inode    uint64 `json:"inode,omitempty"`
	Size     int64  `json:"size,omitempty"`
	Modified int64  `json:"modified,omitempty"` // nanoseconds
	Changed  int64  `json:"changed,omitempty"`
}

// RetryID is the ID of the call that is made in the place of one in doubt. There is
// one at most: a call is attempted twice in all.
func RetryID(call string) string { return call + ".again" }

// Resolution says how a doubt ended: somebody looked, the call was made again
// because making it twice is making it once, or it was closed by a rule.
type Resolution struct {
	Happened bool   `json:"happened"`
	By       string `json:"by,omitempty"`
	Retry    string `json:"retry,omitempty"`  // the call that was made in its place
	Closed   string `json:"closed,omitempty"` // the rule that closed it: whether it happened is not known
}

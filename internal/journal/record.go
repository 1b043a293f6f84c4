package journal

import (
	"encoding/json"
	"time"

	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// Kind is what a record says.
type Kind string

// The kinds of record. A call is asked, then perhaps answered, then begun, then
// ended; a read that needed no human has all of it in one ended record.
const (
	Opened   Kind = "opened"   // an epoch begins, and links to the head before it
	Asked    Kind = "asked"    // a call was proposed: refused, waiting or allowed
	Answered Kind = "answered" // a human answered an approval
	Begun    Kind = "begun"    // write-ahead: the handler is about to run
	Ended    Kind = "ended"    // how the call ended
	Doubted  Kind = "doubted"  // begun and never ended, or about to end without anybody knowing what it did
	Judged   Kind = "judged"   // a call in doubt is not made again, and why
	Told     Kind = "told"     // who asked for a call in doubt was told of it
	Resolved Kind = "resolved" // a doubt ended: a human looked, or the call was made again
	Noted    Kind = "noted"    // something about a call worth keeping: a lock released early
	Dropped  Kind = "dropped"  // older epochs were removed by pruning
)

// Record is one line of the journal. The journal sets Seq, Epoch and Time; the sections are present as the kind says.
// What a record points to belongs to the journal once it is handed over, and is not changed again.
type Record struct {
	Seq       uint64          `json:"seq"`
	Epoch     uint64          `json:"epoch"`
	Time      time.Time       `json:"time"`
	Kind      Kind            `json:"kind"`
	Call      string          `json:"call,omitempty"`
	Parent    string          `json:"parent,omitempty"`
	Principal *tool.Principal `json:"principal,omitempty"`
	Name      string          `json:"name,omitempty"` // as asked for
	Tool      string          `json:"tool,omitempty"` // the resolved identity
	Ask       *Ask            `json:"ask,omitempty"`
	Answer    *Answer         `json:"answer,omitempty"`
	End       *End            `json:"end,omitempty"`
	Note      string          `json:"note,omitempty"`
	Opening   *Opening        `json:"opening,omitempty"`
	Summary   *PruneSummary   `json:"summary,omitempty"`

	Files      []doubt.FileState `json:"files,omitempty"` // of Begun: the files it claims, before it runs
	Doubt      *doubt.Facts      `json:"doubt,omitempty"`
	Resolution *doubt.Resolution `json:"resolution,omitempty"`
	tool.ModelChoice
}

// Opening is what an Opened record says of its epoch.
type Opening struct {
	Kernel string      `json:"kernel,omitempty"`
	Start  bool        `json:"start,omitempty"` // the kernel was started; otherwise the epoch before had grown old
	Since  uint64      `json:"since"`           // calls begun from this Seq on may be in doubt at the next start
	Cut    *Truncation `json:"cut,omitempty"`   // the anchor and the store did not agree
}

// Truncation is evidence that records were lost or replaced while no kernel
// ran: what the anchor had seen, and where the store ended.
type Truncation struct {
	Anchor uint64 `json:"anchor"`         // the Seq that the anchor named; 0: there was no anchor
	Hash   []byte `json:"hash,omitempty"` // and its hash
	Head   uint64 `json:"head"`           // the last Seq in the store
}

// Verdict is how the gate judged a proposed call.
type Verdict string

// The verdicts.
const (
	Allow  Verdict = "allow"
	Wait   Verdict = "wait" // a human must answer first
	Refuse Verdict = "refuse"
)

// Ask is what was proposed, and how it was judged.
type Ask struct {
	Verdict   Verdict         `json:"verdict"`
	Reason    string          `json:"reason,omitempty"`
	Error     tool.Kind       `json:"error,omitempty"`    // of a refused call
	Args      json.RawMessage `json:"args,omitempty"`     // as the handler will see them
	ArgsRef   string          `json:"args_ref,omitempty"` // in place of Args when they are large
	Coercions []string        `json:"coercions,omitempty"`
	Claims    []tool.Claim    `json:"claims,omitempty"`
	Approval  string          `json:"approval,omitempty"`
	Workspace string          `json:"workspace,omitempty"` // with AppFile: of a call that may have to be made again
	AppFile   string          `json:"app_file,omitempty"`
	Line      int             `json:"line,omitempty"` // of the script that makes it
}

// Answer is what a human said.
type Answer struct {
	Approval string          `json:"approval"`
	Verdict  string          `json:"verdict"` // approved, denied, expired
	By       string          `json:"by,omitempty"`
	Always   bool            `json:"always,omitempty"`
	Grant    string          `json:"grant,omitempty"` // the lasting grant that the yes became
	Feedback string          `json:"feedback,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"` // as edited
	ArgsRef  string          `json:"args_ref,omitempty"`
}

// End is how a call ended.
type End struct {
	Status    tool.Status    `json:"status"`
	Error     tool.Kind      `json:"error,omitempty"`
	Summary   string         `json:"summary,omitempty"`
	ResultRef string         `json:"result_ref,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`
	Took      time.Duration  `json:"took"`
	Attempts  []tool.Attempt `json:"attempts,omitempty"` // what an LLM-backed tool asked of models

	Result      json.RawMessage `json:"result,omitempty"`       // as it was given, to be collected later
	ArtifactRef string          `json:"artifact_ref,omitempty"` // the whole of what was cut or withheld
	Readable    bool            `json:"readable,omitempty"`     // it was cut: who asked may read the artifact
}

// PruneSummary is what remains of epochs that pruning removed: enough to prove that what
// follows links to what went before. Signature covers every other field.
type PruneSummary struct {
	FromEpoch uint64    `json:"from_epoch"`
	ToEpoch   uint64    `json:"to_epoch"`
	FirstSeq  uint64    `json:"first_seq"`
	LastSeq   uint64    `json:"last_seq"`
	Calls     uint64    `json:"calls"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Before    []byte    `json:"before"` // hash the first dropped record linked to
	Head      []byte    `json:"head"`   // hash of the last dropped record
	At        time.Time `json:"at"`
	Signature []byte    `json:"signature"`
}

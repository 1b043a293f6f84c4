package protocol

import (
	"encoding/json"
	"fmt"
	"time"

	"callgate/tool"
)

// Record is one line of the journal. Its sections are present as the kind says.
type Record struct {
	Seq       uint64          `json:"seq"`
	Epoch     uint64          `json:"epoch"`
	Time      time.Time       `json:"time"`
	Kind      RecordKind      `json:"kind"`
	Call      string          `json:"call,omitempty"`
	Parent    string          `json:"parent,omitempty"`
	Principal *tool.Principal `json:"principal,omitempty"`
	Name      string          `json:"name,omitempty"` // as asked for
	Tool      string          `json:"tool,omitempty"` // the resolved identity
	Ask       *RecordAsk      `json:"ask,omitempty"`
	Answer    *RecordAnswer   `json:"answer,omitempty"`
	End       *RecordEnd      `json:"end,omitempty"`
	Note      string          `json:"note,omitempty"`
	Opening   *RecordOpening  `json:"opening,omitempty"`
	Summary   *RecordPruned   `json:"summary,omitempty"`

	Files      []RecordFile      `json:"files,omitempty"` // of begun: the files it claims, before it runs
	Doubt      *RecordDoubt      `json:"doubt,omitempty"`
	Resolution *RecordResolution `json:"resolution,omitempty"`
	tool.ModelChoice
}

// RecordDoubt is what is known of a call in doubt from before it was cut off.
type RecordDoubt struct {
	Record    uint64       `json:"record"` // of its beginning
	Begun     time.Time    `json:"begun"`
	Claims    []tool.Claim `json:"claims,omitempty"`
	Workspace string       `json:"workspace,omitempty"`
	AppFile   string       `json:"app_file,omitempty"`
	Files     []RecordFile `json:"files,omitempty"`
}

// RecordFile is the identity and the times of a file.
type RecordFile struct {
	Absent   bool   `json:"absent,omitempty"`
	Device   uint64 `json:"device,omitempty"`
	Inode    uint64 `json:"inode,omitempty"`
	Size     int64  `json:"size,omitempty"`
	Modified int64  `json:"modified,omitempty"` // nanoseconds
	Changed  int64  `json:"changed,omitempty"`
}

// RecordKind is what a record tells.
type RecordKind string

// The kinds of record.
const (
	RecordKindOpened   RecordKind = "opened"   // an epoch begins
	RecordKindAsked    RecordKind = "asked"    // a call was proposed
	RecordKindAnswered RecordKind = "answered" // a human answered an approval
	RecordKindBegun    RecordKind = "begun"    // the handler is about to run
	RecordKindEnded    RecordKind = "ended"    // how it ended
	RecordKindDoubted  RecordKind = "doubted"  // it began and never ended, or ended in doubt
	RecordKindJudged   RecordKind = "judged"   // a call in doubt is not made again, and why
	RecordKindTold     RecordKind = "told"     // who asked for a call in doubt was told of it
	RecordKindResolved RecordKind = "resolved" // a doubt was resolved
	RecordKindNoted    RecordKind = "noted"    // a remark about a call
	RecordKindPruned   RecordKind = "dropped"  // older epochs were removed
)

// Verdict is what the gate decided about a proposal.
type Verdict string

// The verdicts.
const (
	VerdictAllow  Verdict = "allow"
	VerdictWait   Verdict = "wait" // a human must answer first
	VerdictRefuse Verdict = "refuse"
)

// RecordAsk is what was proposed, and the decision.
type RecordAsk struct {
	Verdict   Verdict         `json:"verdict"`
	Reason    string          `json:"reason,omitempty"`
	Error     tool.Kind       `json:"error,omitempty"` // of a refused call
	Args      json.RawMessage `json:"args,omitempty"`
	ArgsRef   string          `json:"args_ref,omitempty"` // in place of Args when they are large
	Coercions []string        `json:"coercions,omitempty"`
	Claims    []tool.Claim    `json:"claims,omitempty"`
	Approval  string          `json:"approval,omitempty"`
	Workspace string          `json:"workspace,omitempty"`
	AppFile   string          `json:"app_file,omitempty"`
	Line      int             `json:"line,omitempty"` // of the script that makes the call
}

// RecordAnswer is a human's answer.
type RecordAnswer struct {
	Approval string          `json:"approval"`
	Verdict  string          `json:"verdict"` // approved, denied, expired
	By       string          `json:"by,omitempty"`
	Always   bool            `json:"always,omitempty"`
	Grant    string          `json:"grant,omitempty"` // the lasting grant that the yes became
	Feedback string          `json:"feedback,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"` // as edited
	ArgsRef  string          `json:"args_ref,omitempty"`
}

// RecordEnd is how a call ended.
type RecordEnd struct {
	Status    tool.Status   `json:"status"`
	Error     tool.Kind     `json:"error,omitempty"`
	Summary   string        `json:"summary,omitempty"`
	ResultRef string        `json:"result_ref,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
	Took      time.Duration `json:"took"`
	// Attempts are what an LLM-backed tool asked of models.
	Attempts []tool.Attempt `json:"attempts,omitempty"`

	Result      json.RawMessage `json:"result,omitempty"`
	ArtifactRef string          `json:"artifact_ref,omitempty"` // the whole of what was cut or withheld
	Readable    bool            `json:"readable,omitempty"`     // it was cut: who asked may read the artifact
}

// RecordOpening is what is known of an epoch as it begins.
type RecordOpening struct {
	Kernel string            `json:"kernel,omitempty"`
	Start  bool              `json:"start,omitempty"` // a process began; otherwise the epoch before had grown old
	Since  uint64            `json:"since"`           // calls begun from this record on may be in doubt later
	Cut    *RecordTruncation `json:"cut,omitempty"`   // the anchor and the store did not agree
}

// RecordTruncation is evidence that records were lost or replaced while the kernel was away.
type RecordTruncation struct {
	Anchor uint64 `json:"anchor"` // the record that the anchor named; 0: there was no anchor
	Hash   []byte `json:"hash,omitempty"`
	Head   uint64 `json:"head"` // the last record in the store
}

// RecordPruned is what remains of epochs that were removed.
type RecordPruned struct {
	FromEpoch uint64    `json:"from_epoch"`
	ToEpoch   uint64    `json:"to_epoch"`
	FirstSeq  uint64    `json:"first_seq"`
	LastSeq   uint64    `json:"last_seq"`
	Calls     uint64    `json:"calls"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Before    []byte    `json:"before"`
	Head      []byte    `json:"head"`
	At        time.Time `json:"at"`
	Signature []byte    `json:"signature"`
}

// RecordResolution is what became of a call in doubt.
type RecordResolution struct {
	Happened bool   `json:"happened"`
	By       string `json:"by,omitempty"`
	Retry    string `json:"retry,omitempty"`  // the call that was made in its place
	Closed   string `json:"closed,omitempty"` // the rule that closed it: whether it happened is not known
}

// Output is a piece of the output of a running call. A client that reads too slowly loses
// some output, never the call's result.
type Output struct {
	Call   string `json:"call"`
	Stream string `json:"stream"`
	Text   []byte `json:"text"`
	Lost   int    `json:"lost,omitempty"` // the bytes missing at this point of the stream; the piece has no text
}

// Display returns the text, or a note for the user if output was lost.
func (o Output) Display() string {
	if o.Lost > 0 {
		return fmt.Sprintf("[%d bytes of live output were dropped here]\n", o.Lost)
	}
	return string(o.Text)
}

// JournalQuery selects records; its fields are parameters of RouteJournal.
type JournalQuery struct {
	After  uint64 // records with a greater Seq
	Before uint64 // records with a lesser Seq
	Call   string
	Kind   RecordKind
	Newest bool // the last Limit records that match, still oldest first
	Limit  int  // 0, or more than MaxRecords: MaxRecords
}

// MaxRecords is the most records that one query returns.
const MaxRecords = 10_000

// Event is one line of the stream that RouteFollow gives: a record, of which
// none is missed, or a piece of what a running call prints, which may be.
type Event struct {
	Record *Record `json:"record,omitempty"`
	Output *Output `json:"output,omitempty"`
}

// VerifyReport is what verifying the journal found.
type VerifyReport struct {
	First    uint64          `json:"first"` // the oldest record still kept
	Last     uint64          `json:"last"`
	Records  uint64          `json:"records"`
	Epochs   uint64          `json:"epochs"`
	Dropped  uint64          `json:"dropped"`            // records that were pruned and signed for
	Gaps     uint64          `json:"gaps,omitempty"`     // of an export: places where records were left out
	Anchored bool            `json:"anchored,omitempty"` // an anchor was there to compare with
	Head     string          `json:"head"`               // hash of the last record
	Problems []VerifyProblem `json:"problems,omitempty"`
	More     int             `json:"more,omitempty"`    // problems beyond those listed
	Warning  string          `json:"warning,omitempty"` // of an export: what cannot be proven
}

// OK reports whether nothing was wrong.
func (r VerifyReport) OK() bool { return len(r.Problems) == 0 }

// VerifyProblem is something wrong with the journal.
type VerifyProblem struct {
	Seq  uint64 `json:"seq"` // the record, or the first of those missing; 0: none in particular
	What string `json:"what"`
}

// Doubt is a call that began and whose end was never recorded: its doubted record,
// and what is known beyond it.
type Doubt struct {
	Record
	State    string         `json:"state"`              // new, judged, told; of one that is no longer: resolved, closed
	Changed  string         `json:"changed,omitempty"`  // whether the files that it claims differ: yes, no, unknown
	Why      string         `json:"why,omitempty"`      // it is not made again
	Attempts []DoubtAttempt `json:"attempts,omitempty"` // of one doubt that was asked for
	Node     string         `json:"node,omitempty"`     // that has it, where several share a database and all are asked
}

// DoubtAttempt is one time that a call in doubt was made.
type DoubtAttempt struct {
	Call    string    `json:"call"`
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended,omitzero"` // zero: it was cut off
	Summary string    `json:"summary,omitempty"`
}

// ResolveDoubt says what became of a call in doubt.
type ResolveDoubt struct {
	Happened bool   `json:"happened"`
	By       string `json:"by,omitempty"`
}

// AcceptLoss says who accepts that records were lost.
type AcceptLoss struct {
	By string `json:"by,omitempty"`
}

// Prune asks that epochs which ended before a time be removed.
type Prune struct {
	Before time.Time `json:"before"`
}

// PruneResult is what was removed.
type PruneResult struct {
	Records   uint64 `json:"records"`
	Artifacts int    `json:"artifacts"`
}

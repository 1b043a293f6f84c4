// Package questions is the queue of what agents ask their users.
//
// # Law
//
// A question is stored durably before it is shown to anyone, and it is settled once: the
// first answer wins, a later one is a Conflict, and silence past the deadline is the
// question's default, or no answer. It outlives the process that asked: a call that is
// made again under its ID finds its question, and the answer to it.
//
// Who asks may not answer: an answer needs what a yes to an approval of the same asker
// needs (internal/gate/approval/authority.go). What is waiting holds no lock. A password
// is given to the secret store before its answer counts, and is in no document.
package questions

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/question"
	"callgate/tool"
)

// State is the state of a question.
type State string

// The states. Pending becomes one of the others, once.
const (
	Pending   State = "pending"
	Answered  State = "answered"
	Denied    State = "denied"
	Expired   State = "expired"   // nobody answered in time
	Withdrawn State = "withdrawn" // who asked does not want to know any more
)

// Request is a question that was asked.
type Request struct {
	ID        string             `json:"id"`
	State     State              `json:"state"`
	Question  question.Question  `json:"question"`
	Call      string             `json:"call"`
	Principal tool.Principal     `json:"principal"`
	Workspace string             `json:"workspace"`
	AppFile   string             `json:"app_file,omitempty"`
	Asker     approval.Requester `json:"asker,omitzero"`
	AskedAt   time.Time          `json:"asked_at"`
	Deadline  time.Time          `json:"deadline"`
	Given     *question.Given    `json:"given,omitempty"` // nil: nothing
	By        string             `json:"by,omitempty"`    // who settled it
	At        time.Time          `json:"at,omitzero"`     // when

	version int64 // of its document
}

// Outcome is what the agent is told of a settled question.
func (r *Request) Outcome() question.Result { return r.Question.Outcome(r.Given) }

// Authority says who may answer.
type Authority interface {
	MayReply(who approval.Credential, asker approval.Requester, id string, yes bool) error
	ChallengeReply(who approval.Credential, asker approval.Requester, id string) (string, error)
}

// Secrets keeps passwords, and takes them out of what is written.
type Secrets interface {
	Set(name string, value []byte) error
	Delete(name string) error
	ScrubJSON(data json.RawMessage) json.RawMessage
}

// Journal keeps what was asked, and who answered.
type Journal interface{ Append(journal.Record) error }

// Options configures a queue.
type Options struct {
	Documents document.Store
	Authority Authority
	Secrets   Secrets
	Journal   Journal
	User      string // who answers, where they give no name
	Log       *slog.Logger
}

// The collections: a question is in one of them.
const (
	open = "questions.open"
	done = "questions.done"
)

// keepFor is how long a settled question is kept.
const keepFor = 30 * 24 * time.Hour

// Queue holds the questions. Make one with New.
type Queue struct {
	opt Options

	answering sync.Mutex // one answer at a time: that of the first keeps its passwords

	mu      sync.Mutex
	timers  map[string]*time.Timer
	waiters map[string][]chan Request
	feeds   feeds
	closed  bool
}

// New makes a queue.
func New(o Options) *Queue {
	return &Queue{opt: o, timers: map[string]*time.Timer{}, waiters: map[string][]chan Request{}}
}

// Start has the questions that an earlier process left expire at their deadlines, and
// forgets those that were settled long ago.
func (q *Queue) Start(ctx context.Context) error {
	pending, err := q.list(ctx, open)
	if err != nil {
		return err
	}
	for _, r := range pending {
		q.schedule(r)
	}
	old, err := q.list(ctx, done)
	if err != nil {
		return err
	}
	for _, r := range old {
		if time.Since(r.At) > keepFor {
			q.drop(ctx, r)
		}
	}
	return nil
}

// IDOf is the ID of the question that a call asks.
func IDOf(call string) string {
	sum := sha256.Sum256([]byte(call))
	return question.IDPrefix + hex.EncodeToString(sum[:6])
}

// Ask stores a question and shows it to those who watch the queue. If its call asked
// before, that question is returned, settled or not.
func (q *Queue) Ask(ctx context.Context, r Request) (Request, error) {
	r.ID, r.State, r.AskedAt = IDOf(r.Call), Pending, time.Now()
	r.Deadline = r.AskedAt.Add(r.Question.Timeout)
	if old, err := q.Get(ctx, r.ID); tool.KindOf(err) != tool.NotFound {
		if err == nil {
			err = q.sameAsker(old, r)
		}
		return old, err
	}
	if err := q.mayAsk(ctx, r); err != nil {
		return r, err
	}
	version, err := q.write(ctx, r, document.Change{Collection: open, Key: r.ID})
	if tool.KindOf(err) == tool.Conflict { // the same call, made twice at once
		return q.Get(ctx, r.ID)
	}
	if err != nil {
		return r, err
	}
	r.version = version
	q.note(r, "asked the user: "+tool.Truncate(r.Question.Text))
	q.schedule(r)
	return r, nil
}

// sameAsker reports a call that is not the one which asked: nobody is given the answer to
// somebody else's question.
func (q *Queue) sameAsker(old, now Request) error {
	was, is := old.Principal, now.Principal
	was.Session, is.Session = "", ""
	if old.Call == now.Call && was == is && old.Asker.Token == now.Asker.Token && old.Workspace == now.Workspace {
		return nil
	}
	return tool.Errorf("questions.Ask", tool.Conflict, "another call asked the question %s", old.ID)
}

// write puts a question, with its secrets taken out, in place of a document's data.
func (q *Queue) write(ctx context.Context, r Request, put document.Change, more ...document.Change) (int64, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return 0, &tool.Error{Op: "questions", Kind: tool.Internal, Message: "a question cannot be written as JSON", Err: err}
	}
	put.Data = q.opt.Secrets.ScrubJSON(data)
	return q.opt.Documents.Write(ctx, append([]document.Change{put}, more...)...)
}

// schedule lets a question expire at its deadline.
func (q *Queue) schedule(r Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.timers[r.ID] = time.AfterFunc(time.Until(r.Deadline), func() { q.expire(r.ID) })
	q.feeds.push(r)
}

func (q *Queue) expire(id string) {
	q.answering.Lock()
	defer q.answering.Unlock()
	ctx := context.Background()
	r, err := q.Get(ctx, id)
	if err != nil || r.State != Pending { // if the store fails now, the next start expires it
		return
	}
	var given *question.Given
	if g, ok := r.Question.Silence(); ok {
		given = &g
	}
	_, _ = q.settle(ctx, r, Expired, given, "the deadline")
}

// Answer settles a question. An answer without a human's authority is Denied, one that
// does not fit the question is Invalid and settles nothing, and one after the first is a
// Conflict.
func (q *Queue) Answer(ctx context.Context, who approval.Credential, id string, reply question.Reply) (Request, error) {
	r, err := q.pending(ctx, id)
	if err != nil {
		return r, err
	}
	if err := q.opt.Authority.MayReply(who, r.Asker, id, reply.Approve); err != nil {
		return r, err
	}
	by := who.By
	if who.Token != "" {
		by = "token " + who.Token
	}
	return q.settleWith(ctx, r, reply, by)
}

// AnswerVouched settles a question with the answer of a human at an MCP client, given in a
// form that the client showed: see approval.Queue.AnswerVouched. The form answers only
// questions of its own session; an empty session is the program that embeds the kernel.
func (q *Queue) AnswerVouched(
	ctx context.Context, v approval.Voucher, id string, reply question.Reply,
) (Request, error) {
	r, err := q.pending(ctx, id)
	if err != nil {
		return r, err
	}
	if v.Session != "" && r.Principal.Session != v.Session {
		return r, tool.Errorf("questions.AnswerVouched", tool.Denied,
			"the question %s was not asked by this session", tool.Truncate(id))
	}
	return q.settleWith(ctx, r, reply, v.By)
}

// Challenge returns the code that a person types at the terminal before their answer
// counts; empty if none is needed.
func (q *Queue) Challenge(ctx context.Context, who approval.Credential, id string) (string, error) {
	r, err := q.pending(ctx, id)
	if err != nil {
		return "", err
	}
	return q.opt.Authority.ChallengeReply(who, r.Asker, id)
}

// pending returns a question that waits for an answer.
func (q *Queue) pending(ctx context.Context, id string) (Request, error) {
	r, err := q.Get(ctx, id)
	if err == nil && r.State != Pending {
		err = settledError(r)
	}
	return r, err
}

func settledError(r Request) error {
	e := tool.Errorf("questions.Answer", tool.Conflict, "the question %s was already %s", r.ID, r.State)
	if r.By != "" {
		return e.WithHint("by %s", r.By)
	}
	return e
}

func (q *Queue) settleWith(ctx context.Context, r Request, reply question.Reply, by string) (Request, error) {
	q.answering.Lock()
	defer q.answering.Unlock()
	r, err := q.pending(ctx, r.ID) // another may have been first
	if err != nil {
		return r, err
	}
	given, err := question.Read(r.Question, reply, func(field string) string { return SecretName(r.ID, field) })
	if err != nil {
		return r, err
	}
	for name, value := range given.Secrets {
		if err := q.opt.Secrets.Set(name, []byte(value)); err != nil {
			return r, err
		}
	}
	state := Denied
	if given.Approved {
		state = Answered
	}
	settled, err := q.settle(ctx, r, state, &given, cmp.Or(by, q.opt.User))
	if err != nil {
		for name := range given.Secrets {
			_ = q.opt.Secrets.Delete(name)
		}
	}
	return settled, err
}

// settle moves a pending question, and wakes those who wait for it.
func (q *Queue) settle(ctx context.Context, r Request, to State, g *question.Given, by string) (Request, error) {
	settled := r
	settled.State, settled.Given, settled.By, settled.At = to, g, by, time.Now()
	version, err := q.write(ctx, settled, document.Change{Collection: done, Key: r.ID},
		document.Change{Collection: open, Key: r.ID, If: r.version})
	if tool.KindOf(err) == tool.Conflict {
		if now, found := q.Get(ctx, r.ID); found == nil {
			return now, settledError(now)
		}
	}
	if err != nil {
		return r, err
	}
	settled.version = version
	q.note(settled, settledNote(settled))
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.timers[r.ID]; t != nil {
		t.Stop()
		delete(q.timers, r.ID)
	}
	for _, ch := range q.waiters[r.ID] {
		ch <- settled // does not block: the channel is buffered, and a question is settled once
	}
	delete(q.waiters, r.ID)
	q.feeds.push(settled)
	return settled, nil
}

func settledNote(r Request) string {
	switch r.State {
	case Answered:
		return r.By + " answered the question " + r.ID
	case Denied:
		return r.By + " said no to the question " + r.ID
	case Withdrawn:
		return "the question " + r.ID + " was withdrawn"
	}
	return "nobody answered the question " + r.ID + " in time"
}

// note puts a remark on record, as the call's. What cannot be written now is kept and
// tried again by the journal.
func (q *Queue) note(r Request, text string) {
	_ = q.opt.Journal.Append(journal.Record{
		Kind: journal.Noted, Call: r.Call, Principal: &r.Principal, Name: "context_builder.ask_user", Note: text,
	})
}

// SecretName is the name of the secret that keeps a password given to a question.
func SecretName(id, field string) string {
	plain := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, field)
	if plain != field { // another field may be written so too
		sum := sha256.Sum256([]byte(field))
		plain += "." + hex.EncodeToString(sum[:3])
	}
	return "answer." + id + "." + plain
}

// Close stops the timers and the watches. Stored questions stay as they are.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, t := range q.timers {
		t.Stop()
	}
	q.feeds.close()
}

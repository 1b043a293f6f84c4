package questions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/questions"
	"callgate/internal/question"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// secrets keeps what it is given.
type secrets struct {
	mu   sync.Mutex
	kept map[string]string
}

func (s *secrets) Set(name string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]string{}
	}
	s.kept[name] = string(value)
	return nil
}

func (s *secrets) Delete(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, name)
	return nil
}

func (s *secrets) ScrubJSON(data json.RawMessage) json.RawMessage { return data }

// notes is what a journal was given.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) Append(r journal.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, r.Call+": "+r.Note)
	return nil
}

// processes are a kernel (1), an asker (10) with a child (11), and a person's shell (20).
type processes struct{}

func (processes) Descends(pid, from int) bool { return pid == from || pid == 11 && from == 10 }
func (processes) Session(pid int) (int, bool) { return pid / 10 * 10, true }

const humanKey = "the-key-of-the-human"

type world struct {
	*questions.Queue
	documents document.Store
	secrets   *secrets
	notes     *notes
}

func open(t *testing.T) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "q.db"))
	kerneltest.OK(t, err)
	t.Cleanup(func() { kerneltest.OK(t, db.Close()) })
	w := &world{documents: db.Stores().Documents, secrets: &secrets{}, notes: &notes{}}
	w.restart(t)
	return w
}

// restart replaces the queue by one that a next kernel would have.
func (w *world) restart(t *testing.T) {
	t.Helper()
	if w.Queue != nil {
		w.Close()
	}
	w.Queue = questions.New(questions.Options{
		Documents: w.documents, Secrets: w.secrets, Journal: w.notes, User: "ann", Log: slog.New(slog.DiscardHandler),
		Authority: approval.New(nil, approval.Options{Key: humanKey, Kernel: 1, Lineage: processes{}}),
	})
	kerneltest.OK(t, w.Start(t.Context()))
	t.Cleanup(w.Close)
}

func (w *world) ask(t *testing.T, call, args string) questions.Request {
	t.Helper()
	q, err := question.Parse(json.RawMessage(args))
	kerneltest.OK(t, err)
	r, err := w.Ask(t.Context(), questions.Request{
		Question: q, Call: call, Principal: tool.Principal{User: "ann", Session: "s1"}, Workspace: "/x",
		Asker: approval.Requester{PID: 10, Sessions: []int{10}},
	})
	kerneltest.OK(t, err)
	return r
}

func person() approval.Credential { return approval.Credential{Key: humanKey, PID: 20, By: "bea"} }

// proven is a person who typed the code that was shown for a question.
func (w *world) proven(t *testing.T, id string) approval.Credential {
	t.Helper()
	who := person()
	code, err := w.Challenge(t.Context(), who, id)
	kerneltest.OK(t, err)
	if code == "" {
		t.Fatal("no code is asked for")
	}
	who.Code = code
	return who
}

func TestFirstAnswerWins(t *testing.T) {
	w := open(t)
	r := w.ask(t, "c1", `{"question":"x"}`)
	waited := make(chan questions.Request, 1)
	go func() {
		got, _ := w.Wait(context.WithoutCancel(t.Context()), r.ID)
		waited <- got
	}()
	who := w.proven(t, r.ID)
	if _, err := w.Answer(t.Context(), who, r.ID, question.Reply{Approve: true}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("an empty answer: %v", err)
	}
	_, err := w.Answer(t.Context(), who, r.ID, question.Reply{Approve: true, Text: "one"})
	kerneltest.OK(t, err)
	if _, err := w.Answer(t.Context(), who, r.ID, question.Reply{Approve: true, Text: "two"}); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second answer: %v", err)
	}
	if got := <-waited; got.State != questions.Answered || got.Outcome().UserResponse != "one" || got.By != "bea" {
		t.Errorf("%+v", got)
	}
	if again := w.ask(t, "c1", `{"question":"x"}`); again.State != questions.Answered || again.Given.Response != "one" {
		t.Errorf("the call made again finds %+v", again)
	}
	if want := []string{"c1: asked the user: x", "c1: bea answered the question " + r.ID}; !slices.Equal(w.notes.all, want) {
		t.Errorf("on record is %q", w.notes.all)
	}
}

// Of many answers at once one counts, and its password alone is kept.
func TestAnswersAtOnce(t *testing.T) {
	w := open(t)
	r := w.ask(t, "c1", `{"question":"x","form":[{"type":"password","name":"pw"}]}`)
	var group sync.WaitGroup
	won := make(chan string, 10)
	for i := range 10 {
		group.Go(func() {
			value := strings.Repeat("x", i+1)
			reply := question.Reply{Approve: true, Fields: map[string]any{"pw": value}}
			if _, err := w.AnswerVouched(t.Context(), approval.Voucher{By: "x", Session: "s1"}, r.ID, reply); err == nil {
				won <- value
			} else if tool.KindOf(err) != tool.Conflict {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 || w.secrets.kept[questions.SecretName(r.ID, "pw")] != <-won {
		t.Errorf("%d answers won; kept is %v", len(won), w.secrets.kept)
	}
}

// Who asks may not answer, nor a tool, nor who has no key or no code, nor another session.
func TestWhoMayAnswer(t *testing.T) {
	w := open(t)
	r := w.ask(t, "c1", `{"question":"x"}`)
	yes := question.Reply{Approve: true, Text: "yes"}
	for name, who := range map[string]approval.Credential{
		"the asker":           {Key: humanKey, PID: 10},
		"a child of it":       {Key: humanKey, PID: 11},
		"the kernel's own":    {Key: humanKey, PID: 1},
		"nobody's key":        {Key: "guessed", PID: 20},
		"a person, no code":   person(),
		"a person, no number": {Key: humanKey, PID: 20, Code: "AAAA"},
	} {
		if _, err := w.Answer(t.Context(), who, r.ID, yes); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.AnswerVouched(t.Context(), approval.Voucher{Session: "another"}, r.ID, yes)
	if tool.KindOf(err) != tool.Denied {
		t.Errorf("another session's form: %v", err)
	}
	if _, err := w.Answer(t.Context(), approval.Credential{Token: "ci", PID: 20}, r.ID, yes); err != nil {
		t.Errorf("a token: %v", err)
	}
}

// The call of somebody else does not get an answer, though it has the same ID.
func TestAnotherAskerGetsNoAnswer(t *testing.T) {
	w := open(t)
	r := w.ask(t, "c1", `{"question":"x"}`)
	r.Principal.User = "eve"
	if _, err := w.Ask(t.Context(), r); tool.KindOf(err) != tool.Conflict {
		t.Errorf("%v", err)
	}
}

func TestTimeout(t *testing.T) {
	for args, want := range map[string]question.Result{
		`{"question":"x","timeout":30}`: {Status: "timeout", Question: "x"},
		`{"question":"x","timeout":30,"default":"d"}`: {
			Status: "timeout", Question: "x", UserResponse: "d", RawResponse: "d", DefaultUsed: true,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := open(t)
			began := time.Now()
			r := w.ask(t, "c1", args)
			got, err := w.Wait(t.Context(), r.ID)
			kerneltest.OK(t, err)
			told := got.Outcome()
			told.Hint = ""
			if took := time.Since(began); took != 30*time.Second || told != want {
				t.Errorf("%s: %+v after %v", args, told, took)
			}
		})
	}
}

// A deadline counts from when it was asked, whatever kernel runs then.
func TestDeadlineSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		began := time.Now()
		r := w.ask(t, "c1", `{"question":"x","timeout":60}`)
		<-time.After(20 * time.Second)
		w.restart(t)
		got, err := w.Wait(t.Context(), r.ID)
		kerneltest.OK(t, err)
		if took := time.Since(began); took != time.Minute || got.State != questions.Expired {
			t.Errorf("%s after %v", got.State, took)
		}
		old := w.ask(t, "c2", `{"question":"x","timeout":10}`)
		w.Close()
		<-time.After(time.Hour)
		w.restart(t)
		if got, err := w.Wait(t.Context(), old.ID); err != nil || got.State != questions.Expired {
			t.Errorf("one whose time was over while no kernel ran: %+v, %v", got, err)
		}
	})
}

func TestWatchAndWithdraw(t *testing.T) {
	w := open(t)
	r := w.ask(t, "c1", `{"question":"x"}`)
	var states []questions.State
	for got, err := range w.Watch(t.Context()) {
		kerneltest.OK(t, err)
		if states = append(states, got.State); got.State != questions.Pending {
			break
		}
		kerneltest.OK(t, w.Withdraw(t.Context(), r.ID))
	}
	if want := []questions.State{questions.Pending, questions.Withdrawn}; !slices.Equal(states, want) {
		t.Errorf("%v", states)
	}
	if err := w.Withdraw(t.Context(), r.ID); tool.KindOf(err) != tool.Conflict {
		t.Errorf("withdrawn twice: %v", err)
	}
	if list, err := w.List(t.Context(), questions.Pending); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// Only so many questions of a session wait at once. One that was asked already is no other.
func TestTooManyQuestions(t *testing.T) {
	w := open(t)
	for i := range 20 {
		w.ask(t, fmt.Sprint("c", i), `{"question":"x"}`)
	}
	request := questions.Request{
		Question: question.Question{Text: "x", Timeout: time.Minute}, Call: "more", Principal: tool.Principal{Session: "s1"},
	}
	if _, err := w.Ask(t.Context(), request); tool.KindOf(err) != tool.Limited {
		t.Errorf("the next: %v", err)
	}
	w.ask(t, "c3", `{"question":"x"}`)
	request.Principal.Session = "s2"
	_, err := w.Ask(t.Context(), request)
	kerneltest.OK(t, err)
	kerneltest.OK(t, w.Withdraw(t.Context(), questions.IDOf("c1")))
	w.ask(t, "again", `{"question":"x"}`)
}

// What a form kept secret is forgotten with its question.
func TestSecretsAreForgottenWithTheirQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		r := w.ask(t, "c1", `{"question":"x","form":[{"type":"password","name":"pw"}]}`)
		reply := question.Reply{Approve: true, Fields: map[string]any{"pw": "s3cret"}}
		_, err := w.AnswerVouched(t.Context(), approval.Voucher{By: "x", Session: "s1"}, r.ID, reply)
		kerneltest.OK(t, err)
		<-time.After(29 * 24 * time.Hour)
		w.restart(t)
		if len(w.secrets.kept) != 1 {
			t.Fatalf("kept is %v", w.secrets.kept)
		}
		<-time.After(2 * 24 * time.Hour)
		w.restart(t)
		if _, err := w.Get(t.Context(), r.ID); tool.KindOf(err) != tool.NotFound || len(w.secrets.kept) != 0 {
			t.Errorf("%v, kept is %v", err, w.secrets.kept)
		}
	})
}

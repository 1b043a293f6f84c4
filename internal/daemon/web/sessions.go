package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// sessionIdle is how long a session stays open that nobody uses: no process at the other end tells by
// its end that it is not needed.
const sessionIdle = 30 * time.Minute

// sessions are those that were opened over the network.
type sessions struct {
	api http.Handler

	mu      sync.Mutex
	open    map[string]*openSession // by ID
	implied map[impliedKey]string   // the sessions of who names none: their IDs
	sweep   *time.Timer
	closed  bool
}

type openSession struct {
	token   token.Token
	implied impliedKey // zero: the client opened it
	busy    int
	last    time.Time
}

// impliedKey is what a request without a session says of where it is made.
type impliedKey struct{ token, workspace, appFile string }

func newSessions(api http.Handler) *sessions {
	s := &sessions{api: api, open: map[string]*openSession{}, implied: map[impliedKey]string{}}
	s.sweep = time.AfterFunc(sessionIdle, s.closeIdle)
	return s
}

// wrap serves a route of the protocol, and notes which sessions are opened and used.
func (s *sessions) wrap(pattern string) http.Handler {
	switch pattern {
	case protocol.RouteOpenSession, protocol.RouteOpenConversation:
		return http.HandlerFunc(s.opening)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("session")
		if id == "" {
			id = r.PathValue("id") // of a conversation; others are not known here
		}
		defer s.use(id)()
		s.api.ServeHTTP(w, r)
	})
}

// use notes that a session is used, until what it returns is called.
func (s *sessions) use(id string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.open[id]
	if one == nil {
		return func() {}
	}
	one.busy++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.busy--
		one.last = time.Now()
	}
}

// opening opens a session for a client.
func (s *sessions) opening(w http.ResponseWriter, r *http.Request) {
	answer := newAnswer()
	s.api.ServeHTTP(answer, r)
	if id := answer.id(); id != "" {
		s.keep(id, r, impliedKey{})
	}
	answer.copyTo(w)
}

// keep notes an open session, which is closed when nobody uses it or its token ends.
func (s *sessions) keep(id string, r *http.Request, implied impliedKey) {
	login, _ := route.LoginOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[id] = &openSession{token: login.Token, implied: implied, last: time.Now()}
}

// in opens the session of a request that names none, or finds it.
func (s *sessions) in(r *http.Request, workspace string) (string, error) {
	login, _ := route.LoginOf(r)
	key := impliedKey{login.ID, workspace, r.URL.Query().Get("app")}
	s.mu.Lock()
	id := s.implied[key]
	s.mu.Unlock()
	if id != "" {
		return id, nil
	}
	body, err := json.Marshal(protocol.OpenSession{Workspace: workspace, AppFile: key.appFile})
	if err != nil {
		return "", err
	}
	answer := newAnswer()
	s.api.ServeHTTP(answer, request(r, http.MethodPost, "/v1/sessions", body))
	if id = answer.id(); id == "" {
		return "", answer.failure()
	}
	s.keep(id, r, key)
	s.mu.Lock()
	first, twice := s.implied[key]
	if !twice {
		s.implied[key] = id
	}
	s.mu.Unlock()
	if twice { // another request was faster
		s.end(id)
		return first, nil
	}
	return id, nil
}

// request is a request of the same sender for something else.
func request(r *http.Request, method, path string, body []byte) *http.Request {
	other := r.Clone(r.Context())
	other.Method, other.URL = method, &url.URL{Path: path}
	other.Body, other.ContentLength = http.NoBody, 0
	if body != nil {
		other.Body, other.ContentLength = readCloser{bytes.NewReader(body)}, int64(len(body))
	}
	other.Form, other.PostForm = nil, nil
	return other
}

type readCloser struct{ *bytes.Reader }

// Close does nothing.
func (readCloser) Close() error { return nil }

// closeIdle closes the sessions that nobody used for a while, and looks again later.
func (s *sessions) closeIdle() {
	s.mu.Lock()
	var idle []string
	for id, one := range s.open {
		if one.busy == 0 && time.Since(one.last) >= sessionIdle {
			idle = append(idle, id)
		}
	}
	again := !s.closed
	s.mu.Unlock()
	for _, id := range idle {
		s.end(id)
	}
	if again {
		s.sweep.Reset(sessionIdle / 4)
	}
}

// endOf closes the sessions of a token that has ended.
func (s *sessions) endOf(tokenID string) {
	s.mu.Lock()
	var ended []string
	for id, one := range s.open {
		if one.token.ID == tokenID {
			ended = append(ended, id)
		}
	}
	s.mu.Unlock()
	for _, id := range ended {
		s.end(id)
	}
}

// end closes a session, as who opened it.
func (s *sessions) end(id string) {
	s.mu.Lock()
	one := s.open[id]
	delete(s.open, id)
	if one != nil && s.implied[one.implied] == id {
		delete(s.implied, one.implied)
	}
	s.mu.Unlock()
	if one == nil {
		return
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, "/v1/sessions/"+url.PathEscape(id), nil)
	if err == nil {
		s.api.ServeHTTP(newAnswer(), route.WithLogin(r, route.Login{Token: one.token}))
	}
}

// close closes them all.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	s.sweep.Stop()
	var all []string
	for id := range s.open {
		all = append(all, id)
	}
	s.mu.Unlock()
	for _, id := range all {
		s.end(id)
	}
}

// answer is an answer that is kept.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}, status: http.StatusOK} }

// Header is the answer's header.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write keeps the body.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// id is that of what was opened; empty: nothing was.
func (a *answer) id() string {
	var opened struct {
		ID string `json:"id"`
	}
	if a.status >= http.StatusMultipleChoices || json.Unmarshal(a.body.Bytes(), &opened) != nil {
		return ""
	}
	return opened.ID
}

// failure is the error that was answered.
func (a *answer) failure() error {
	var e tool.Error
	if err := json.Unmarshal(a.body.Bytes(), &e); err != nil || e.Kind == "" {
		return tool.Errorf("web", tool.Internal, "the kernel answered %d", a.status)
	}
	return &e
}

func (a *answer) copyTo(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may have left
}

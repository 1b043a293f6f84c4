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

// maxSessions is how many one token may have open. Each holds a folder and an app.
const maxSessions = 512

// sessions are those that were opened over the network.
type sessions struct {
	api       http.Handler
	alive     func(session string) bool
	workspace string

	mu      sync.Mutex
	open    map[string]*openSession // by ID
	implied map[impliedKey]string   // the sessions of who names none: their IDs
	count   map[string]int          // of each token, with those that are being opened
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

func newSessions(o Options) *sessions {
	s := &sessions{
		api: o.API, alive: o.Alive, workspace: o.Workspace,
		open: map[string]*openSession{}, implied: map[impliedKey]string{}, count: map[string]int{},
	}
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
		s.mu.Lock()
		done := s.use(id)
		s.mu.Unlock()
		defer done()
		s.api.ServeHTTP(w, r)
	})
}

// use notes that a session is used, until what it returns is called. The caller holds the lock.
func (s *sessions) use(id string) (done func()) {
	one := s.open[id]
	if one == nil {
		return func() {}
	}
	one.busy++
	return func() {
		alive := s.alive(id)
		s.mu.Lock()
		defer s.mu.Unlock()
		one.busy--
		one.last = time.Now()
		if !alive {
			s.forget(id)
		}
	}
}

// forget forgets a session that is closed, or is about to be; nil: it was forgotten. The caller holds the lock.
func (s *sessions) forget(id string) *openSession {
	one := s.open[id]
	if one == nil {
		return nil
	}
	delete(s.open, id)
	if s.implied[one.implied] == id {
		delete(s.implied, one.implied)
	}
	s.uncount(one.token.ID)
	return one
}

func (s *sessions) uncount(token string) {
	if s.count[token]--; s.count[token] <= 0 {
		delete(s.count, token)
	}
}

// opening opens a session for a client.
func (s *sessions) opening(w http.ResponseWriter, r *http.Request) {
	answer := route.NewKept()
	if _, err := s.openFor(answer, r, impliedKey{}); err != nil {
		route.Fail(w, err)
		return
	}
	answer.CopyTo(w)
}

// openFor has the kernel open a session, and keeps it until nobody uses it or its token ends. An empty ID: the
// kernel did not open it, as the answer says.
func (s *sessions) openFor(answer *route.Kept, r *http.Request, implied impliedKey) (id string, err error) {
	login, _ := route.LoginOf(r)
	s.mu.Lock()
	if s.count[login.ID] >= maxSessions {
		s.mu.Unlock()
		return "", tool.Errorf("web", tool.Limited, "the token %s has %d sessions open", login.Name, maxSessions).
			WithHint("close those that are not needed: DELETE /v1/sessions/{session}")
	}
	s.count[login.ID]++
	s.mu.Unlock()
	s.api.ServeHTTP(answer, r)
	id = answer.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		s.uncount(login.ID)
		return "", nil
	}
	s.forget(id) // a conversation that the same token had open
	s.open[id] = &openSession{token: login.Token, implied: implied, last: time.Now()}
	if r.Context().Err() != nil { // the token may have ended meanwhile, and nobody closes it any more
		go s.end(id)
	}
	return id, nil
}

// in opens the session of a request that names none, or finds it, and uses it until done is called.
func (s *sessions) in(r *http.Request, workspace string) (id string, done func(), err error) {
	login, _ := route.LoginOf(r)
	key := impliedKey{login.ID, workspace, r.URL.Query().Get("app")}
	if id, done := s.find(key); id != "" {
		return id, done, nil
	}
	body, err := json.Marshal(protocol.OpenSession{Workspace: workspace, AppFile: key.appFile})
	if err != nil {
		return "", nil, err
	}
	answer := route.NewKept()
	made, err := s.openFor(answer, request(r, http.MethodPost, "/v1/sessions", body), key)
	if err != nil {
		return "", nil, err
	}
	if made == "" {
		return "", nil, failure(answer)
	}
	s.mu.Lock()
	id, twice := s.implied[key]
	if !twice {
		id = made
		s.implied[key] = made
	}
	done = s.use(id)
	s.mu.Unlock()
	if twice { // another request was faster
		s.end(made)
	}
	return id, done, nil
}

// find returns the session of requests that name none, if it is open, and uses it until done is called.
func (s *sessions) find(key impliedKey) (id string, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id = s.implied[key]; id == "" {
		return "", nil
	}
	if !s.alive(id) {
		s.forget(id)
		return "", nil
	}
	return id, s.use(id)
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
	s.endWhere(func(one *openSession) bool { return one.busy == 0 && time.Since(one.last) >= sessionIdle })
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.sweep.Reset(sessionIdle / 4)
	}
}

// endOf closes the sessions of a token that has ended.
func (s *sessions) endOf(tokenID string) {
	s.endWhere(func(one *openSession) bool { return one.token.ID == tokenID })
}

// endWhere closes the sessions of which something is true. Nobody finds them any more before that is known.
func (s *sessions) endWhere(is func(*openSession) bool) {
	s.mu.Lock()
	ended := map[string]*openSession{}
	for id, one := range s.open {
		if is(one) {
			ended[id] = s.forget(id)
		}
	}
	s.mu.Unlock()
	for id, one := range ended {
		s.shut(id, one)
	}
}

// end closes a session, as who opened it.
func (s *sessions) end(id string) {
	s.mu.Lock()
	one := s.forget(id)
	s.mu.Unlock()
	if one != nil {
		s.shut(id, one)
	}
}

func (s *sessions) shut(id string, one *openSession) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, "/v1/sessions/"+url.PathEscape(id), nil)
	if err == nil {
		s.api.ServeHTTP(route.NewKept(), route.WithLogin(r, route.Login{Token: one.token, Workspace: s.workspace}))
	}
}

// close closes them all.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	s.sweep.Stop()
	s.mu.Unlock()
	s.endWhere(func(*openSession) bool { return true })
}

// failure is the error that was answered.
func failure(k *route.Kept) error {
	var e tool.Error
	if err := json.Unmarshal(k.Body.Bytes(), &e); err != nil || e.Kind == "" {
		return tool.Errorf("web", tool.Internal, "the kernel answered %d", k.Status)
	}
	return &e
}

package browser

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/browser/page"
	"callgate/internal/module/browser/process"
	"callgate/internal/netguard"
	"callgate/tool"
)

// pool holds what the module has while the kernel runs: browsers, and the
// session's profiles in them.
//
// The law: mu guards the maps and the counts, and nothing slow happens under
// it. A browser is started by the first who needs it, and others wait for its
// ready; a profile likewise. A profile counts as a guest of its browser from
// before it is made until it was closed, and a browser without guests is
// ended after a while. After closed is set nothing new begins, and close
// returns when everything that began has ended.
type pool struct {
	log *slog.Logger

	mu       sync.Mutex
	closed   bool
	browsers map[browserKind]*browserInstance
	sessions map[string]*profileEntry
	profiles int  // how many were made, to name their folders
	warned   bool // that there is no sandbox
	work     sync.WaitGroup
}

// browserKind is what makes sessions share a browser: that they want the same one.
type browserKind struct {
	executable string
	visible    bool
}

// browserInstance is a browser, or one that is being started.
type browserInstance struct {
	kind    browserKind
	ready   chan struct{} // closed when the rest is known
	process *process.Process
	browser *page.Browser
	err     error

	refs int         // under the house's lock
	idle *time.Timer // likewise
}

// profileEntry is one session's profile, or one that is being made.
type profileEntry struct {
	ready   chan struct{}
	browser *browserInstance
	gate    *sessionProxy
	profile *page.Profile
	err     error
	wasLost bool // an earlier one went down with its browser

	calls sync.WaitGroup // that use it
}

// pageCall is one call in a session's profile.
type pageCall struct {
	op       string
	grant    tool.Grant
	settings *Settings
	profile  *page.Profile
	until    time.Time // how long the page may take
	warnings []string
}

func newPool(h module.Host) *pool {
	log := h.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &pool{log: log, browsers: map[browserKind]*browserInstance{}, sessions: map[string]*profileEntry{}}
}

// sessionProxy is the guard of one session, and the proxy that its pages go through.
type sessionProxy struct {
	*netguard.Guard
	*netguard.Proxy
}

// Probe tries to connect, to learn why it does not succeed.
func (g *sessionProxy) Probe(ctx context.Context, hostport string) error {
	conn, err := g.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return err
	}
	return conn.Close()
}

// newCall brings a call into its session's profile, which is made where there is
// none. The profile is not closed before done was called.
func (m *pool) newCall(ctx context.Context, id string, v *pageCall) (done func(), err error) {
	s, err := m.session(id, v.settings)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		s.calls.Done()
		return nil, ctx.Err()
	}
	if s.err != nil {
		s.calls.Done()
		return nil, s.err
	}
	v.profile = s.profile
	m.warn(s, v)
	return s.calls.Done, nil
}

// session returns the session's profile, ready or not; one more call uses it.
func (m *pool) session(id string, settings *Settings) (*profileEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, tool.Errorf(Namespace, tool.Unavailable, "the kernel is closing")
	}
	s := m.sessions[id]
	lost := s != nil && s.lost()
	if lost {
		old := s
		m.work.Go(func() { m.leave(old) })
	}
	if s == nil || lost {
		s = &profileEntry{ready: make(chan struct{}), wasLost: lost}
		m.sessions[id] = s
		m.profiles++
		number := m.profiles
		s.browser = m.running(browserKind{settings.Executable, !settings.Headless})
		m.work.Go(func() { m.make(id, s, settings, number) })
	}
	s.calls.Add(1)
	return s, nil
}

// lost reports a profile whose browser is no more.
func (s *profileEntry) lost() bool {
	select {
	case <-s.ready:
	default:
		return false
	}
	if s.profile == nil {
		return false
	}
	select {
	case <-s.profile.Done():
		return true
	default:
		return false
	}
}

// running returns a browser, with one more guest; the lock is held.
func (m *pool) running(k browserKind) *browserInstance {
	r := m.browsers[k]
	if r != nil && r.gone() {
		r = nil
	}
	if r == nil {
		r = &browserInstance{kind: k, ready: make(chan struct{})}
		m.browsers[k] = r
		m.work.Go(func() { m.start(r) })
	}
	if r.refs++; r.idle != nil {
		r.idle.Stop()
		r.idle = nil
	}
	return r
}

func (r *browserInstance) gone() bool {
	select {
	case <-r.ready:
	default:
		return false
	}
	if r.err != nil {
		return true
	}
	select {
	case <-r.browser.Done():
		return true
	default:
		return false
	}
}

// starting is how long a browser may take to answer.
const starting = 30 * time.Second

func (m *pool) start(r *browserInstance) {
	defer close(r.ready)
	p, err := process.Start(process.Options{Executable: r.kind.executable, Visible: r.kind.visible, Log: m.log})
	if err != nil {
		r.err = err
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), starting)
	defer cancel()
	b, err := page.Open(ctx, p.Pipe(), m.log)
	if err != nil {
		r.err = p.Failed(err)
		_ = p.Close()
		return
	}
	r.process, r.browser = p, b
}

// make makes a profile.
func (m *pool) make(id string, s *profileEntry, settings *Settings, number int) {
	defer close(s.ready)
	if s.err = s.build(settings, m.log, number); s.err == nil {
		return
	}
	m.mu.Lock()
	if m.sessions[id] == s {
		delete(m.sessions, id) // the next call tries again
	}
	m.mu.Unlock()
	m.release(s)
}

func (s *profileEntry) build(settings *Settings, log *slog.Logger, number int) error {
	<-s.browser.ready
	if s.browser.err != nil {
		return s.browser.err
	}
	width, height, err := settings.size()
	if err != nil {
		return err
	}
	if !settings.Headless {
		width, height = 0, 0
	}
	guard, err := netguard.New(settings.rules())
	if err != nil {
		return err
	}
	proxy, err := guard.Proxy(log)
	if err != nil {
		return err
	}
	s.gate = &sessionProxy{guard, proxy}
	ctx, cancel := context.WithTimeout(context.Background(), starting)
	defer cancel()
	s.profile, err = s.browser.browser.NewProfile(ctx, page.Options{
		Guard: s.gate, Width: width, Height: height, UserAgent: settings.UserAgent, Locale: settings.Locale,
		MaxTabs: settings.MaxTabs, MaxDownload: int64(settings.MaxDownload),
		Folder: filepath.Join(s.browser.process.Folder(), "profile-"+strconv.Itoa(number)),
	})
	return err
}

// warn tells a call what it should know of the browser it uses.
func (m *pool) warn(s *profileEntry, v *pageCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.wasLost {
		s.wasLost = false
		v.warnings = append(v.warnings, "the browser had ended unexpectedly; this is a new one, without the tabs and cookies of before")
	}
	if !s.browser.process.Sandboxed && !m.warned {
		m.warned = true
		const words = "the browser runs as root, where Chromium has no sandbox of its own; run the kernel as another user if pages are not to be trusted"
		m.log.Warn(words)
		v.warnings = append(v.warnings, words)
	}
}

// ended lets go of what a session had.
func (m *pool) ended(id string) {
	m.mu.Lock()
	s := m.sessions[id]
	delete(m.sessions, id)
	if s != nil && !m.closed {
		m.work.Go(func() { m.leave(s) })
	}
	m.mu.Unlock()
}

// leave closes a profile and gives up its place in the browser.
func (m *pool) leave(s *profileEntry) {
	<-s.ready
	if s.err != nil {
		return
	}
	s.profile.Close()
	s.calls.Wait() // they end, for their tabs are gone
	m.release(s)
}

// release closes a session's proxy, and ends a browser that has no guest left
// after a while.
func (m *pool) release(s *profileEntry) {
	if s.gate != nil {
		_ = s.gate.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := s.browser
	if r.refs--; r.refs > 0 || m.closed {
		return
	}
	if r.gone() {
		m.work.Go(func() { m.end(r) })
		return
	}
	r.idle = time.AfterFunc(idleFor, func() { m.retire(r) })
}

// idleFor is how long a browser that nobody uses is kept.
const idleFor = time.Minute

func (m *pool) retire(r *browserInstance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.refs == 0 && !m.closed {
		m.work.Go(func() { m.end(r) })
		if m.browsers[r.kind] == r {
			delete(m.browsers, r.kind)
		}
	}
}

// end ends a browser.
func (m *pool) end(r *browserInstance) {
	<-r.ready
	if r.err != nil {
		return
	}
	if err := r.process.Close(); err != nil {
		m.log.Warn("what the browser wrote could not be removed", "error", err)
	}
	r.browser.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.browsers[r.kind] == r {
		delete(m.browsers, r.kind)
	}
}

// close ends everything.
func (m *pool) close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	sessions, browsers := m.sessions, maps.Clone(m.browsers)
	m.sessions = map[string]*profileEntry{}
	m.mu.Unlock()
	var errs []error
	for _, r := range browsers {
		<-r.ready
		if r.idle != nil {
			r.idle.Stop()
		}
		if r.err == nil {
			errs = append(errs, r.process.Close())
			r.browser.Close()
		}
	}
	for _, s := range sessions {
		m.leave(s)
	}
	m.work.Wait()
	return errors.Join(errs...)
}

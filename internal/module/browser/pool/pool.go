// Package pool holds the browsers of a kernel and the profiles that its sessions have
// in them.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"callgate/internal/module/browser/page"
	"callgate/internal/netguard"
	"callgate/tool"
)

const op = "web.browse"

// Pool starts a browser for the first session that needs it, and gives each session a
// profile of its own there.
//
// The law: mu guards the maps and the counts, and nothing slow happens under it. The
// first caller who needs a browser starts it, and others wait until it is ready; the
// same holds for a profile. A profile counts as a user of its browser from before it
// is created until after it was closed, and a browser without users ends after a
// while. Once closed is set nothing new begins, and Close returns when everything that
// began has ended.
type Pool struct {
	log *slog.Logger

	mu       sync.Mutex
	closed   bool
	browsers map[kind]*instance
	sessions map[string]*session
	created  int  // number of profiles so far, which names their folders
	warned   bool // about the missing sandbox
	work     sync.WaitGroup
}

// Options are what a session wants of its browser. Sessions that want the same
// executable share one browser.
type Options struct {
	Executable string // "": the first that is installed
	Visible    bool   // with a window
	// Unsandboxed starts it without any sandbox.
	Unsandboxed bool
	Rules       netguard.Rules
	Profile     page.Options // without Guard and Folder, which the pool sets
}

// New returns an empty pool.
func New(log *slog.Logger) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Pool{log: log, browsers: map[kind]*instance{}, sessions: map[string]*session{}}
}

// session is the profile of one session, or one that is being created.
type session struct {
	ready   chan struct{} // closed when profile or err is set
	browser *instance
	proxy   *sessionProxy
	profile *page.Profile
	err     error
	wasLost bool // the session's profile before this one ended with its browser

	calls sync.WaitGroup // the calls that use the profile
}

// sessionProxy is the guard of one session, and the proxy for its pages.
type sessionProxy struct {
	*netguard.Guard
	*netguard.Proxy
	addr  string // at which the browser reaches it
	leave func()
}

// Addr is the address of the proxy, as the browser has it.
func (p *sessionProxy) Addr() string { return p.addr }

// Close ends the proxy.
func (p *sessionProxy) Close() error {
	p.leave()
	return p.Proxy.Close()
}

// Probe tries to connect, to learn why a connection does not succeed.
func (p *sessionProxy) Probe(ctx context.Context, hostport string) error {
	conn, err := p.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Lease is the use of a profile by one call.
type Lease struct {
	Profile  *page.Profile
	Warnings []string // what the caller should know of the browser

	calls *sync.WaitGroup
}

// Release ends the use. The profile is not closed before that.
func (l *Lease) Release() { l.calls.Done() }

// Acquire returns the profile of a session, and creates it if there is none.
func (p *Pool) Acquire(ctx context.Context, id string, o Options) (*Lease, error) {
	s, err := p.session(id, o)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
		err = s.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		s.calls.Done()
		return nil, err
	}
	return &Lease{Profile: s.profile, Warnings: p.warnings(s), calls: &s.calls}, nil
}

// session returns a session's profile, ready or not, with one more call.
func (p *Pool) session(id string, o Options) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, tool.Errorf(op, tool.Unavailable, "the kernel is closing")
	}
	s := p.sessions[id]
	lost := s != nil && s.lost()
	if lost {
		old := s
		p.work.Go(func() { p.end(old) })
	}
	if s == nil || lost {
		s = &session{ready: make(chan struct{}), wasLost: lost}
		p.sessions[id] = s
		p.created++
		number := p.created
		s.browser = p.instance(kind{o.Executable, o.Visible, o.Unsandboxed})
		p.work.Go(func() { p.create(id, s, o, number) })
	}
	s.calls.Add(1)
	return s, nil
}

// lost reports a profile whose browser has ended.
func (s *session) lost() bool {
	return isClosed(s.ready) && s.profile != nil && isClosed(s.profile.Done())
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// create creates a profile. After a failure, the session's next call tries again.
func (p *Pool) create(id string, s *session, o Options, number int) {
	defer close(s.ready)
	if s.err = s.create(o, p.log, number); s.err == nil {
		return
	}
	p.mu.Lock()
	if p.sessions[id] == s {
		delete(p.sessions, id)
	}
	p.mu.Unlock()
	p.release(s)
}

func (s *session) create(o Options, log *slog.Logger, number int) error {
	<-s.browser.ready
	if s.browser.err != nil {
		return s.browser.err
	}
	guard, err := netguard.New(o.Rules)
	if err != nil {
		return err
	}
	proxy, err := guard.Proxy(log)
	if err != nil {
		return err
	}
	addr, leave := s.browser.process.Reach(proxy.Addr())
	s.proxy = &sessionProxy{guard, proxy, addr, leave}
	o.Profile.Guard = s.proxy
	o.Profile.Folder = filepath.Join(s.browser.process.Folder(), "profile-"+strconv.Itoa(number))
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s.profile, err = s.browser.browser.NewProfile(ctx, o.Profile)
	return err
}

// warnings returns what a call should know of the browser it uses.
func (p *Pool) warnings(s *session) (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.wasLost {
		s.wasLost = false
		all = append(all, "the browser had ended unexpectedly; this is a new one, without the tabs and cookies of before")
	}
	if !s.browser.process.Sandboxed && !p.warned {
		p.warned = true
		const text = "no sandbox confines the browser, because the app file says unsandboxed: a page that takes it over has " +
			"what Callgate has; delete that line, or let Callgate run as another user, if pages are not to be trusted"
		p.log.Warn(text)
		all = append(all, text)
	}
	return all
}

// EndSession closes the profile of a session.
func (p *Pool) EndSession(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[id]
	delete(p.sessions, id)
	if s != nil && !p.closed {
		p.work.Go(func() { p.end(s) })
	}
}

// end closes a profile and then releases its browser.
func (p *Pool) end(s *session) {
	<-s.ready
	if s.err != nil {
		return
	}
	s.profile.Close()
	s.calls.Wait() // they end, because their tabs are closed
	p.release(s)
}

// release closes a session's proxy, and ends a browser without users after a while.
func (p *Pool) release(s *session) {
	if s.proxy != nil {
		_ = s.proxy.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := s.browser
	if b.users--; b.users > 0 || p.closed {
		return
	}
	if b.ended() {
		p.work.Go(func() { p.stop(b) })
		return
	}
	b.idle = time.AfterFunc(idleTime, func() { p.retire(b) })
}

// Close ends all profiles and browsers.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	sessions, browsers := p.sessions, maps.Clone(p.browsers)
	p.sessions = map[string]*session{}
	p.mu.Unlock()
	var errs []error
	for _, b := range browsers {
		<-b.ready
		if b.idle != nil {
			b.idle.Stop()
		}
		if b.err == nil {
			errs = append(errs, b.process.Close())
			b.browser.Close()
		}
	}
	for _, s := range sessions {
		p.end(s)
	}
	p.work.Wait()
	return errors.Join(errs...)
}

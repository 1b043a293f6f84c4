// Package page drives the pages of a browser: its profiles, their tabs, and what is
// in them.
//
// # Profiles
//
// A profile is a browser context: cookies, storage, caches and a proxy of its own,
// which no other profile sees. The browser pauses each new target until it was set up
// here, so every target belongs to its profile before its first request. A window
// that a page opens becomes a tab.
//
// # Laws of a tab
//
//  1. One call at a time uses a tab ([Tab.Acquire]).
//  2. The handler of a tab's events records what happens to it: it navigates, crashes,
//     asks a question. Each record has its own lock and wakes those who wait for it.
//     A handler never waits.
//  3. Our scripts run in an isolated world, which the page can neither see nor change.
package page

import (
	"context"
	"log/slog"
	"net/url"
	"sync"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
)

const op = "web.browse"

// Guard decides what pages may reach, and is the proxy through which they do.
type Guard interface {
	Check(*url.URL) error
	Addr() string
	Credential() (user, password string)
	Refused(*url.URL) error                           // why the last connection there was refused
	Probe(ctx context.Context, hostport string) error // why a connection there does not succeed
}

// Browser is a connection to a browser.
type Browser struct {
	conn  *devtools.Conn
	log   *slog.Logger
	agent string // its user agent

	mu       sync.Mutex
	profiles map[cdp.BrowserContextID]*Profile
}

// Open connects to a browser that was started.
func Open(ctx context.Context, t devtools.Transport, log *slog.Logger) (*Browser, error) {
	b := &Browser{conn: devtools.Open(t), log: log, profiles: map[cdp.BrowserContextID]*Profile{}}
	root := b.conn.Browser()
	root.Handle(b.event)
	version := devtools.Start(root, browser.GetVersion, cdp.Empty{})
	attach := devtools.Start(root, target.SetAutoAttach, autoAttach("page"))
	var v browser.GetVersionResult
	err := version.Wait(ctx, &v)
	if err == nil {
		err = attach.Wait(ctx, nil)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	b.agent = v.UserAgent
	return b, nil
}

// autoAttach asks for a session with every target of the given types, and for the
// target to pause until it was set up. It excludes other types: a target that nothing
// sets up would stay paused.
func autoAttach(types ...string) target.SetAutoAttachParams {
	var filter target.Filter
	for _, t := range types {
		filter = append(filter, target.FilterEntry{Type: t})
	}
	filter = append(filter, target.FilterEntry{Exclude: true})
	return target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: new(true), Filter: filter,
	}
}

// Done is closed when the connection to the browser has ended.
func (b *Browser) Done() <-chan struct{} { return b.conn.Done() }

// Close ends the connection.
func (b *Browser) Close() { b.conn.Close() }

func (b *Browser) profile(id cdp.BrowserContextID) *Profile {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.profiles[id]
}

// event handles the events of the browser's targets.
func (b *Browser) event(e any) {
	switch e := e.(type) {
	case devtools.Attached:
		if p := b.profile(e.Target.BrowserContextID); p != nil {
			p.attached(e)
			return
		}
		b.closeTarget(e)
	case *target.EventDetachedFromTarget:
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.profiles {
			p.detached(e.SessionID)
		}
	}
}

// closeTarget closes a target that is not allowed. The target runs first, because the
// page that opened it waits until it does.
func (b *Browser) closeTarget(a devtools.Attached) {
	devtools.Start(a.Session, runtime.RunIfWaitingForDebugger, cdp.Empty{})
	devtools.Start(b.conn.Browser(), target.CloseTarget, target.CloseTargetParams{TargetID: a.Target.TargetID})
}

// Package page drives the pages of a browser: profiles, their tabs, what is on
// them, and what is done to it.
//
// # Profiles
//
// A profile is a browser context: its own cookies, storage, caches and proxy,
// nothing of which another sees. Every target of a context belongs to its
// profile from before its first request, because the browser holds each new
// one until it was set up here; a window that a page opens becomes a tab.
//
// # Laws of a tab
//
//  1. One call at a time uses a tab ([Tab.Use]).
//  2. What happens to it (it navigates, crashes, asks a question) is noted by
//     the handler of its events under its lock; whoever waits for something
//     looks at the notes and is woken by each change. A handler never waits.
//  3. Scripts of ours run in a world of their own, which a page can neither
//     see nor change.
//  4. A reference names one element of one document. Its number is never given
//     again in that tab: a reference that is out of date fails, and is never
//     somebody else.
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

// Guard judges what pages reach, and is the proxy through which they do.
type Guard interface {
	Check(*url.URL) error
	Addr() string
	Credential() (user, password string)
	Refused(*url.URL) error                           // why the last connection there was refused
	Probe(ctx context.Context, hostport string) error // why a connection there does not succeed
}

// Browser is a browser that answers.
type Browser struct {
	conn  *devtools.Conn
	log   *slog.Logger
	agent string // how it calls itself

	mu       sync.Mutex
	profiles map[cdp.BrowserContextID]*Profile
}

// Open begins to speak with a browser that was started.
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

// autoAttach asks for a session with every target of some types, which waits
// until it was set up. Others are left alone: one that nobody sets up would
// wait for ever.
func autoAttach(kinds ...string) target.SetAutoAttachParams {
	var filter target.Filter
	for _, k := range kinds {
		filter = append(filter, target.FilterEntry{Type: k})
	}
	return target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: new(true), Filter: append(filter, target.FilterEntry{Exclude: true})}
}

// Gone is closed when the browser is no more.
func (b *Browser) Gone() <-chan struct{} { return b.conn.Done() }

// Close ends the conversation.
func (b *Browser) Close() { b.conn.Close() }

func (b *Browser) profile(id cdp.BrowserContextID) *Profile {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.profiles[id]
}

// event handles what the browser says of its targets.
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

// closeTarget closes a target that may not be. The page that opened it waits
// until it runs.
func (b *Browser) closeTarget(a devtools.Attached) {
	devtools.Start(a.Session, runtime.RunIfWaitingForDebugger, cdp.Empty{})
	devtools.Start(b.conn.Browser(), target.CloseTarget, target.CloseTargetParams{TargetID: a.Target.TargetID})
}

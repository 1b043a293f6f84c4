package devtools_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/devtools/devtoolstest"
)

func echo(m *cdproto.Message) []*cdproto.Message {
	return []*cdproto.Message{devtoolstest.Reply(m, `{"frameId":"F"}`)}
}

func silent(*cdproto.Message) []*cdproto.Message { return nil }

func TestCalls(t *testing.T) {
	b := devtoolstest.New(func(m *cdproto.Message) []*cdproto.Message {
		if m.Method == "Page.reload" {
			return []*cdproto.Message{devtoolstest.Refuse(m, "no")}
		}
		return echo(m)
	})
	c := devtools.Open(b)
	defer c.Close()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			r, err := devtools.Call(t.Context(), c.Browser(), page.Navigate, page.NavigateParams{URL: "x"})
			if err != nil || r.FrameID != "F" {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	wg.Wait()
	var refusal *cdproto.Error
	err := devtools.Exec(t.Context(), c.Browser(), page.Reload, page.ReloadParams{})
	if !errors.As(err, &refusal) || refusal.Message != "no" {
		t.Errorf("an error reply became %v", err)
	}
}

// A slow handler delays neither replies nor other sessions, and it gets the events
// that arrived before it was set.
func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := devtoolstest.New(echo)
		c := devtools.Open(b)
		seen := make(chan devtools.Attached, 1)
		c.Browser().Handle(func(e any) {
			if a, ok := e.(devtools.Attached); ok {
				seen <- a
			}
		})
		b.Send(devtoolstest.Event("", "Target.attachedToTarget",
			`{"sessionId":"S","targetInfo":{"targetId":"T","type":"page"},"waitingForDebugger":true}`))
		const many = 5000
		for range many {
			b.Send(devtoolstest.Event("S", "Page.domContentEventFired", `{"timestamp":1}`))
		}
		a := <-seen
		if !a.Waiting || a.Target.TargetID != "T" {
			t.Errorf("%+v", a)
		}
		got := 0
		a.Session.Handle(func(e any) {
			<-time.After(time.Millisecond)
			got++
		})
		if err := devtools.Exec(t.Context(), a.Session, page.Enable, page.EnableParams{}); err != nil {
			t.Error(err)
		}
		a.Session.WaitHandled(t.Context())
		if got != many {
			t.Errorf("the handler saw %d events, want %d", got, many)
		}
		c.Close()
	})
}

func TestEndOfSessionAndConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := devtoolstest.New(silent)
		c := devtools.Open(b)
		one, two := c.Session("1"), c.Session("2")
		var order []string
		one.Handle(func(any) { order = append(order, "event") })
		first := devtools.Start(one, page.Enable, page.EnableParams{})
		second := devtools.Start(two, page.Enable, page.EnableParams{})
		b.Send(devtoolstest.Event("1", "Page.domContentEventFired", `{"timestamp":1}`))
		b.Send(devtoolstest.Event("", "Target.detachedFromTarget", `{"sessionId":"1"}`))
		if err := first.Wait(t.Context(), nil); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a pending call of a session that ended: %v", err)
		}
		<-one.Done()
		if err := devtools.Exec(t.Context(), one, page.Enable, page.EnableParams{}); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a later call of the session: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := devtools.Exec(ctx, two, page.Enable, page.EnableParams{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call without a reply: %v", err)
		}
		c.Close()
		if err := second.Wait(t.Context(), nil); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a pending call of a connection that ended: %v", err)
		}
		err := devtools.Exec(t.Context(), c.Browser(), page.Enable, page.EnableParams{})
		if !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a later call of the connection: %v", err)
		}
		err = devtools.Exec(t.Context(), c.Session("3"), page.Enable, page.EnableParams{})
		if !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a new session of a closed connection: %v", err)
		}
		if len(order) != 1 {
			t.Errorf("the last event was lost: %v", order)
		}
	})
}

// The browser never replies to what is sent to a page whose process died, so calls to
// it fail: those that were pending, and later ones. The session itself goes on.
func TestCrashFailsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := devtoolstest.New(silent)
		c := devtools.Open(b)
		s := c.Session("1")
		seen := make(chan any, 1)
		s.Handle(func(e any) { seen <- e })
		pending := devtools.Start(s, page.Enable, page.EnableParams{})
		b.Send(devtoolstest.Event("1", "Inspector.targetCrashed", `{}`))
		b.Send(devtoolstest.Event("1", "Inspector.targetCrashed", `{}`))
		if err := pending.Wait(t.Context(), nil); !errors.Is(err, devtools.ErrCrashed) {
			t.Errorf("a pending call: %v", err)
		}
		if err := devtools.Exec(t.Context(), s, page.Enable, page.EnableParams{}); !errors.Is(err, devtools.ErrCrashed) {
			t.Errorf("a later call: %v", err)
		}
		<-seen
		<-seen
		select {
		case <-s.Done():
			t.Error("the session ended with the page's process")
		default:
		}
		b.Send(devtoolstest.Event("", "Target.detachedFromTarget", `{"sessionId":"1"}`))
		<-s.Done()
		if err := devtools.Exec(t.Context(), s, page.Enable, page.EnableParams{}); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a call after the tab was closed: %v", err)
		}
		c.Close()
	})
}

// TestBrowserEndsBeforeItsSessions: whoever learns that a session ended can tell at once
// whether its tab was closed or the whole browser is gone.
func TestBrowserEndsBeforeItsSessions(t *testing.T) {
	c := devtools.Open(devtoolstest.New(silent))
	var wg sync.WaitGroup
	for i := range 200 {
		s := c.Session(target.SessionID(strconv.Itoa(i)))
		wg.Go(func() {
			<-s.Done()
			select {
			case <-c.Done():
			default:
				t.Errorf("session %s ended while the browser seemed to go on", s.ID)
			}
		})
	}
	c.Close()
	wg.Wait()
}

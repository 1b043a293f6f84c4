package devtools_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
)

// script is a browser that answers as it is told.
type script struct {
	in     chan *cdproto.Message
	answer func(*cdproto.Message) []*cdproto.Message
	once   sync.Once
	ended  chan struct{}
}

func newScript(answer func(*cdproto.Message) []*cdproto.Message) *script {
	return &script{in: make(chan *cdproto.Message, 10_000), answer: answer, ended: make(chan struct{})}
}

func (s *script) Read(_ context.Context, m *cdproto.Message) error {
	select {
	case got := <-s.in:
		*m = *got
		return nil
	case <-s.ended:
		return io.EOF
	}
}

func (s *script) Write(_ context.Context, m *cdproto.Message) error {
	select {
	case <-s.ended:
		return io.ErrClosedPipe
	default:
	}
	for _, a := range s.answer(m) {
		s.in <- a
	}
	return nil
}

func (s *script) Close() error { s.once.Do(func() { close(s.ended) }); return nil }

func event(session target.SessionID, method string, params string) *cdproto.Message {
	return &cdproto.Message{SessionID: session, Method: cdproto.MethodType(method), Params: jsonv2.Value(params)}
}

func echo(m *cdproto.Message) []*cdproto.Message {
	return []*cdproto.Message{{ID: m.ID, SessionID: m.SessionID, Result: jsonv2.Value(`{"frameId":"F"}`)}}
}

func TestCalls(t *testing.T) {
	s := newScript(func(m *cdproto.Message) []*cdproto.Message {
		if m.Method == "Page.reload" {
			return []*cdproto.Message{{ID: m.ID, Error: &cdproto.Error{Code: -32000, Message: "no"}}}
		}
		return echo(m)
	})
	c := devtools.Open(s)
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
	if err := devtools.Exec(t.Context(), c.Browser(), page.Reload, page.ReloadParams{}); !errors.As(err, &refusal) || refusal.Message != "no" {
		t.Errorf("a refusal came as %v", err)
	}
}

// A handler that is slow holds up neither answers nor other sessions, and
// nothing it was sent before it was there is lost.
func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(echo)
		c := devtools.Open(s)
		seen := make(chan devtools.Attached, 1)
		c.Browser().Handle(func(e any) {
			if a, ok := e.(devtools.Attached); ok {
				seen <- a
			}
		})
		s.in <- event("", "Target.attachedToTarget", `{"sessionId":"S","targetInfo":{"targetId":"T","type":"page"},"waitingForDebugger":true}`)
		const many = 5000
		for range many {
			s.in <- event("S", "Page.domContentEventFired", `{"timestamp":1}`)
		}
		a := <-seen
		if !a.Waiting || a.Target.TargetID != "T" {
			t.Errorf("%+v", a)
		}
		got := 0
		a.Session.Handle(func(e any) {
			time.Sleep(time.Millisecond)
			got++
		})
		if err := devtools.Exec(t.Context(), a.Session, page.Enable, page.EnableParams{}); err != nil {
			t.Error(err)
		}
		a.Session.WaitHandled(t.Context())
		if got != many {
			t.Errorf("%d events were seen", got)
		}
		c.Close()
	})
}

func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(func(*cdproto.Message) []*cdproto.Message { return nil })
		c := devtools.Open(s)
		one, two := c.Session("1"), c.Session("2")
		var order []string
		one.Handle(func(any) { order = append(order, "event") })
		first, second := devtools.Start(one, page.Enable, page.EnableParams{}), devtools.Start(two, page.Enable, page.EnableParams{})
		s.in <- event("1", "Page.domContentEventFired", `{"timestamp":1}`)
		s.in <- event("", "Target.detachedFromTarget", `{"sessionId":"1"}`)
		if err := first.Wait(t.Context(), nil); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a call to a session that ended: %v", err)
		}
		<-one.Done()
		if err := devtools.Exec(t.Context(), one, page.Enable, page.EnableParams{}); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a later one: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := devtools.Exec(ctx, two, page.Enable, page.EnableParams{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an answer that does not come: %v", err)
		}
		c.Close()
		if err := second.Wait(t.Context(), nil); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a call to a connection that ended: %v", err)
		}
		if err := devtools.Exec(t.Context(), c.Browser(), page.Enable, page.EnableParams{}); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a later one: %v", err)
		}
		if err := devtools.Exec(t.Context(), c.Session("3"), page.Enable, page.EnableParams{}); !errors.Is(err, devtools.ErrClosed) {
			t.Errorf("a new session of it: %v", err)
		}
		if len(order) != 1 {
			t.Errorf("the last event was lost: %v", order)
		}
	})
}

package navigation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/devtools/devtoolstest"
)

// message writes an event as the browser sends it to the tab's session.
func message(t testing.TB, event any) *cdproto.Message {
	t.Helper()
	raw, err := jsonv2.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	domain, name, _ := strings.Cut(strings.TrimPrefix(fmt.Sprintf("%T", event), "*"), ".Event")
	method := strings.ToUpper(domain[:1]) + domain[1:] + "." + strings.ToLower(name[:1]) + name[1:]
	session := target.SessionID("S")
	if domain == "target" {
		session = ""
	}
	return devtoolstest.Event(session, method, string(raw))
}

// reply stands for the reply to Page.navigate among events.
type reply string

// pause stands for time that passes.
type pause time.Duration

// tab is a tab of a browser that follows a script.
type tab struct {
	*Tracker
	asked []string // the commands that it was sent
}

// newTab opens a tab whose browser plays the nth script when it gets the nth command
// of a method, and nothing for others.
func newTab(t testing.TB, scripts map[cdproto.MethodType][][]any) *tab {
	t.Helper()
	made := &tab{}
	var playing sync.WaitGroup
	var b *devtoolstest.Browser
	b = devtoolstest.New(func(m *cdproto.Message) []*cdproto.Message {
		made.asked = append(made.asked, string(m.Method))
		turns := scripts[m.Method]
		if len(turns) == 0 {
			return nil
		}
		scripts[m.Method] = turns[1:]
		playing.Go(func() { play(t, b, m, turns[0]) })
		return nil
	})
	conn := devtools.Open(b)
	t.Cleanup(func() { playing.Wait(); conn.Close() })
	session := conn.Session("S")
	made.Tracker = New(session, main, func(context.Context, time.Duration) bool { return true })
	conn.Browser().Handle(func(any) {})
	session.Handle(func(event any) {
		switch e := event.(type) {
		case *page.EventJavascriptDialogOpening:
			made.DialogOpened(e.Type == page.DialogTypeBeforeunload)
		case *inspector.EventTargetCrashed:
			made.End(devtools.ErrCrashed)
		default:
			made.Handle(e)
		}
	})
	return made
}

func play(t testing.TB, b *devtoolstest.Browser, command *cdproto.Message, script []any) {
	for _, step := range script {
		switch step := step.(type) {
		case reply:
			b.Send(devtoolstest.Reply(command, string(step)))
		case pause:
			<-time.After(time.Duration(step))
		default:
			b.Send(message(t, step))
		}
	}
}

func requested() any {
	return &fetch.EventRequestPaused{Request: &network.Request{URL: "http://x", Headers: network.Headers{}}, FrameID: main}
}

func asks() any {
	return &page.EventJavascriptDialogOpening{FrameID: main, Type: page.DialogTypeBeforeunload}
}

func answered() any { return &page.EventJavascriptDialogClosed{FrameID: main} }

const (
	loads  = reply(`{"frameId":"main","loaderId":"1"}`)
	aborts = reply(`{"frameId":"main","loaderId":"1","errorText":"net::ERR_ABORTED"}`)
	fails  = reply(`{"frameId":"main","loaderId":"1","errorText":"net::ERR_TIMED_OUT"}`)
	moves  = reply(`{"frameId":"main"}`)
	file   = reply(`{"frameId":"main","loaderId":"1","errorText":"net::ERR_ABORTED","isDownload":true}`)
)

func TestOpen(t *testing.T) {
	crash, detach := &inspector.EventTargetCrashed{}, &target.EventDetachedFromTarget{SessionID: "S"}
	start := events(navigating("1", other), begun(), requested())
	for name, c := range map[string]struct {
		turns [][]any // what the browser does for each Page.navigate
		want  Outcome
		code  string
		err   error
	}{
		"a page":                       {[][]any{events(start, loads, load("1", "a")[2:])}, Arrived, "", nil},
		"the reply overtakes":          {[][]any{events(loads, load("1", "a"))}, Arrived, "", nil},
		"the reply is last":            {[][]any{events(load("1", "a"), loads)}, Arrived, "", nil},
		"the document is late":         {[][]any{events(start, loads, pause(5*time.Second), arrived("1", "a"))}, Arrived, "", nil},
		"the document never comes":     {[][]any{events(start, loads)}, 0, "", context.DeadlineExceeded},
		"only a frame's document":      {[][]any{events(start, loads, stopped())}, 0, "", context.DeadlineExceeded},
		"within the document":          {[][]any{events(moves, moved("a#x"))}, Moved, "", nil},
		"a file":                       {[][]any{events(start, file, stopped())}, Downloaded, "", nil},
		"an error and its page":        {[][]any{events(start, fails, errorPage("1", "x"))}, Failed, "net::ERR_TIMED_OUT", nil},
		"an error without a page":      {[][]any{events(start, fails)}, Failed, "net::ERR_TIMED_OUT", nil},
		"no content":                   {[][]any{events(start, aborts, stopped())}, Failed, aborted, nil},
		"given up before it began":     {[][]any{{aborts}, {aborts}, events(start, loads, load("1", "a")[2:])}, Arrived, "", nil},
		"given up again and again":     {[][]any{{aborts}, {aborts}, {aborts}, {aborts}, {aborts}}, Failed, aborted, nil},
		"redirected by script at once": {[][]any{events(start, navigating("2", other), aborts, load("2", "b")[1:])}, Arrived, "", nil},
		"replaced, and no page after":  {[][]any{events(start, aborts, navigating("2", other))}, 0, "", context.DeadlineExceeded},
		"the page asks and stays": {
			[][]any{events(start, asks(), aborts, pause(time.Second), stopped(), answered())}, Stayed, "", nil,
		},
		"the page asks for ever":      {[][]any{events(start, asks(), aborts)}, Stayed, "", nil},
		"the server does not answer":  {[][]any{start}, Unanswered, "", nil},
		"the browser does not answer": {[][]any{{}}, 0, "", context.DeadlineExceeded},
		"it crashes before the reply": {[][]any{events(start, crash)}, 0, "", devtools.ErrCrashed},
		"it crashes after the reply":  {[][]any{events(start, loads, crash)}, 0, "", devtools.ErrCrashed},
		"it is closed meanwhile":      {[][]any{events(start, loads, detach)}, 0, "", devtools.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab := newTab(t, map[cdproto.MethodType][][]any{"Page.navigate": c.turns})
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				outcome, code, err := tab.Open(ctx, "http://x")
				if outcome != c.want || code != c.code || !errors.Is(err, c.err) {
					t.Errorf("Open = %v, %q, %v; want %v, %q, %v", outcome, code, err, c.want, c.code, c.err)
				}
				synctest.Wait()
			})
		})
	}
}

// A navigation whose time is over is stopped, so that the page can be used again.
func TestOpenStopsWhatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := newTab(t, map[cdproto.MethodType][][]any{"Page.navigate": {{requested()}}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if outcome, _, err := tab.Open(ctx, "http://x"); outcome != Unanswered || err != nil {
			t.Errorf("Open = %v, %v", outcome, err)
		}
		if got := strings.Join(tab.asked, " "); got != "Page.navigate Page.stopLoading" {
			t.Errorf("the commands were %s", got)
		}
	})
}

func TestBack(t *testing.T) {
	const three = `{"currentIndex":2,"entries":[{"id":1,"url":"about:blank"},{"id":2,"url":"a"},{"id":3,"url":"b"}]}`
	for name, c := range map[string]struct {
		history string
		events  []any
		err     error
	}{
		"another document":  {three, load("1", "a"), nil},
		"within the page":   {three, events(begun(), moved("a"), stopped()), nil},
		"nothing came":      {three, events(begun(), stopped()), nil},
		"loads for ever":    {three, events(begun(), stopped(), begun()), context.DeadlineExceeded},
		"no event at all":   {three, nil, context.DeadlineExceeded},
		"the first page":    {`{"currentIndex":0,"entries":[{"id":1,"url":"a"}]}`, nil, ErrNoHistory},
		"only a blank page": {`{"currentIndex":1,"entries":[{"id":1,"url":"about:blank"},{"id":2,"url":"a"}]}`, nil, ErrNoHistory},
		"an odd index":      {`{"currentIndex":9,"entries":[]}`, nil, ErrNoHistory},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tab := newTab(t, map[cdproto.MethodType][][]any{
					"Page.getNavigationHistory":   {{reply(c.history)}},
					"Page.navigateToHistoryEntry": {events(reply(`{}`), c.events)},
				})
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				if err := tab.Back(ctx); !errors.Is(err, c.err) {
					t.Errorf("Back = %v, want %v", err, c.err)
				}
				synctest.Wait()
			})
		})
	}
}

func TestWaits(t *testing.T) {
	tabAt := func(t *testing.T, all ...any) *tab {
		tab := newTab(t, nil)
		for _, e := range events(all...) {
			tab.Handle(e)
		}
		return tab
	}
	later := func(tab *tab, all ...any) {
		go func() {
			<-time.After(time.Second)
			for _, e := range events(all...) {
				tab.Handle(e)
			}
		}()
	}
	synctest.Test(t, func(t *testing.T) {
		tab := tabAt(t, load("1", "a")[:5])
		if late, err := tab.WaitLoaded(t.Context(), time.Second); !late || err != nil {
			t.Errorf("a page that has not loaded: %v, %v", late, err)
		}
		later(tab, load("1", "a")[5:])
		if late, err := tab.WaitLoaded(t.Context(), time.Minute); late || err != nil {
			t.Errorf("a page that loads: %v, %v", late, err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		tab.Handle(begun())
		tab.Handle(navigating("2", other))
		if late, err := tab.WaitLoaded(cancelled, time.Minute); late || !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was cancelled: %v, %v", late, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		tab := tabAt(t, load("1", "a"))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if leaving, err := tab.WaitLeaving(short, 1); leaving || err != nil {
			t.Errorf("a page that stays: %v, %v", leaving, err)
		}
		later(tab, navigating("2", other))
		if leaving, err := tab.WaitLeaving(t.Context(), 1); !leaving || err != nil {
			t.Errorf("a page that is left: %v, %v", leaving, err)
		}
		if leaving, err := tab.WaitLeaving(t.Context(), 0); !leaving || err != nil {
			t.Errorf("a page that was left: %v, %v", leaving, err)
		}
		began := time.Now()
		later(tab, load("2", "b")[1:])
		tab.WaitArrival(t.Context(), time.Minute)
		if tab.State().Document != 2 || time.Since(began) != time.Second {
			t.Errorf("the arrival was waited for %v, until document %d", time.Since(began), tab.State().Document)
		}
		tab.End(devtools.ErrCrashed)
		tab.End(devtools.ErrClosed)
		if _, err := tab.WaitLeaving(t.Context(), 1); !errors.Is(err, devtools.ErrCrashed) {
			t.Errorf("a tab that crashed: %v", err)
		}
	})
}

// However the browser orders its events and its reply, Open returns before its
// deadline, and reports an arrival only if a document arrived.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{12, 0, 2, 4, 3, 4, 8, 4, 0, 4, 7, 4, 5, 4, 4, 4})
	f.Add([]byte{12, 1, 2, 4, 11, 0, 4, 0})
	f.Add([]byte{2, 4, 10, 0, 12, 1, 2, 8, 0, 8, 5, 8})
	f.Add([]byte{11, 0, 12, 1, 13, 0, 12, 2, 0, 0, 14, 0})
	replies := []any{loads, aborts, fails, moves, file}
	f.Fuzz(func(t *testing.T, data []byte) {
		script, answers := scriptOf(data, replies)
		synctest.Test(t, func(t *testing.T) {
			tab := newTab(t, map[cdproto.MethodType][][]any{"Page.navigate": {script, {aborts}, {fails}}})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			began := time.Now()
			outcome, code, err := tab.Open(ctx, "http://x")
			took := time.Since(began)
			state := tab.State()
			switch {
			case took > 20*time.Second:
				t.Errorf("Open took %v", took)
			case (err == nil) == (outcome == 0):
				t.Errorf("Open = %v, %v", outcome, err)
			case outcome == Arrived && state.Document == 0:
				t.Error("Open reports an arrival, and none happened")
			case outcome == Downloaded && answers[file] == 0:
				t.Error("Open reports a file, and none came")
			case outcome == Stayed && state.Refusals == 0:
				t.Error("Open reports that the page stayed, and it was not asked")
			case (outcome == Failed) != (code != ""):
				t.Errorf("Open = %v with the code %q", outcome, code)
			}
			synctest.Wait()
			cancel()
		})
	})
}

// scriptOf makes a script out of bytes: events, replies, questions, pauses, a crash
// and the end of the tab.
func scriptOf(data []byte, replies []any) (script []any, answers map[any]int) {
	answers = map[any]int{}
	for ; len(data) >= 2 && len(script) < 60; data = data[2:] {
		switch kind := data[0] % 16; kind {
		case 10:
			script = append(script, requested())
		case 11:
			script = append(script, asks())
		case 12:
			r := replies[int(data[1])%len(replies)]
			answers[r]++
			script = append(script, r)
		case 13:
			script = append(script, answered())
		case 14:
			script = append(script, pause(time.Duration(data[1])*50*time.Millisecond))
		case 15:
			if data[1]%8 == 0 {
				script = append(script, &inspector.EventTargetCrashed{})
			} else if data[1]%8 == 1 {
				script = append(script, &target.EventDetachedFromTarget{SessionID: "S"})
			}
		default:
			script = append(script, decode(data[:2])...)
		}
	}
	return script, answers
}

package navigation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
)

const main = cdp.FrameID("main")

// The events of a main frame, in short.
func arrived(loader, url string) any {
	return &page.EventFrameNavigated{Frame: &cdp.Frame{ID: main, LoaderID: cdp.LoaderID(loader), URL: url}}
}

func errorPage(loader, url string) any {
	return &page.EventFrameNavigated{Frame: &cdp.Frame{
		ID: main, LoaderID: cdp.LoaderID(loader), URL: "chrome-error://chromewebdata/", UnreachableURL: url,
	}}
}

func navigating(loader string, kind page.FrameStartedNavigatingNavigationType) any {
	return &page.EventFrameStartedNavigating{FrameID: main, LoaderID: cdp.LoaderID(loader), NavigationType: kind}
}

func reached(loader, milestone string) any {
	return &page.EventLifecycleEvent{FrameID: main, LoaderID: cdp.LoaderID(loader), Name: milestone}
}

func moved(url string) any { return &page.EventNavigatedWithinDocument{FrameID: main, URL: url} }

func begun() any { return &page.EventFrameStartedLoading{FrameID: main} }

func stopped() any { return &page.EventFrameStoppedLoading{FrameID: main} }

const other = page.FrameStartedNavigatingNavigationTypeDifferentDocument

// load is everything that Chromium sends of a document that loads without trouble.
func load(loader, url string) []any {
	return []any{
		navigating(loader, other), begun(), reached(loader, "init"), arrived(loader, url),
		reached(loader, "DOMContentLoaded"), reached(loader, "load"), stopped(), reached(loader, "networkIdle"),
	}
}

func events(parts ...any) (all []any) {
	for _, p := range parts {
		if several, ok := p.([]any); ok {
			all = append(all, several...)
		} else {
			all = append(all, p)
		}
	}
	return all
}

// brief writes a state as a test states it.
func brief(s State) string {
	words := []string{fmt.Sprintf("%d %s", s.Document, s.URL)}
	for _, w := range []struct {
		is   bool
		word string
	}{
		{s.Parsed(), "parsed"}, {s.Loaded(), "loaded"}, {s.Idle(), "idle"}, {s.Leaving(), "leaving"},
		{s.Loading, "loading"}, {s.Unreachable != "", "unreachable"},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// The sequences are those that Chromium sends, and some that it might.
func TestEventSequences(t *testing.T) {
	blank := []any{
		reached("0", "commit"), reached("0", "DOMContentLoaded"), reached("0", "load"), reached("0", "networkIdle"),
	}
	for name, c := range map[string]struct {
		events []any
		want   string
	}{
		"nothing":        {nil, "0 "},
		"a new tab":      {events(stopped(), blank), "0  parsed loaded idle"},
		"a page":         {events(blank, load("1", "a")), "1 a parsed loaded idle"},
		"announced":      {events(blank, navigating("1", other)), "0  parsed leaving"},
		"begins to load": {events(blank, navigating("1", other), begun()), "0  parsed leaving loading"},
		"initialised":    {events(blank, navigating("1", other), begun(), reached("1", "init")), "0  parsed leaving loading"},
		"arrived":        {events(blank, load("1", "a")[:4]), "1 a loading"},
		"parsed":         {events(blank, load("1", "a")[:5]), "1 a parsed loading"},
		"milestones come first": {
			events(blank, navigating("1", other), reached("1", "DOMContentLoaded"), reached("1", "load"), arrived("1", "a")),
			"1 a parsed loaded",
		},
		"milestones of a document that never arrives": {
			events(load("1", "a"), navigating("2", other), reached("2", "load"), stopped()), "1 a parsed loaded idle",
		},
		"a late milestone of the document before": {
			events(load("1", "a")[:4], load("2", "b")[:4], reached("1", "load")), "2 b loading",
		},
		"a step within": {
			events(load("1", "a"), navigating("2", "sameDocument"), begun(), moved("a#x"), stopped()),
			"1 a#x parsed loaded idle",
		},
		"pushState while it loads": {events(load("1", "a")[:4], moved("b"), load("1", "a")[4:]), "1 b parsed loaded idle"},
		"no content":               {events(load("1", "a"), navigating("2", other), begun(), stopped()), "1 a parsed loaded idle"},
		"a redirect by script": {
			events(load("1", "a")[:4], navigating("2", other), begun(), begun(), load("2", "b")[2:]), "2 b parsed loaded idle",
		},
		"a redirect by script is under way": {events(load("1", "a")[:4], navigating("2", other), begun()), "1 a leaving loading"},
		"a third page before the second": {
			events(load("1", "a"), navigating("2", other), navigating("3", other), arrived("2", "b")), "2 b leaving",
		},
		"the error page": {
			events(load("1", "a"), navigating("2", other), begun(), reached("2", "init"), errorPage("2", "http://x")),
			"2 chrome-error://chromewebdata/ loading unreachable",
		},
		"the next page after the error page": {events(errorPage("2", "http://x"), load("3", "c")), "2 c parsed loaded idle"},
		"the same loader twice":              {events(load("1", "a"), arrived("1", "a")), "2 a parsed loaded idle"},
		"a frame in the page": {
			events(load("1", "a"),
				&page.EventFrameNavigated{Frame: &cdp.Frame{ID: "child", ParentID: main, LoaderID: "9", URL: "x"}},
				&page.EventFrameStartedNavigating{FrameID: "child", LoaderID: "9"},
				&page.EventFrameStartedLoading{FrameID: "child"},
				&page.EventLifecycleEvent{FrameID: "child", LoaderID: "9", Name: "load"},
				&page.EventNavigatedWithinDocument{FrameID: "child", URL: "x#y"}, &page.EventFrameStoppedLoading{FrameID: "child"}),
			"1 a parsed loaded idle",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := State{main: main}
			for _, e := range c.events {
				if !s.Apply(e) {
					t.Errorf("%T is not about navigation", e)
				}
			}
			if got := brief(s); got != c.want {
				t.Errorf("the state is %q, want %q", got, c.want)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	s := State{main: main}
	for _, e := range events(load("1", "a"), moved("a#1"), moved("a#2"), stopped(), &fetch.EventRequestPaused{}) {
		s.Apply(e)
	}
	if s.Document != 1 || s.Moves != 2 || s.Stops != 2 || s.Requests != 1 || s.Refusals != 0 {
		t.Errorf("the counts are %+v", s)
	}
	before := s
	if s.Apply(&inspector.EventDetached{}) || s != before {
		t.Error("an event about something else changed the state")
	}
}

// decode makes events out of bytes: two for each, of three frames and four loaders.
func decode(data []byte) (all []any) {
	frames := []cdp.FrameID{main, main, "child", "stranger"}
	for ; len(data) >= 2; data = data[2:] {
		frame, loader := frames[data[1]&3], cdp.LoaderID(fmt.Sprint(data[1]>>2&3))
		var parent cdp.FrameID
		if frame != main {
			parent = main
		}
		switch data[0] % 10 {
		case 0, 1:
			f := &cdp.Frame{ID: frame, ParentID: parent, LoaderID: loader, URL: "u"}
			all = append(all, &page.EventFrameNavigated{Frame: f})
		case 2:
			all = append(all, &page.EventFrameStartedNavigating{FrameID: frame, LoaderID: loader, NavigationType: other})
		case 3:
			all = append(all, &page.EventFrameStartedLoading{FrameID: frame})
		case 4:
			all = append(all, &page.EventFrameStoppedLoading{FrameID: frame})
		case 5, 6:
			all = append(all, &page.EventLifecycleEvent{FrameID: frame, LoaderID: loader, Name: "load"})
		case 7:
			all = append(all, &page.EventLifecycleEvent{FrameID: frame, LoaderID: loader, Name: "DOMContentLoaded"})
		case 8:
			all = append(all, &page.EventLifecycleEvent{FrameID: frame, LoaderID: loader, Name: "init"})
		case 9:
			all = append(all, &page.EventNavigatedWithinDocument{FrameID: frame, URL: "v"})
		}
	}
	return all
}

// In whatever order events come, the state claims no arrival that the browser did not
// report, and no load of a document that did not load.
func FuzzState(f *testing.F) {
	f.Add([]byte{2, 4, 3, 4, 8, 4, 0, 4, 7, 4, 5, 4, 4, 4})              // a page
	f.Add([]byte{0, 4, 2, 8, 5, 8, 4, 8, 5, 4})                          // a navigation that was given up
	f.Add([]byte{0, 4, 0, 8, 5, 4})                                      // a late milestone
	f.Add([]byte{5, 0, 2, 4, 5, 4, 0, 4, 2, 12, 0, 8, 5, 8, 4, 0, 0, 2}) // mixed
	f.Fuzz(func(t *testing.T, data []byte) {
		s := State{main: main}
		arrivals := 0
		var present cdp.LoaderID // loads the document that is there, as far as events said
		loads := map[cdp.LoaderID]bool{}
		for _, event := range decode(data) {
			s.Apply(event)
			switch e := event.(type) {
			case *page.EventFrameNavigated:
				if e.Frame.ParentID == "" {
					arrivals++
					present = e.Frame.LoaderID
				}
			case *page.EventLifecycleEvent:
				if e.FrameID == main && present == "" {
					present = e.LoaderID
				}
				if e.FrameID == main && e.Name == "load" {
					loads[e.LoaderID] = true
				}
			}
			switch {
			case s.Document != arrivals:
				t.Fatalf("%d documents arrived and the state counts %d", arrivals, s.Document)
			case s.Loaded() && !loads[present]:
				t.Fatalf("the document of loader %q did not load, and the state says that it did", present)
			case s.Idle() && !s.Loaded():
				t.Fatal("the state is idle and not loaded")
			}
		}
		// A document that loads after all that is seen to.
		for _, e := range load("last", "end") {
			s.Apply(e)
		}
		if s.Document != arrivals+1 || !s.Idle() || s.URL != "end" {
			t.Fatalf("after a whole load the state is %q", brief(s))
		}
	})
}

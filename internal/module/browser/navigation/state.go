// Package navigation follows one tab from document to document.
//
// # Law
//
//  1. A [State] changes by the browser's events alone, in the order in which they
//     arrive. What a command replied changes nothing.
//  2. A new document has arrived when the browser says that the main frame has one,
//     and never before: not when it was asked for, not when it began to load.
//  3. A milestone such as load belongs to the document that reached it. Events of a
//     document that has not arrived yet are kept for its arrival; late events of one
//     that was left are ignored.
//  4. A wait ends: by an event that makes its condition true, by the end of the tab,
//     or by its context.
package navigation

import (
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
)

// State is how far a tab is with the document it shows, and counts what happened to
// it. A waiter compares the counts with those of an earlier state.
type State struct {
	Document    int    // number of documents that arrived
	URL         string // address of the document
	Unreachable string // the address that failed, if the document is the browser's error page
	Moves       int    // number of steps within documents
	Stops       int    // number of times that loading ended
	Requests    int    // number of documents that the tab requested
	Refusals    int    // number of times that the page was not left because it asked to confirm
	Loading     bool
	DialogOpen  bool

	main    cdp.FrameID
	leaving cdp.LoaderID // loads the document that will replace the present one
	current progress     // of the document that is there
	next    progress     // of the one that will be
}

// progress is how far the document of one loader is.
type progress struct {
	loader               cdp.LoaderID
	parsed, loaded, idle bool
}

// Leaving reports whether another document is about to replace the present one.
func (s *State) Leaving() bool { return s.leaving != "" }

// Parsed reports whether the document was parsed.
func (s *State) Parsed() bool { return s.current.parsed }

// Loaded reports whether the document has loaded and stays.
func (s *State) Loaded() bool { return s.current.loaded && !s.Leaving() }

// Idle reports whether the document has loaded and stays, and its network is quiet.
func (s *State) Idle() bool { return s.Loaded() && s.current.idle }

// Apply changes the state by an event of the tab. It reports whether the event was
// about the tab's navigation; others change nothing.
func (s *State) Apply(event any) bool {
	switch e := event.(type) {
	case *page.EventFrameNavigated:
		if e.Frame.ParentID == "" {
			s.arrive(e.Frame)
		}
	case *page.EventNavigatedWithinDocument:
		if e.FrameID == s.main {
			s.URL = e.URL
			s.Moves++
		}
	case *page.EventFrameStartedNavigating:
		within := strings.Contains(strings.ToLower(string(e.NavigationType)), "samedocument")
		if e.FrameID == s.main && !within {
			s.leaving = e.LoaderID
		}
	case *page.EventFrameStartedLoading:
		if e.FrameID == s.main {
			s.Loading = true
		}
	case *page.EventFrameStoppedLoading:
		if e.FrameID == s.main {
			s.Loading, s.leaving = false, ""
			s.Stops++
		}
	case *page.EventLifecycleEvent:
		if e.FrameID == s.main {
			s.progressOf(e.LoaderID).reach(e.Name)
		}
	case *page.EventJavascriptDialogClosed:
		s.DialogOpen = false
	case *fetch.EventRequestPaused:
		s.Requests++
	default:
		return false
	}
	return true
}

// arrive replaces the document.
func (s *State) arrive(f *cdp.Frame) {
	s.main = f.ID
	s.Document++
	s.URL, s.Unreachable = f.URL+f.URLFragment, f.UnreachableURL
	if s.leaving == f.LoaderID || s.leaving == s.current.loader {
		s.leaving = ""
	}
	if s.current.loader == f.LoaderID {
		return
	}
	s.current = progress{loader: f.LoaderID}
	if s.next.loader == f.LoaderID {
		s.current = s.next
	}
	s.next = progress{}
}

// progressOf returns the progress of the document that a loader loads: the present
// one, or one that has not arrived. A tab that was attached to late has a document
// whose arrival was not seen.
func (s *State) progressOf(loader cdp.LoaderID) *progress {
	if s.current.loader == "" {
		s.current.loader = loader
	}
	if s.current.loader == loader {
		return &s.current
	}
	if s.next.loader != loader {
		s.next = progress{loader: loader}
	}
	return &s.next
}

func (p *progress) reach(milestone string) {
	switch milestone {
	case "DOMContentLoaded":
		p.parsed = true
	case "load":
		p.loaded = true
	case "networkIdle":
		p.idle = true
	}
}

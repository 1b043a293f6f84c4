package content

import (
	"context"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/frames"
)

// frameSet is the set of frames of a tab: those that share the page's process, and
// those that have a process, and so a session, of their own.
type frameSet struct {
	session *devtools.Session // of the page

	mu       sync.Mutex
	main     cdp.FrameID
	seen     []cdp.FrameID // the frames of the document, also those that were removed
	children []*devtools.Session
}

// maxSeen bounds the frames that a tab remembers.
const maxSeen = 10 * frames.Max

// add remembers a frame.
func (s *frameSet) add(frame cdp.FrameID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) < maxSeen {
		s.seen = append(s.seen, frame)
	}
}

// attach adds a frame with a session of its own.
func (s *frameSet) attach(child *devtools.Session, frame cdp.FrameID) {
	s.add(frame)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children = append(s.children, child)
}

// detach removes the frame of a session that ended.
func (s *frameSet) detach(child target.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children = slices.DeleteFunc(s.children, func(c *devtools.Session) bool { return c.ID == child })
}

// reset begins a new document.
func (s *frameSet) reset(main cdp.FrameID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.main, s.seen = main, nil
}

// has reports whether a frame is or was one of the document's.
func (s *frameSet) has(frame cdp.FrameID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return frame == s.main || slices.Contains(s.seen, frame)
}

// list finds the frames of the page, its own document first.
func (s *frameSet) list(ctx context.Context) (frames.Frames, error) {
	s.mu.Lock()
	sessions := append([]*devtools.Session{s.session}, s.children...)
	s.mu.Unlock()
	return frames.List(ctx, sessions)
}

// mainFrame returns the page's own document.
func (s *frameSet) mainFrame(ctx context.Context) (*frames.Frame, error) {
	s.mu.Lock()
	id := s.main
	s.mu.Unlock()
	return frames.Enter(ctx, s.session, id)
}

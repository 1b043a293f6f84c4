package tui

import "testing"

// For whom a turn waits is said inside the screen, while the turn goes on.
func TestNoticeIsShown(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("hello\n")
		h.do(noticeMsg("the kernel (process 4711) does not answer: it is stopped"))
		h.wantShown("> hello", "the kernel (process 4711) does not answer", "working")
	})
}

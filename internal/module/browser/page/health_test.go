package page

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/devtools/devtoolstest"
	"callgate/tool"
)

// newHealth is the health of a page that responds, or does not, and a function that lets
// it crash.
func newHealth(t testing.TB, responds *bool) (h *health, crash func()) {
	t.Helper()
	browser := devtoolstest.New(func(m *cdproto.Message) []*cdproto.Message {
		if !*responds {
			return nil
		}
		return []*cdproto.Message{devtoolstest.Reply(m, `{"result":{"type":"number","value":1}}`)}
	})
	conn := devtools.Open(browser)
	t.Cleanup(conn.Close)
	h = &health{tab: "t_1", session: conn.Session("S"), browserDone: conn.Done()}
	return h, func() {
		browser.Send(devtoolstest.Event("S", "Inspector.targetCrashed", `{}`))
		<-h.session.Crashed()
	}
}

func TestExplain(t *testing.T) {
	own := tool.Errorf("op", tool.Busy, "our own words")
	for name, c := range map[string]struct {
		err  error
		hang bool
		kind tool.Kind
		word string
	}{
		"our own":       {fmt.Errorf("wrapped: %w", own), false, tool.Busy, "our own words"},
		"closed":        {devtools.ErrClosed, false, tool.Failed, "was closed"},
		"crashed":       {devtools.ErrCrashed, false, tool.Failed, "crashed"},
		"cancelled":     {context.Canceled, false, tool.Cancelled, "cancelled"},
		"slow":          {context.DeadlineExceeded, false, tool.Timeout, "too long"},
		"hung":          {context.DeadlineExceeded, true, tool.Failed, "does not answer"},
		"refused":       {fmt.Errorf("Page.x: %w", &cdproto.Error{Message: "no such thing"}), false, tool.Failed, "no such thing"},
		"anything else": {errors.New("a surprise"), false, tool.Failed, "could not do it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				responds := !c.hang
				h, _ := newHealth(t, &responds)
				err := h.explain(c.err)
				if tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.word) {
					t.Errorf("explained as %v (%s), want %s with %q", err, tool.KindOf(err), c.kind, c.word)
				}
			})
		})
	}
	responds := true
	h, _ := newHealth(t, &responds)
	if err := h.explain(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	ended := make(chan struct{})
	close(ended)
	h.browserDone = ended
	if err := h.explain(devtools.ErrClosed); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a browser that ended is explained as %v", err)
	}
}

func TestUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		responds := true
		h, crash := newHealth(t, &responds)
		if err := h.usable(t.Context()); err != nil {
			t.Errorf("a healthy page: %v", err)
		}
		responds = false
		if err := h.usable(t.Context()); err != nil {
			t.Errorf("a page that was never asked: %v", err)
		}
		h.responds(t.Context(), time.Second)
		if err := h.usable(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("a page that hangs: %v", err)
		}
		responds = true
		if err := h.usable(t.Context()); err != nil {
			t.Errorf("a page that recovered: %v", err)
		}
		crash()
		if err := h.usable(t.Context()); err == nil || !strings.Contains(err.Error(), "crashed") {
			t.Errorf("a page that crashed: %v", err)
		}
		if err := h.explain(context.Canceled); !strings.Contains(err.Error(), "crashed") {
			t.Errorf("a call to a page that crashed: %v", err)
		}
	})
}

package page

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/runtime"

	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// health knows whether a page crashed or hangs, and explains errors by it.
type health struct {
	tab         string
	session     *devtools.Session
	browserDone <-chan struct{}

	hung atomic.Bool
}

// isCrashed reports whether the page's process died.
func (h *health) isCrashed() bool { return isClosed(h.session.Crashed()) }

// lost reports whether the page cannot say any more what became of an action.
func (h *health) lost() bool { return isClosed(h.browserDone) || h.isCrashed() || h.hung.Load() }

// usable refuses a page that crashed, or that hung and still does.
func (h *health) usable(ctx context.Context) error {
	switch {
	case h.isCrashed():
		return h.crashError()
	case h.hung.Load() && !h.responds(ctx, time.Second):
		return h.hangError()
	}
	return nil
}

// responds asks the page for a sign of life, and notes whether it hangs.
func (h *health) responds(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := devtools.Exec(ctx, h.session, runtime.Evaluate, runtime.EvaluateParams{Expression: "1"})
	h.hung.Store(err != nil)
	return err == nil
}

// explain turns an error of the tab into one that says what to do.
func (h *health) explain(err error) error {
	var explained *tool.Error
	var protocol *cdproto.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &explained):
		return explained
	case errors.Is(err, devtools.ErrClosed):
		return h.closedError()
	case errors.Is(err, devtools.ErrCrashed), h.isCrashed():
		return h.crashError()
	case errors.Is(err, context.Canceled):
		return tool.Errorf(op, tool.Cancelled, "the call was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		if !h.responds(context.Background(), time.Second) {
			return h.hangError()
		}
		return tool.Errorf(op, tool.Timeout, "the page took too long").
			WithHint("look at what is there with web.browse.read, or try again; the app file sets the time: %s", timeoutSetting)
	case errors.As(err, &protocol):
		return tool.Errorf(op, tool.Failed, "the browser refused: %s", protocol.Message).
			WithHint("read the page again and repeat the call")
	default:
		return &tool.Error{Op: op, Kind: tool.Failed, Message: "the browser could not do it", Err: err}
	}
}

// timeoutSetting is where an app file sets how long a page may take.
const timeoutSetting = "tools.modules.web.browse.config.timeout_seconds"

func (h *health) closedError() error {
	if isClosed(h.browserDone) {
		return tool.Errorf(op, tool.Unavailable, "the browser ended unexpectedly, with all its tabs").
			WithHint("open the page again: a new browser is started")
	}
	return tool.Errorf(op, tool.Failed, "the tab %s was closed", h.tab).
		WithHint("web.browse.tabs lists those that are open")
}

func (h *health) crashError() error {
	return tool.Errorf(op, tool.Failed, "the page in tab %s crashed; the tab cannot be used any more", h.tab).
		WithHint("close it with web.browse.close and open the page in a new tab; the other tabs are not affected")
}

func (h *health) hangError() error {
	return tool.Errorf(op, tool.Failed, "the page in tab %s does not answer: a script of it may run without end", h.tab).
		WithHint("close the tab with web.browse.close and go on in another; the other tabs are not affected")
}

package browser

import (
	"errors"

	"callgate/internal/module/browser/page"
	"callgate/tool"
)

// inDoubt makes an error in doubt of one that met an action which had begun, where
// nobody can say what became of it: the browser ended, the page crashed, hangs, or
// did not answer in time. What the page may have sent by then cannot be called back.
// An action that its asker gave up stays cancelled.
func inDoubt(t *page.Tab, did string, err error) error {
	kind := tool.KindOf(err)
	if kind == tool.Cancelled || kind != tool.Timeout && !t.Lost() {
		return err
	}
	var e *tool.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Kind = tool.InDoubt
	out.Message = did + ", and what came of it is not known: " + e.Message
	out.Hint = "look at what the page was to change, on a page opened anew, before you repeat it; " + e.Hint
	return &out
}

package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"callgate/tool"
)

// TestBrowserVanishesInAClick: the form was sent, and the browser died before it
// could say so. The click is in doubt; waiting for something on a page is not.
func TestBrowserVanishesInAClick(t *testing.T) {
	t.Parallel()
	executable, mark := markedBrowser(t)
	end := func() {
		kill(t, processes(t, folderOf(t, mark)), func(line string) bool { return !strings.Contains(line, "--type=") })
	}
	var orders int
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/order":
			orders++
			end()
			<-r.Context().Done()
		case "/end":
			end()
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<form method="post" action="/order"><button>Buy</button></form>`)
			if r.URL.Path == "/ending" {
				fmt.Fprint(w, `<script>setTimeout(() => fetch("/end"), 100)</script>`)
			}
		}
	})
	s := openModule(t).session("", settings{"executable": executable}, local())
	s.call("navigate", args{"url": web.URL})
	s.refused(tool.InDoubt, "click", args{"text": "Buy"}, "clicked", "not known", "before you repeat it")
	if orders != 1 {
		t.Errorf("%d orders were sent", orders)
	}
	eventually(t, "a new browser", func() bool {
		_, err := s.try("navigate", args{"url": web.URL + "/ending"})
		return err == nil
	})
	s.refused(tool.Unavailable, "wait", args{"text": "never", "timeout_seconds": 10}, "ended unexpectedly")
}

package page

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdpage "github.com/chromedp/cdproto/page"

	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// NavigationResult is where a navigation led.
type NavigationResult struct {
	Status   int  // of HTTP; 0: there is none
	Loading  bool // not everything has come yet
	Download bool // a file came instead of a page
}

// Address reads what a model gives as an address: http or https, or a host
// without either.
func Address(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "about:blank" {
		return text, nil
	}
	scheme, _, ok := strings.Cut(text, ":")
	switch lower := strings.ToLower(scheme); {
	case ok && (lower == "http" || lower == "https"):
		return text, nil
	case ok && !strings.ContainsAny(scheme, "./@[ ") && !startsWithPort(text[len(scheme)+1:]):
		return "", tool.Errorf(op, tool.Denied, "addresses that begin with %s: are not opened", tool.Truncate(scheme)).
			WithHint("give an http or https address")
	case text == "" || strings.ContainsAny(text, " \t\r\n") || strings.HasPrefix(text, "/"):
		return "", tool.Errorf(op, tool.Invalid, "%q is not an address", tool.Truncate(text)).
			WithHint("write it whole, as https://example.com/page; to search the web use web.search")
	default:
		return "https://" + text, nil
	}
}

// startsWithPort tells host:8080 from scheme:rest.
func startsWithPort(rest string) bool {
	port, _, _ := strings.Cut(rest, "/")
	return port != "" && strings.Trim(port, "0123456789") == ""
}

// Navigate opens an address in the tab and waits until it has loaded, or until
// patience ends, whichever is first; what is there then is used.
func (t *Tab) Navigate(ctx context.Context, address string, patience time.Duration) (NavigationResult, error) {
	if address != "about:blank" {
		if err := t.profile.check(address); err != nil {
			return NavigationResult{}, err
		}
	}
	t.mu.Lock()
	t.refused = nil
	before := t.visit
	t.mu.Unlock()
	r, err := t.goTo(ctx, address)
	now := t.now()
	switch {
	case err != nil:
		return NavigationResult{}, t.Explain(err)
	case r.IsDownload:
		return NavigationResult{Download: true}, t.profile.awaitNew(ctx, t.ID)
	case now.stays > before.stays && now.number == before.number:
		return NavigationResult{}, t.stayedError(ctx)
	case r.ErrorText == "net::ERR_ABORTED" && t.wasReplaced(ctx, before.number, now.leaving):
	case r.ErrorText != "":
		if r.ErrorText != "net::ERR_ABORTED" {
			t.errorPage(ctx, before.number)
		}
		return NavigationResult{}, t.netError(ctx, r.ErrorText, address)
	case r.LoaderID == "": // a step within the document
		return t.landing(ctx, false)
	}
	if err := t.until(ctx, func(v *navigation) bool { return v.number > before.number }); err != nil {
		return NavigationResult{}, t.Explain(err)
	}
	return t.Load(ctx, patience)
}

// goTo asks the browser to open an address. One that still has its mind on
// the last question of the page may give up before it asked for anything; it
// is asked again.
func (t *Tab) goTo(ctx context.Context, address string) (r cdpage.NavigateResult, err error) {
	before := t.now()
	for range 5 {
		r, err = devtools.Call(ctx, t.session, cdpage.Navigate, cdpage.NavigateParams{URL: address})
		t.session.WaitHandled(ctx)
		now := t.now()
		if err != nil && ctx.Err() != nil {
			// The browser holds back what is said to a page that is about to go.
			devtools.Start(t.session, cdpage.StopLoading, cdp.Empty{})
			if errors.Is(err, context.DeadlineExceeded) && now.asked > before.asked {
				err = tool.Errorf(op, tool.Timeout, "%s did not answer in time", tool.Truncate(address)).
					WithHint("try again; the app file sets the time: tools.modules.web.browse.config.timeout_seconds")
			}
		}
		if r.ErrorText != "net::ERR_ABORTED" || now.asked > before.asked || now.stays > before.stays || now.number > before.number {
			break
		}
		t.answersWithin(ctx, time.Second)
	}
	return r, err
}

// stayedError says that the page would not be left. The browser is done with its
// question first: it would take the next navigation for the same.
func (t *Tab) stayedError(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = t.until(ctx, func(v *navigation) bool { return !v.asking && !v.loading })
	t.answersWithin(ctx, time.Second)
	return tool.Errorf(op, tool.Failed, "the page asked to confirm that it be left, and stayed").
		WithHint(`repeat the call with dialog: "accept" to leave it all the same`)
}

// wasReplaced reports that a navigation was given up because another took its
// place, as when a page sends its visitor on at once. What is still said of
// the first one is waited for.
func (t *Tab) wasReplaced(ctx context.Context, document int, first cdp.LoaderID) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = t.until(ctx, func(v *navigation) bool { return v.leaving != first || first == "" || v.number > document })
	now := t.now()
	return now.leaving != "" && now.leaving != first || now.number > document
}

// errorPage waits for the browser's own page about a navigation that failed,
// so that it is not taken for what comes next.
func (t *Tab) errorPage(ctx context.Context, document int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = t.until(ctx, func(v *navigation) bool { return v.number > document })
}

// Load waits until the document in the tab has loaded, with what replaces it
// meanwhile, or until patience ends.
func (t *Tab) Load(ctx context.Context, patience time.Duration) (NavigationResult, error) {
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := t.until(short, func(v *navigation) bool { return v.leaving == "" && v.reached["load"] })
	late := err != nil && short.Err() != nil && ctx.Err() == nil
	if err != nil && !late {
		return NavigationResult{}, t.Explain(err)
	}
	return t.landing(ctx, late)
}

// landing looks at what the tab shows, and reports a page that is only the
// browser's or the guard's word that there is none.
func (t *Tab) landing(ctx context.Context, loading bool) (NavigationResult, error) {
	v := t.now()
	if v.failed != "" {
		return NavigationResult{}, t.netError(ctx, "", v.failed)
	}
	var facts struct {
		Status int
		Text   string
	}
	main, err := t.mainFrame(ctx)
	if err == nil {
		err = main.Call(ctx, "landing", &facts)
	}
	if err != nil {
		if loading || ctx.Err() != nil {
			return NavigationResult{}, t.Explain(err)
		}
		return NavigationResult{Loading: loading}, nil // it went on; whoever reads next sees where
	}
	if err := t.proxyError(ctx, v.url, facts.Status, facts.Text); err != nil {
		return NavigationResult{}, err
	}
	return NavigationResult{Status: facts.Status, Loading: loading}, nil
}

// What the guard's proxy answers in the place of a server that it could not
// reach.
const unreached = "the connection could not be made"

func (t *Tab) proxyError(ctx context.Context, address string, status int, text string) error {
	u, err := origin(address)
	switch {
	case err != nil:
		return nil
	case status == 403:
		return t.profile.options.Guard.Refused(u)
	case (status == 502 || status == 504) && text == unreached:
		return t.unreachable(ctx, u)
	}
	return nil
}

// Back goes one page back.
func (t *Tab) Back(ctx context.Context, patience time.Duration) (NavigationResult, error) {
	h, err := devtools.Call(ctx, t.session, cdpage.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return NavigationResult{}, t.Explain(err)
	}
	i := int(h.CurrentIndex) - 1
	if i < 0 || i >= len(h.Entries) || i == 0 && h.Entries[0].URL == "about:blank" {
		return NavigationResult{}, tool.Errorf(op, tool.NotFound, "the tab %s has no page to go back to", t.ID).
			WithHint("open the page you want with web.browse.navigate")
	}
	before := t.now()
	if err := devtools.Exec(ctx, t.session, cdpage.NavigateToHistoryEntry, cdpage.NavigateToHistoryEntryParams{EntryID: h.Entries[i].ID}); err != nil {
		return NavigationResult{}, t.Explain(err)
	}
	err = t.until(ctx, func(v *navigation) bool {
		return v.number > before.number || v.moves > before.moves || v.stopping > before.stopping && !v.loading
	})
	if err != nil {
		return NavigationResult{}, t.Explain(err)
	}
	return t.Load(ctx, patience)
}

// pause is how long a page has to begin what an act of ours makes it do.
const pause = 80 * time.Millisecond

// Settle waits, after something was done to the page, for what that began: a
// page that loads, a tab that opens, a file that arrives.
func (t *Tab) Settle(ctx context.Context, before int, patience time.Duration) (NavigationResult, bool, error) {
	short, cancel := context.WithTimeout(ctx, pause)
	err := t.until(short, func(v *navigation) bool { return v.leaving != "" || v.number > before })
	cancel()
	if err != nil && short.Err() == nil {
		return NavigationResult{}, false, t.Explain(err)
	}
	arriving, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = t.profile.until(arriving, func() (bool, error) { return t.profile.arriving == 0, nil })
	v := t.now()
	if v.leaving == "" && v.number == before {
		return NavigationResult{}, false, nil
	}
	landing, err := t.Load(ctx, patience)
	left := t.now().number > before
	if err == nil && !left {
		err = t.profile.awaitNew(ctx, t.ID) // it went for a file, or for nothing
	}
	return landing, left, err
}

// WaitArrival gives a page that is on its way a moment to arrive.
func (t *Tab) WaitArrival(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = t.until(ctx, func(v *navigation) bool { return v.leaving == "" })
}

// Document numbers the documents of the tab: it grows when the page is left.
func (t *Tab) Document() int { return t.now().number }

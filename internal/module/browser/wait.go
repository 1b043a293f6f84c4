package browser

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/browser/page"
	"callgate/tool"
)

//go:embed wait.md
var waitDoc string

const waitInput = `{
  "type": "object",
  "properties": {
    "text": {"type": "string", "maxLength": 1000, "description": "Until this text shows."},
    "text_gone": {"type": "string", "maxLength": 1000, "description": "Until this text no longer shows."},
    "selector": {"type": "string", "maxLength": 1000, ` +
	`"description": "Until an element of this CSS selector is visible."},
    "url": {"type": "string", "maxLength": 2000, "description": "Until the page's address holds this."},
    "until": {"type": "string", "enum": ["navigation", "idle", "download"], ` +
	`"description": "navigation: until another page comes than the one that was shown last. ` +
	`idle: until the page has loaded and no longer changes. ` +
	`download: until what is downloading has arrived."},
    "timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 300, ` +
	`"description": "How long at most; what the app file says unless given, 30 as a rule."},
    "tab": {"type": "string", "maxLength": 20, "description": "The tab; the current one unless given."}
  },
  "additionalProperties": false
}`

const waitOutput = `{"type": "object", "properties": {` + stateProperties + `,
    "seconds": {"type": "number", "description": "How long it took."}
  }, "required": ["tab", "url", "seconds"]}`

func waitTool() definition {
	return definition{
		name: "wait", doc: waitDoc, input: waitInput, output: waitOutput,
		examples: []tool.Example{
			module.Example("until results show", `{"text": "results found"}`),
			module.Example("until a table is there, ten seconds at most",
				`{"selector": "table.results tr", "timeout_seconds": 10}`),
			module.Example("until the page rests", `{"until": "idle"}`),
		},
		aliases: []string{
			"browser.wait", "browser_wait", "browser.wait_for", "browser_wait_for", "wait_for_text", "wait_for_selector",
			"wait for the page", "wait until text appears", "wait for a download", "wait for navigation",
			"attendre la page", "attendre un texte", "attendre un élément", "attendre la fin du chargement",
		},
		tags: []string{"wait", "load", "attendre"},
		run:  decoded(wait),
	}
}

type waitArgs struct {
	Text     string  `json:"text"`
	TextGone string  `json:"text_gone"`
	Selector string  `json:"selector"`
	URL      string  `json:"url"`
	Until    string  `json:"until"`
	Timeout  float64 `json:"timeout_seconds"`
	Tab      string  `json:"tab"`
}

type waitData struct {
	state
	Seconds float64 `json:"seconds"`
}

// what puts what is waited for into words. It returns "" unless it is one thing.
func (in waitArgs) what() string {
	until := map[string]string{"navigation": "another page", "idle": "the page to rest", "download": "the download"}
	var given []string
	for _, one := range []struct{ value, words string }{
		{in.Text, fmt.Sprintf("the text %q", in.Text)},
		{in.TextGone, fmt.Sprintf("the text %q to go", in.TextGone)},
		{in.Selector, "an element " + in.Selector},
		{in.URL, fmt.Sprintf("an address with %q", in.URL)},
		{in.Until, until[in.Until]},
	} {
		if one.value != "" {
			given = append(given, one.words)
		}
	}
	if len(given) != 1 {
		return ""
	}
	return given[0]
}

func wait(ctx context.Context, c *pageCall, in waitArgs) (*tool.Result, error) {
	what := in.what()
	if what == "" {
		return nil, tool.Errorf(c.op, tool.Invalid, "a call waits for exactly one thing").
			WithHint("give one of text, text_gone, selector, url and until")
	}
	if in.Timeout > 0 {
		c.deadline = time.Now().Add(time.Duration(in.Timeout * float64(time.Second)))
	}
	// What is left of the call's time is for its report.
	limit, cancel := context.WithTimeout(ctx, c.patience())
	defer cancel()
	t, release, err := c.tab(limit, in.Tab)
	if err != nil {
		return nil, err
	}
	defer release()
	began := time.Now()
	came, err := c.await(limit, t, in)
	if err != nil {
		return nil, err
	}
	seconds := float64(time.Since(began).Milliseconds()) / 1000
	data := waitData{state: c.state(ctx, t, page.NavigationResult{}), Seconds: seconds}
	if !came {
		return nil, tool.Errorf(c.op, tool.Timeout,
			"waited %.1f seconds for %s, in vain; the tab shows %s", seconds, what, data.shows()).
			WithHint("look at what is there with web.browse.read")
	}
	return data.result(fmt.Sprintf("waited %.1f seconds for %s; the tab shows %s", seconds, what, data.shows()), data)
}

func (c *pageCall) await(ctx context.Context, t *page.Tab, in waitArgs) (bool, error) {
	switch in.Until {
	case "download":
		return c.profile.Downloads.Wait(ctx, t.ID) == nil, nil
	case "navigation":
		return t.Await(ctx, page.WaitCondition{Document: cmp.Or(t.Shown, t.Document())})
	default:
		return t.Await(ctx, page.WaitCondition{
			Text: in.Text, Gone: in.TextGone, Selector: in.Selector, URL: in.URL, Idle: in.Until == "idle",
		})
	}
}

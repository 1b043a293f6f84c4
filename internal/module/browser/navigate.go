package browser

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/browser/page"
	"callgate/tool"
)

//go:embed navigate.md
var navigateDoc string

const navigateInput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 8000, "description": "The address: http or https. A host alone is taken as https."},
    "tab": {"type": "string", "maxLength": 20, "description": "The tab to open it in; the current one unless given."},
    "new_tab": {"type": "boolean", "default": false, "description": "Open it in a new tab, which becomes the current one."},
    "dialog": {"type": "string", "enum": ["dismiss", "accept"], "default": "dismiss", "description": "How questions of the page are answered, such as whether it may be left."}
  },
  "required": ["url"],
  "additionalProperties": false
}`

func navigateTool() definition {
	return definition{
		name: "navigate", doc: navigateDoc, input: navigateInput, output: stateOutput,
		examples: []tool.Example{
			module.Example("open a page", `{"url": "https://example.com/"}`),
			module.Example("open a second page beside the first", `{"url": "https://example.com/prices", "new_tab": true}`),
		},
		aliases: []string{
			"choir.web.browse", "web.browse", "browser.navigate", "browser_navigate", "browser.open", "browser_open", "goto", "open_url", "visit",
			"open a web page", "go to a website", "open a browser", "browse the web", "visit a link",
			"ouvrir une page web", "aller sur un site", "ouvrir le navigateur", "naviguer sur le web", "visiter un lien",
		},
		tags: []string{"navigate", "open", "url", "website", "ouvrir"},
		run:  decoded(navigate),
	}
}

type navigateArgs struct {
	URL    string `json:"url"`
	Tab    string `json:"tab"`
	NewTab bool   `json:"new_tab"`
	Dialog string `json:"dialog"`
}

func navigate(ctx context.Context, v *pageCall, in navigateArgs) (*tool.Result, error) {
	address, err := page.Address(in.URL)
	if err != nil {
		return nil, err
	}
	t, done, err := v.tabFor(ctx, in.Tab, in.NewTab)
	if err != nil {
		return nil, err
	}
	defer done()
	t.SetDialogAnswer(in.Dialog == "accept", "")
	l, err := t.Navigate(ctx, address, v.patience())
	if err != nil {
		return nil, err
	}
	s := v.state(ctx, t, l)
	did := "opened " + s.shows()
	if l.Download {
		did = "the address gave a file, not a page; the tab still shows " + s.shows()
	}
	s.Navigated = !l.Download
	return s.done(did, s)
}

// tabFor finds the tab that a page is opened in, or makes one.
func (v *pageCall) tabFor(ctx context.Context, id string, fresh bool) (t *page.Tab, done func(), err error) {
	if _, current := v.profile.Tabs(); !fresh && (id != "" || current != nil) {
		t, err = v.profile.Tab(id)
	} else {
		t, err = v.profile.NewTab(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	done, err = t.Acquire(ctx)
	return t, done, err
}

package browser

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/browser/page"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed navigate.md
var navigateDoc string

const navigateInput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 8000, ` +
	`"description": "The address: http or https. A host alone is taken as https."},
    "tab": {"type": "string", "maxLength": 20, "description": "The tab to open it in; the current one unless given."},
    "new_tab": {"type": "boolean", "default": false, ` +
	`"description": "Open it in a new tab, which becomes the current one."},
    "dialog": {"type": "string", "enum": ["dismiss", "accept"], "default": "dismiss", ` +
	`"description": "How questions of the page are answered, such as whether it may be left."}
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
			"choir.web.browse", "web.browse", "browser.navigate", "browser_navigate", "browser.open", "browser_open",
			"goto", "open_url", "visit",
			"open a web page", "go to a website", "open a browser", "browse the web", "visit a link",
			"ouvrir une page web", "aller sur un site", "ouvrir le navigateur", "naviguer sur le web", "visiter un lien",
		},
		tags:  []string{"navigate", "open", "url", "website", "ouvrir"},
		reads: []tool.Effect{fetch.OnHost(tool.IS)},
		run:   decoded(navigate),
	}
}

type navigateArgs struct {
	URL    string `json:"url"`
	Tab    string `json:"tab"`
	NewTab bool   `json:"new_tab"`
	Dialog string `json:"dialog"`
}

func navigate(ctx context.Context, c *pageCall, in navigateArgs) (*tool.Result, error) {
	address, err := page.Address(in.URL)
	if err != nil {
		return nil, err
	}
	t, release, err := c.tabFor(ctx, in.Tab, in.NewTab)
	if err != nil {
		return nil, err
	}
	defer release()
	t.SetDialogAnswer(in.Dialog == "accept", "")
	result, err := t.Navigate(ctx, address, c.patience())
	if err != nil {
		return nil, err
	}
	s := c.state(ctx, t, result)
	did := "opened " + s.shows()
	if result.Download {
		did = "the address gave a file, not a page; the tab still shows " + s.shows()
	}
	s.Navigated = !result.Download
	return s.result(did, s)
}

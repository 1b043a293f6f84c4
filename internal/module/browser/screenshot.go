package browser

import (
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/browser/element"
	"callgate/internal/module/browser/page"
	"callgate/tool"
)

//go:embed screenshot.md
var screenshotDoc string

const screenshotInput = `{
  "type": "object",
  "properties": {
    "full_page": {"type": "boolean", "default": false, ` +
	`"description": "The whole page, not only what the window shows."},
    "ref": {"type": "string", "maxLength": 20, ` +
	`"description": "Only this element, by a reference from web.browse.read."},
    "selector": {"type": "string", "maxLength": 1000, "description": "Only this element, by a CSS selector."},
    "format": {"type": "string", "enum": ["png", "jpeg"], "default": "png", ` +
	`"description": "A picture that would be too large as png comes as jpeg."},
    "tab": {"type": "string", "maxLength": 20, "description": "The tab; the current one unless given."}
  },
  "additionalProperties": false
}`

const screenshotOutput = `{"type": "object", "properties": {` + stateProperties + `,
    "mime": {"type": "string"}, "width": {"type": "integer"}, "height": {"type": "integer"}, "bytes": {"type": ` +
	`"integer"},
    "truncated": {"type": "boolean", "description": "The page is longer than the picture."}
  }, "required": ["tab", "url", "mime", "width", "height", "bytes"]}`

func screenshotTool() definition {
	return definition{
		name: "screenshot", doc: screenshotDoc, input: screenshotInput, output: screenshotOutput, looks: true,
		examples: []tool.Example{
			module.Example("what the window shows", `{}`),
			module.Example("a chart on the page", `{"selector": "#chart"}`),
			module.Example("the whole page", `{"full_page": true}`),
		},
		aliases: []string{
			"browser.screenshot", "browser_screenshot", "browser.take_screenshot", "browser_take_screenshot", "page_screenshot",
			"take a screenshot", "picture of the page", "see the page", "capture the screen",
			"capture d'écran", "prendre une capture", "image de la page", "voir la page",
		},
		tags: []string{"screenshot", "image", "picture", "capture"},
		run:  decoded(screenshot),
	}
}

type screenshotArgs struct {
	targetArgs
	FullPage bool   `json:"full_page"`
	Format   string `json:"format"`
}

type screenshotData struct {
	state
	MIME      string `json:"mime"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Bytes     int    `json:"bytes"`
	Truncated bool   `json:"truncated,omitempty"`
}

func screenshot(ctx context.Context, c *pageCall, in screenshotArgs) (*tool.Result, error) {
	t, release, err := c.tab(ctx, in.Tab)
	if err != nil {
		return nil, err
	}
	defer release()
	var el *element.Element
	what := "the window"
	switch {
	case in.Ref != "" || in.Selector != "":
		at, err := in.target("full_page", map[bool]string{true: "full_page"}[in.FullPage])
		if err != nil {
			return nil, err
		}
		if el, err = t.Find(ctx, at); err != nil {
			return nil, err
		}
		defer el.Release()
		what = el.What
	case in.FullPage:
		what = "the whole page"
	}
	shot, err := t.Screenshot(ctx, in.FullPage, el, in.Format)
	if err != nil {
		return nil, err
	}
	data := screenshotData{
		state: c.state(ctx, t, page.NavigationResult{}), MIME: shot.MIME,
		Width: shot.Width, Height: shot.Height, Bytes: len(shot.Data), Truncated: shot.Cut,
	}
	r, err := data.result(fmt.Sprintf("a picture of %s of %s: %dx%d, %s",
		what, data.shows(), shot.Width, shot.Height, amount.Bytes(int64(len(shot.Data)))), data)
	if err != nil {
		return nil, err
	}
	if shot.Cut {
		r.Warnings = append(r.Warnings, "the page is larger than a picture can be; its end is missing")
	}
	r.Content = []tool.Content{tool.Image(shot.MIME, shot.Data)}
	return r, nil
}

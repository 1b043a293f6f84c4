package browser

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/browser/element"
	"callgate/tool"
)

//go:embed click.md
var clickDoc string

const clickInput = `{
  "type": "object",
  "properties": {
    "ref": {"type": "string", "maxLength": 20, ` +
	`"description": "The element, by a reference from web.browse.read, such as e12."},
    "selector": {"type": "string", "maxLength": 1000, "description": "Or by a CSS selector."},
    "text": {"type": "string", "maxLength": 300, "description": "Or by the text on it, or what it is called."},
    "element": {"type": "string", "maxLength": 300, ` +
	`"description": "What it is, in words, for the person who may have to approve the call."},
    "button": {"type": "string", "enum": ["left", "right", "middle"], "default": "left"},
    "double": {"type": "boolean", "default": false, "description": "Click twice."},
    "dialog": {"type": "string", "enum": ["dismiss", "accept"], "default": "dismiss", ` +
	`"description": "How a question that the page asks (alert, confirm, prompt) is answered."},
    "dialog_text": {"type": "string", "maxLength": 2000, ` +
	`"description": "What to answer a prompt with, when it is accepted."},
    "tab": {"type": "string", "maxLength": 20, "description": "The tab; the current one unless given."}
  },
  "additionalProperties": false
}`

func clickTool() definition {
	return definition{
		name: "click", doc: clickDoc, input: clickInput, output: stateOutput, changes: true,
		examples: []tool.Example{
			module.Example("an element of the tree", `{"ref": "e12", "element": "the button Sign in"}`),
			module.Example("by the text on it", `{"text": "Add to basket"}`),
			module.Example("and say yes to the question that follows",
				`{"selector": "#delete", "dialog": "accept", "element": "delete the draft"}`),
		},
		aliases: []string{
			"browser.click", "browser_click", "browser.double_click", "browser_double_click", "click_element", "press_button",
			"click a button", "click a link", "press a button on the page", "follow a link", "accept a dialog",
			"cliquer sur un bouton", "cliquer sur un lien", "appuyer sur un bouton", "suivre un lien",
		},
		tags: []string{"click", "button", "link", "mouse", "cliquer"},
		run:  decoded(click),
	}
}

type clickArgs struct {
	targetArgs
	dialogArgs
	Text   string `json:"text"`
	Button string `json:"button"`
	Double bool   `json:"double"`
}

func click(ctx context.Context, c *pageCall, in clickArgs) (*tool.Result, error) {
	at, err := in.target("text", in.Text)
	if err != nil {
		return nil, err
	}
	if in.Button == "" {
		in.Button = "left"
	}
	count := 1
	if in.Double {
		count = 2
	}
	return c.act(ctx, action{
		tab: in.Tab, target: at, dialog: in.dialogArgs,
		do: func(ctx context.Context, el *element.Element) (string, error) {
			return "clicked " + el.What, el.Click(ctx, in.Button, count)
		},
	})
}

package browser

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/tool"
)

//go:embed back.md
var backDoc string

const backInput = `{
  "type": "object",
  "properties": {
    "tab": {"type": "string", "maxLength": 20, "description": "The tab; the current one unless given."},
    "dialog": {"type": "string", "enum": ["dismiss", "accept"], "default": "dismiss", ` +
	`"description": "How questions of the page are answered, such as whether it may be left."}
  },
  "additionalProperties": false
}`

func backTool() definition {
	return definition{
		name: "back", doc: backDoc, input: backInput, output: stateOutput,
		examples: []tool.Example{module.Example("to the page before", `{}`)},
		aliases: []string{
			"browser.back", "browser_back", "browser.navigate_back", "browser_navigate_back", "go_back",
			"go back", "previous page", "page précédente", "revenir en arrière", "retour",
		},
		tags: []string{"back", "history", "retour"},
		run:  decoded(back),
	}
}

type backArgs struct {
	Tab    string `json:"tab"`
	Dialog string `json:"dialog"`
}

func back(ctx context.Context, c *pageCall, in backArgs) (*tool.Result, error) {
	t, release, err := c.tab(ctx, in.Tab)
	if err != nil {
		return nil, err
	}
	defer release()
	t.SetDialogAnswer(in.Dialog == "accept", "")
	result, err := t.Back(ctx, c.patience())
	if err != nil {
		return nil, err
	}
	s := c.state(ctx, t, result)
	s.Navigated = true
	return s.result("went back to "+s.shows(), s)
}

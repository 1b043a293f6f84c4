package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/browser/element"
	"callgate/tool"
)

//go:embed select.md
var selectDoc string

const selectInput = `{
  "type": "object",
  "properties": {
    "ref": {"type": "string", "maxLength": 20, ` +
	`"description": "The list, by a reference from web.browse.read, such as e12."},
    "selector": {"type": "string", "maxLength": 1000, "description": "Or by a CSS selector."},
    "label": {"type": "string", "maxLength": 300, "description": "Or by its label."},
    "values": {"type": "array", "items": {"type": "string", "maxLength": 500}, "minItems": 1, "maxItems": 100, ` +
	`"description": "What to choose: the options' names as they are shown, or their values. Several where the list ` +
	`takes several; the others are let go."},
    "element": {"type": "string", "maxLength": 300, ` +
	`"description": "What it is, in words, for the person who may have to approve the call."},
    "dialog": {"type": "string", "enum": ["dismiss", "accept"], "default": "dismiss", ` +
	`"description": "How a question that the page asks is answered."},
    "tab": {"type": "string", "maxLength": 20, "description": "The tab; the current one unless given."}
  },
  "required": ["values"],
  "additionalProperties": false
}`

const selectOutput = `{"type": "object", "properties": {` + stateProperties + `,
    "chosen": {"type": "array", "items": {"type": "string"}, "description": "What is chosen now."}
  }, "required": ["tab", "url", "chosen"]}`

func selectTool() definition {
	return definition{
		name: "select", doc: selectDoc, input: selectInput, output: selectOutput, changes: true,
		examples: []tool.Example{
			module.Example("choose a country", `{"label": "Country", "values": ["France"]}`),
			module.Example("choose two options of the tree", `{"ref": "e9", "values": ["red", "blue"]}`),
		},
		aliases: []string{
			"browser.select", "browser_select", "browser.select_option", "browser_select_option", "choose_option",
			"choose from a list", "select an option", "pick from a dropdown",
			"choisir dans une liste", "sélectionner une option", "menu déroulant",
		},
		tags: []string{"select", "dropdown", "option", "form", "choisir"},
		run:  decoded(selectOptions),
	}
}

type selectArgs struct {
	targetArgs
	dialogArgs
	Label  string   `json:"label"`
	Values []string `json:"values"`
}

func selectOptions(ctx context.Context, c *pageCall, in selectArgs) (*tool.Result, error) {
	at, err := in.target("label", in.Label)
	if err != nil {
		return nil, err
	}
	var chosen []string
	r, err := c.act(ctx, action{
		tab: in.Tab, target: at, dialog: in.dialogArgs, roles: []string{"combobox", "listbox"},
		do: func(ctx context.Context, el *element.Element) (string, error) {
			var err error
			chosen, err = el.Select(ctx, in.Values)
			return fmt.Sprintf("chose %s in %s", strings.Join(chosen, ", "), el.What), err
		},
	})
	if err != nil {
		return nil, err
	}
	var s map[string]any
	if err := json.Unmarshal(r.Data, &s); err != nil {
		return nil, err
	}
	s["chosen"] = append([]string{}, chosen...)
	r.Data, err = json.Marshal(s)
	return r, err
}

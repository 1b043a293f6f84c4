package browser

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"callgate/internal/module"
	"callgate/internal/module/browser/element"
	"callgate/internal/module/browser/transfer"
	"callgate/tool"
)

//go:embed type.md
var typeDoc string

const typeInput = `{
  "type": "object",
  "properties": {
    "ref": {"type": "string", "maxLength": 20, ` +
	`"description": "The field, by a reference from web.browse.read, such as e12."},
    "selector": {"type": "string", "maxLength": 1000, "description": "Or by a CSS selector."},
    "label": {"type": "string", "maxLength": 300, "description": "Or by its label or placeholder."},
    "text": {"type": "string", "maxLength": 200000, ` +
	`"description": "What to type. For a date field 2026-07-28, for a time 14:30."},
    "clear": {"type": "boolean", "default": true, ` +
	`"description": "Remove what the field holds first. False adds to its end."},
    "submit": {"type": "boolean", "default": false, "description": "Press Enter afterwards."},
    "keys": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 40}, "maxItems": 50, ` +
	`"description": "Keys to press, after the text: Enter, Escape, Tab, ArrowDown, PageDown, End, Control+A. Without ` +
	`an element they go to whatever has the focus; End or PageDown scroll the page."},
    "files": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 20, ` +
	`"description": "Files of the workspace to put into a file field."},
    "element": {"type": "string", "maxLength": 300, ` +
	`"description": "What it is, in words, for the person who may have to approve the call."},
    "dialog": {"type": "string", "enum": ["dismiss", "accept"], "default": "dismiss", ` +
	`"description": "How a question that the page asks is answered."},
    "dialog_text": {"type": "string", "maxLength": 2000, ` +
	`"description": "What to answer a prompt with, when it is accepted."},
    "tab": {"type": "string", "maxLength": 20, "description": "The tab; the current one unless given."}
  },
  "additionalProperties": false
}`

func typeTool() definition {
	return definition{
		name: "type", doc: typeDoc, input: typeInput, output: stateOutput, changes: true,
		reads: []tool.Effect{{Resource: "file:{files}", Mode: tool.IS}},
		examples: []tool.Example{
			module.Example("search for something", `{"label": "Search", "text": "red shoes", "submit": true}`),
			module.Example("fill in a field of the tree", `{"ref": "e7", "text": "ada@example.com"}`),
			module.Example("scroll to the end of the page", `{"keys": ["End"]}`),
			module.Example("upload a file", `{"selector": "input[type=file]", "files": ["report.pdf"]}`),
		},
		aliases: []string{
			"browser.type", "browser_type", "browser.fill", "browser_fill", "browser_fill_form",
			"browser.press_key", "browser_press_key", "browser_file_upload", "fill_field",
			"type text into a field", "fill in a form", "enter text", "press a key",
			"upload a file to a page", "scroll the page",
			"saisir du texte", "remplir un formulaire", "taper dans un champ", "appuyer sur une touche",
			"téléverser un fichier", "faire défiler la page",
		},
		tags: []string{"type", "form", "input", "keyboard", "upload", "scroll", "saisir", "formulaire"},
		run:  decoded(typeText),
	}
}

type typeArgs struct {
	targetArgs
	dialogArgs
	Label  string   `json:"label"`
	Text   *string  `json:"text"`
	Clear  *bool    `json:"clear"` // nil is true
	Submit bool     `json:"submit"`
	Keys   []string `json:"keys"`
	Files  []string `json:"files"`
}

func typeText(ctx context.Context, c *pageCall, in typeArgs) (*tool.Result, error) {
	if in.Submit {
		in.Keys = append(in.Keys, "Enter")
	}
	hasTarget := in.Ref != "" || in.Selector != "" || in.Label != ""
	switch {
	case in.Text == nil && len(in.Keys) == 0 && len(in.Files) == 0:
		return nil, tool.Errorf(c.op, tool.Invalid, "there is nothing to type").WithHint("give text, keys or files")
	case len(in.Files) > 0 && (in.Text != nil || len(in.Keys) > 0):
		return nil, tool.Errorf(c.op, tool.Invalid, "files are given alone, without text or keys")
	case !hasTarget && in.Text == nil && len(in.Files) == 0:
		return c.press(ctx, in)
	}
	at, err := in.target("label", in.Label)
	if err != nil {
		return nil, err
	}
	return c.act(ctx, action{
		tab: in.Tab, target: at, dialog: in.dialogArgs,
		roles: []string{"textbox", "searchbox", "combobox", "spinbutton", "slider"},
		do: func(ctx context.Context, el *element.Element) (string, error) {
			if len(in.Files) > 0 {
				return c.upload(ctx, el, in.Files)
			}
			return c.write(ctx, el, in)
		},
	})
}

// press presses keys where the focus is.
func (c *pageCall) press(ctx context.Context, in typeArgs) (*tool.Result, error) {
	t, release, err := c.tab(ctx, in.Tab)
	if err != nil {
		return nil, err
	}
	defer release()
	t.SetDialogAnswer(in.Dialog == "accept", in.DialogText)
	before := t.Document()
	if err := t.Press(ctx, in.Keys); err != nil {
		return nil, inDoubt(t, "keys were being pressed", err)
	}
	return c.settle(ctx, t, before, "pressed "+strings.Join(in.Keys, ", "))
}

// write types into a field, presses the keys that follow, and checks that the field
// holds the text.
func (c *pageCall) write(ctx context.Context, el *element.Element, in typeArgs) (string, error) {
	var did []string
	if in.Text != nil {
		clear := in.Clear == nil || *in.Clear
		if err := el.Type(ctx, *in.Text, clear); err != nil {
			return "", err
		}
		did = append(did, fmt.Sprintf("typed %d characters into %s", utf8.RuneCountInString(*in.Text), el.What))
		if held, secret := el.Value(ctx); !secret && clear && squeezed(held) != squeezed(*in.Text) {
			c.warnings = append(c.warnings,
				fmt.Sprintf("the field holds %q now, which is not what was typed", tool.Truncate(held)))
		}
	} else if err := el.Focus(ctx); err != nil {
		return "", err
	}
	if len(in.Keys) > 0 {
		if err := el.Press(ctx, in.Keys); err != nil {
			return "", err
		}
		did = append(did, "pressed "+strings.Join(in.Keys, ", "))
	}
	return strings.Join(did, " and "), nil
}

// squeezed is a text with its spaces normalised, which editors change on their own.
func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

func (c *pageCall) upload(ctx context.Context, el *element.Element, paths []string) (string, error) {
	folder, err := c.profile.UploadFolder()
	if err != nil {
		return "", err
	}
	staged, err := transfer.StageUpload(c.op, c.grant, folder, paths)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("gave %s to %s", strings.Join(paths, ", "), el.What), el.Upload(ctx, staged)
}

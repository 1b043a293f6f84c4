package browser

import (
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/module"
	"callgate/internal/module/browser/content"
	"callgate/internal/module/browser/element"
	"callgate/internal/module/browser/page"
	"callgate/tool"
)

//go:embed click.md
var clickDoc string

const clickInput = `{
  "type": "object",
  "properties": {
    "ref": {"type": "string", "maxLength": 20, "description": "The element, by a reference from web.browse.read, such as e12."},
    "selector": {"type": "string", "maxLength": 1000, "description": "Or by a CSS selector."},
    "text": {"type": "string", "maxLength": 300, "description": "Or by the text on it, or what it is called."},
    "element": {"type": "string", "maxLength": 300, "description": "What it is, in words, for the person who may have to approve the call."},
    "button": {"type": "string", "enum": ["left", "right", "middle"], "default": "left"},
    "double": {"type": "boolean", "default": false, "description": "Click twice."},
    "dialog": {"type": "string", "enum": ["dismiss", "accept"], "default": "dismiss", "description": "How a question that the page asks (alert, confirm, prompt) is answered."},
    "dialog_text": {"type": "string", "maxLength": 2000, "description": "What to answer a prompt with, when it is accepted."},
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
			module.Example("and say yes to the question that follows", `{"selector": "#delete", "dialog": "accept", "element": "delete the draft"}`),
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

// targetArgs is the part of the arguments that points at an element.
type targetArgs struct {
	Ref      string `json:"ref"`
	Selector string `json:"selector"`
	Tab      string `json:"tab"`
}

// target is what is pointed at, by one way and not more; words is the third.
func (p targetArgs) target(name, words string) (content.Target, error) {
	n := 0
	for _, s := range []string{p.Ref, p.Selector, words} {
		if s != "" {
			n++
		}
	}
	if n != 1 {
		return content.Target{}, tool.Errorf(Namespace, tool.Invalid, "ref, selector and %s are three ways to point at an element; %d were given", name, n).
			WithHint("give one of them")
	}
	return content.Target{Ref: p.Ref, Selector: p.Selector, Text: words}, nil
}

type dialogArgs struct {
	Dialog     string `json:"dialog"`
	DialogText string `json:"dialog_text"`
}

type clickArgs struct {
	targetArgs
	dialogArgs
	Text   string `json:"text"`
	Button string `json:"button"`
	Double bool   `json:"double"`
}

func click(ctx context.Context, v *pageCall, in clickArgs) (*tool.Result, error) {
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
	return v.actOn(ctx, in.Tab, at, in.dialogArgs, nil, func(ctx context.Context, el *element.Element) (string, error) {
		return "clicked " + el.What, el.Click(ctx, in.Button, count)
	})
}

// actOn finds an element, does something to it, waits for what that begins, and
// says what came of it.
func (v *pageCall) actOn(ctx context.Context, tab string, at content.Target, dialog dialogArgs, roles []string, do func(context.Context, *element.Element) (string, error)) (*tool.Result, error) {
	t, done, err := v.tab(ctx, tab)
	if err != nil {
		return nil, err
	}
	defer done()
	t.SetDialogAnswer(dialog.Dialog == "accept", dialog.DialogText)
	el, err := t.Find(ctx, at, roles...)
	if err != nil {
		return nil, err
	}
	before := t.Document()
	did, err := do(ctx, el)
	el.Release()
	if err != nil {
		return nil, t.Explain(err)
	}
	if el.Others > 0 {
		v.warnings = append(v.warnings, fmt.Sprintf("the selector names %d elements; the first that is visible was taken", el.Others+1))
	}
	return v.settled(ctx, t, before, did)
}

// settled waits for what was begun and makes the result.
func (v *pageCall) settled(ctx context.Context, t *page.Tab, before int, did string) (*tool.Result, error) {
	l, left, err := t.Settle(ctx, before, v.patience())
	if err != nil && !(t.Closed() && tool.KindOf(err) == tool.Failed) {
		return nil, fmt.Errorf("%s, but: %w", did, err)
	}
	s := v.state(ctx, t, l)
	if t.Closed() {
		return s.done(did+", which closed the tab", s)
	}
	if s.Navigated = left; left {
		did += "; the tab now shows " + s.shows()
	}
	return s.done(did, s)
}

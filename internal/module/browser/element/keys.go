package element

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/frames"
	"callgate/tool"
)

// maxTyped is the number of characters up to which a text is typed key by key; a longer
// one is pasted.
const maxTyped = 600

// Type types text into the element with the keyboard. With clear, it first removes what
// the element holds.
func (e *Element) Type(ctx context.Context, text string, clear bool) error {
	p, err := e.properties(ctx)
	if err != nil {
		return err
	}
	if err := e.checkTypable(p, text); err != nil {
		return err
	}
	if isSet(p.Type) {
		return e.fill(ctx, text)
	}
	at, err := e.ready(ctx)
	if err != nil {
		return err
	}
	if p.Editable { // an editor that the page draws may react only to the mouse
		if err := press(ctx, e.page, at); err != nil {
			return err
		}
	}
	if err := e.run(ctx, "focus", nil, clear); err != nil {
		return err
	}
	if clear && p.Filled {
		if err := key(ctx, e.page, "Delete"); err != nil {
			return err
		}
	}
	return typeText(ctx, e.page, text)
}

// checkTypable refuses a text that cannot be typed into the element.
func (e *Element) checkTypable(p properties, text string) error {
	buttons := []string{"button", "submit", "reset", "image", "hidden"}
	field := p.Tag == "textarea" || p.Editable || p.Tag == "input" && !slices.Contains(buttons, p.Type)
	switch {
	case p.Type == "checkbox" || p.Type == "radio":
		return tool.Errorf(op, tool.Invalid, "%s is not typed into", e.What).WithHint("use web.browse.click")
	case p.Type == "file":
		return tool.Errorf(op, tool.Invalid, "%s takes a file", e.What).WithHint("name files of the workspace in files")
	case p.Tag == "select":
		return tool.Errorf(op, tool.Invalid, "%s is a list of options", e.What).WithHint("use web.browse.select")
	case !field:
		return tool.Errorf(op, tool.Invalid, "%s is not a text field", e.What).
			WithHint(`read the page with format "tree" and point at a textbox`)
	case p.Readonly:
		return tool.Errorf(op, tool.Failed, "%s cannot be changed", e.What)
	case p.Tag == "input" && strings.ContainsAny(text, "\r\n"):
		return tool.Errorf(op, tool.Invalid, "%s holds one line, and the text has more", e.What).
			WithHint("leave the line break away; submit: true presses Enter")
	}
	return nil
}

// isSet reports a type of field whose value is set rather than typed.
func isSet(fieldType string) bool {
	return slices.Contains([]string{"date", "time", "month", "week", "datetime-local", "color", "range"}, fieldType)
}

func (e *Element) fill(ctx context.Context, value string) error {
	var thrown frames.ScriptError
	err := e.run(ctx, "fill", nil, value)
	if errors.As(err, &thrown) {
		return tool.Errorf(op, tool.Invalid, "%s", string(thrown)).
			WithHint("a date is written 2026-07-28, a time 14:30, a month 2026-07, a week 2026-W31, a colour #0a7bff")
	}
	return err
}

// press clicks at a point.
func press(ctx context.Context, s *devtools.Session, at point) error {
	event := input.DispatchMouseEventParams{X: at.x, Y: at.y, Button: input.MouseButtonLeft, ClickCount: 1}
	for _, phase := range []input.DispatchMouseEventType{
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased,
	} {
		event.Type = phase
		if err := devtools.Exec(ctx, s, input.DispatchMouseEvent, event); err != nil {
			return err
		}
	}
	return nil
}

// typeText types text where the caret is.
func typeText(ctx context.Context, s *devtools.Session, text string) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if utf8.RuneCountInString(text) > maxTyped {
		return devtools.Exec(ctx, s, input.InsertText, input.InsertTextParams{Text: text})
	}
	for _, r := range text {
		if _, known := kb.Keys[r]; !known && r != '\n' {
			if err := devtools.Exec(ctx, s, input.InsertText, input.InsertTextParams{Text: string(r)}); err != nil {
				return err
			}
			continue
		}
		if err := sendKey(ctx, s, kb.Encode(r), 0); err != nil {
			return err
		}
	}
	return nil
}

// sendKey sends the events of one key at once, and then waits for their replies.
func sendKey(
	ctx context.Context, s *devtools.Session, events []*input.DispatchKeyEventParams, modifiers int64,
) error {
	replies := make([]*devtools.PendingReply, len(events))
	for i, ev := range events {
		ev.Modifiers |= modifiers
		replies[i] = devtools.Start(s, input.DispatchKeyEvent, *ev)
	}
	for _, r := range replies {
		if err := r.Wait(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// Press presses keys by their names, one after the other, where the focus of a page is:
// Enter, Escape, PageDown, Control+A.
func Press(ctx context.Context, page *devtools.Session, names []string) error {
	for _, name := range names {
		if err := key(ctx, page, name); err != nil {
			return err
		}
	}
	return nil
}

// key presses one key with its modifiers, such as Control+A.
func key(ctx context.Context, s *devtools.Session, name string) error {
	parts := strings.Split(name, "+")
	if name == "+" || strings.HasSuffix(name, "++") {
		parts = append(strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, "+"), "+"), "+"), "+")
	}
	var modifiers int64
	for _, m := range parts[:len(parts)-1] {
		bit, ok := map[string]int64{"alt": 1, "control": 2, "ctrl": 2, "meta": 4, "cmd": 4, "shift": 8}[strings.ToLower(m)]
		if !ok && m != "" {
			return unknownKey(name)
		}
		modifiers |= bit
	}
	r, ok := keyNamed(parts[len(parts)-1])
	if !ok {
		return unknownKey(name)
	}
	events := kb.Encode(r)
	if modifiers&^8 != 0 { // a command, not a character
		events = slices.DeleteFunc(events, func(e *input.DispatchKeyEventParams) bool {
			return e.Type == input.DispatchKeyEventTypeChar
		})
		if strings.EqualFold(string(r), "a") {
			events[0].Commands = []string{"selectAll"}
		}
	}
	return sendKey(ctx, s, events, modifiers)
}

func unknownKey(name string) error {
	return tool.Errorf(op, tool.Invalid, "there is no key %q", tool.Truncate(name)).
		WithHint("keys are written Enter, Escape, Tab, Backspace, Delete, ArrowDown, PageDown, End, Home, F5, a, Control+A")
}

// keyNamed finds a key by its name or by the character on it.
func keyNamed(name string) (rune, bool) {
	if name == "Space" {
		return ' ', true
	}
	if r, n := utf8.DecodeRuneInString(name); n == len(name) && n > 0 {
		_, ok := kb.Keys[r]
		return r, ok
	}
	var found rune
	for r, k := range kb.Keys {
		if strings.EqualFold(k.Key, name) && (found == 0 || r < found) {
			found = r
		}
	}
	return found, found != 0
}

// Focus moves the keyboard's focus to the element.
func (e *Element) Focus(ctx context.Context) error {
	return e.run(ctx, "focus", nil, false)
}

// Press presses keys in the page of the element.
func (e *Element) Press(ctx context.Context, names []string) error { return Press(ctx, e.page, names) }

// Upload puts files into a field that takes them.
func (e *Element) Upload(ctx context.Context, files []string) error {
	p, err := e.properties(ctx)
	if err != nil {
		return err
	}
	if p.Type != "file" {
		return tool.Errorf(op, tool.Invalid, "%s does not take files", e.What).
			WithHint(`point at the field of type "file": selector input[type=file]`)
	}
	return devtools.Exec(ctx, e.frame.Session, dom.SetFileInputFiles,
		dom.SetFileInputFilesParams{Files: files, ObjectID: e.object})
}

// Value returns what a field holds. The value of a password is secret and not returned.
func (e *Element) Value(ctx context.Context) (value string, secret bool) {
	p, err := e.properties(ctx)
	return p.Value, err != nil || p.Type == "password"
}

func quoted(texts []string) string {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = strconv.Quote(t)
	}
	return strings.Join(all, ", ")
}

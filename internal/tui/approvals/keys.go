package approvals

import (
	"encoding/json"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/input"
)

// pageLines is how far a page key scrolls.
const pageLines = 8

// maxWord bounds the word that is being typed.
const maxWord = 20

func (p *Pane) key(k tea.KeyPressMsg) tea.Cmd {
	it := p.first()
	switch {
	case it == nil || it.sending:
		return nil
	case it.editor != nil:
		return p.editKey(it, k)
	case it.why != nil:
		return p.refuseKey(it, k)
	}
	switch k.String() {
	case "enter":
		word := it.word
		it.word = ""
		return p.decide(it, word)
	case "backspace":
		if it.word != "" {
			it.word = it.word[:len(it.word)-1]
		}
	case "esc":
		if it.word == "" && !it.keeping && p.all == nil {
			p.Post(Interrupt{})
		}
		it.word, it.keeping, p.all = "", false, nil
	case "up":
		it.scroll--
	case "down":
		it.scroll++
	case "pgup":
		it.scroll -= pageLines
	case "pgdown":
		it.scroll += pageLines
	default:
		if len(k.Text) == 1 && (k.Text > " " || k.Text == " " && it.word != "") && len(it.word) < maxWord {
			it.word += k.Text
		}
	}
	return nil
}

// paste goes to an open field. Outside of one it is ignored: no paste answers.
func (p *Pane) paste(msg tea.PasteMsg) tea.Cmd {
	switch it := p.first(); {
	case it == nil:
	case it.editor != nil:
		return it.editor.Update(msg)
	case it.why != nil:
		return it.why.Update(msg)
	}
	return nil
}

// choice is the answer that a word means; "": none.
func choice(word string) string {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "a", "approve", "y", "yes":
		return "approve"
	case "s", "session":
		return "session"
	case "script", "stop":
		return strings.ToLower(strings.TrimSpace(word))
	case "d", "deny", "n", "no":
		return "deny"
	case "e", "edit":
		return "edit"
	case "k", "keep":
		return "keep"
	case "q", "quit":
		return "leave"
	case "all":
		return "all"
	}
	return ""
}

// decide does what a word says.
func (p *Pane) decide(it *item, word string) tea.Cmd {
	it.wrong = ""
	if it.keeping {
		return p.keep(it, word)
	}
	if p.all != nil {
		return p.decideAll(it, word)
	}
	switch choice(word) {
	case "approve":
		return p.send(it, protocol.Answer{Approve: true})
	case "session":
		if it.Session == nil {
			it.wrong = "a yes to this is for once: it is asked for each time"
			return nil
		}
		return p.send(it, protocol.Answer{Approve: true, Always: true})
	case "script":
		if it.Script == nil || it.Script.Offer == nil {
			it.wrong = "a yes to this is for once: it is asked for each time"
			return nil
		}
		return p.send(it, protocol.Answer{Approve: true, Script: true})
	case "stop":
		if it.Script == nil {
			it.wrong = "this is not a call of a script: d denies it"
			return nil
		}
		return p.send(it, protocol.Answer{Script: true})
	case "deny":
		it.why = input.NewField("why, for whoever asked (may be empty)")
	case "edit":
		it.editor = input.NewEditor(it.draft)
	case "keep":
		if it.keeping = len(it.Choices) > 0; !it.keeping {
			it.wrong = "a yes to this cannot be kept: it is asked for each time"
		}
	case "all":
		if len(p.items) < 2 {
			it.wrong = "nothing else waits here"
			return nil
		}
		p.all, it.scroll = slices.Clone(p.items), 0
	case "leave":
		p.focused = false
		p.Post(LeftWaiting{})
	default:
		if word != "" {
			it.wrong = "that is no answer: a, d, e, s, k or q"
		}
	}
	return nil
}

// decideAll answers the calls that are laid out together.
func (p *Pane) decideAll(it *item, word string) tea.Cmd {
	switch choice(word) {
	case "approve":
		return p.sendAll(protocol.Answer{Approve: true})
	case "deny":
		it.why = input.NewField("why, for whoever asked (may be empty)")
	case "script", "stop":
		if word = choice(word); it.Script == nil || word == "script" && it.Script.Offer == nil {
			it.wrong = "these are not calls of a script whose rest can be answered"
			return nil
		}
		return p.sendScript(it, word == "script")
	default:
		if word != "" {
			it.wrong = "that is no answer to all: a or d, or esc"
		}
	}
	return nil
}

// sendScript answers a script: yes to the calls that are laid out together, and to those
// like the first that are still to come; or the end of it.
func (p *Pane) sendScript(it *item, approve bool) tea.Cmd {
	a := protocol.Answer{Approve: approve, Script: true}
	for _, other := range p.all {
		if approve && other != it && other.Script != nil && other.Script.Batch == it.Script.Batch &&
			other.Script.Call == it.Script.Call {
			a.With = append(a.With, other.ID)
		}
	}
	p.all = nil
	return p.send(it, a)
}

// sendAll gives the calls that are laid out together the same answer, one by one.
func (p *Pane) sendAll(a protocol.Answer) tea.Cmd {
	var all []tea.Cmd
	for _, it := range p.all {
		all = append(all, p.send(it, a))
	}
	p.all = nil
	return func() tea.Msg {
		var replies answeredAllMsg
		for _, send := range all { // in the order shown
			replies = append(replies, send().(answeredMsg))
		}
		return replies
	}
}

// keep approves a call from now on, as the choice with the number that was typed.
// It is only reached while the choices are on the screen.
func (p *Pane) keep(it *item, word string) tea.Cmd {
	remember, ok, err := it.ParseRemember(word, p.Now())
	switch {
	case err != nil:
		it.wrong = err.Error()
	case ok:
		return p.send(it, protocol.Answer{Approve: true, Remember: remember})
	case word != "":
		it.wrong = "that is no number of the list"
	}
	return nil
}

// editKey is a key in the editor of the arguments.
func (p *Pane) editKey(it *item, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		it.draft, it.editor, it.wrong = it.editor.Text(), nil, ""
		return nil
	case "ctrl+s":
		text := it.editor.Text()
		it.draft = text
		if strings.TrimSpace(text) == strings.TrimSpace(indented(it.Call.Args)) {
			it.editor, it.wrong = nil, "nothing was changed"
			return nil
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
			it.wrong = "what you wrote is not one JSON object"
			if err != nil {
				it.wrong += ": " + err.Error()
			}
			return nil
		}
		return p.send(it, protocol.Answer{Approve: true, Args: json.RawMessage(strings.TrimSpace(text))})
	}
	return it.editor.Update(k)
}

// refuseKey is a key in the field that says why a call is refused.
func (p *Pane) refuseKey(it *item, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		it.why = nil
		return nil
	case "enter":
		a := protocol.Answer{Feedback: strings.TrimSpace(it.why.Text())}
		if p.all != nil {
			return p.sendAll(a)
		}
		return p.send(it, a)
	}
	return it.why.Update(k)
}

// Package proposals shows in a chat what agents propose to change, and has the user accept
// or refuse it.
//
// # Law
//
// What is accepted is what was shown here last: the digest of another showing is not sent.
// A yes is a command that the user writes, with the code that the kernel gave this process:
// nothing that a model says makes one.
package proposals

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
)

// Client asks the kernel for proposals. client.Proposals is one.
type Client interface {
	List(ctx context.Context, state protocol.ProposalState) ([]protocol.Proposal, error)
	Get(ctx context.Context, id string) (protocol.Proposal, error)
	Challenge(ctx context.Context) (code string, err error)
	Accept(ctx context.Context, id string, a protocol.AcceptProposal) (protocol.Proposal, error)
	Refuse(ctx context.Context, id string, r protocol.RefuseProposal) (protocol.Proposal, error)
}

// Options are what the proposals need of their screen. Script is required.
type Options struct {
	Client Client                 // nil: there are none
	Script *transcript.Transcript // where they are shown
	By     string                 // the user's name
}

// Proposals are those that wait.
type Proposals struct {
	Options
	ctx   context.Context
	shown []string          // IDs, as they were numbered last
	seen  map[string]string // digests of what was shown, by ID
}

// New makes the proposals of a chat.
func New(ctx context.Context, o Options) *Proposals {
	return &Proposals{Options: o, ctx: ctx, seen: map[string]string{}}
}

// Messages of the commands.
type (
	listedMsg struct {
		list []protocol.Proposal
		err  error
	}
	shownMsg struct {
		proposal protocol.Proposal
		code     string // that accepts it
		err      error
	}
	answeredMsg struct {
		proposal protocol.Proposal
		err      error
	}
)

// Command is /proposals: alone it lists those that wait; with a number or an ID it shows
// one; "accept" and "refuse" before it answer it. A word #HUNK behind that answers only this
// hunk of a change of a file.
func (p *Proposals) Command(text string) tea.Cmd {
	words := strings.Fields(text)
	switch {
	case p.Client == nil:
		p.say("this kernel shows no proposals")
		return nil
	case len(words) == 0:
		return func() tea.Msg {
			list, err := p.Client.List(p.ctx, protocol.ProposalPending)
			return listedMsg{list, err}
		}
	case words[0] != "accept" && words[0] != "refuse":
		return p.look(p.named(words[0]))
	case len(words) == 1:
		p.bad("say which one: /proposals " + words[0] + " NUMBER; /proposals shows them")
		return nil
	case words[0] == "refuse":
		return p.refuse(p.named(words[1]), words[2:])
	}
	return p.accept(p.named(words[1]), words[2:])
}

// named is the proposal that a number of the last list means, or else an ID.
func (p *Proposals) named(word string) string {
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(p.shown) {
		return p.shown[n-1]
	}
	return word
}

// look asks for one proposal, and for what the user types to accept it.
func (p *Proposals) look(id string) tea.Cmd {
	return func() tea.Msg {
		one, err := p.Client.Get(p.ctx, id)
		if err != nil || one.Digest == "" {
			return shownMsg{proposal: one, err: err}
		}
		code, err := p.Client.Challenge(p.ctx)
		return shownMsg{one, code, err}
	}
}

// accept accepts what was shown, or shows it first.
func (p *Proposals) accept(id string, typed []string) tea.Cmd {
	digest := p.seen[id]
	if digest == "" {
		return p.look(id)
	}
	hunks, typed := cutHunks(typed, 1) // after the code
	yes := protocol.AcceptProposal{Digest: digest, By: p.By, Hunks: hunks}
	if len(typed) > 0 {
		yes.Code, yes.Feedback = typed[0], strings.Join(typed[1:], " ")
	}
	return func() tea.Msg {
		done, err := p.Client.Accept(p.ctx, id, yes)
		return answeredMsg{done, err}
	}
}

// cutHunks takes the words out that name hunks: those with a # before the feedback begins,
// which a mistyped ID must not become a part of, for then the answer were for all hunks.
func cutHunks(words []string, before int) (hunks, rest []string) {
	for _, word := range words {
		if id, ok := strings.CutPrefix(word, "#"); ok && len(rest) <= before {
			hunks = append(hunks, id)
		} else {
			rest = append(rest, word)
		}
	}
	return hunks, rest
}

func (p *Proposals) refuse(id string, words []string) tea.Cmd {
	hunks, rest := cutHunks(words, 0)
	return func() tea.Msg {
		done, err := p.Client.Refuse(p.ctx, id, protocol.RefuseProposal{
			By: p.By, Feedback: strings.Join(rest, " "), Hunks: hunks,
		})
		return answeredMsg{done, err}
	}
}

// Update handles what the kernel answers, and reports whether a message was that.
func (p *Proposals) Update(msg tea.Msg) (handled bool) {
	switch msg := msg.(type) {
	case listedMsg:
		p.listed(msg)
	case shownMsg:
		p.showOne(msg)
	case answeredMsg:
		p.answered(msg)
	default:
		return false
	}
	return true
}

func (p *Proposals) listed(m listedMsg) {
	switch {
	case m.err != nil:
		p.bad(m.err.Error())
		return
	case len(m.list) == 0:
		p.say("no proposal waits for you")
		return
	}
	p.shown = nil
	var b strings.Builder
	for i, one := range m.list {
		p.shown = append(p.shown, one.ID)
		fmt.Fprintf(&b, "%2d  %-13s %s\n    %s\n", i+1, one.Kind, termtext.OneLine(one.Title), termtext.OneLine(one.Reason))
	}
	p.say(b.String() + "/proposals NUMBER shows one; nothing changes before you accept it")
}

// showOne shows a proposal, and how it is answered.
func (p *Proposals) showOne(m shownMsg) {
	one := m.proposal
	if m.err != nil {
		p.bad(m.err.Error())
		return
	}
	head := fmt.Sprintf("%s %s, proposed by %s: %s", one.Kind, termtext.OneLine(one.Title),
		orSomebody(one.Agent), termtext.OneLine(one.Reason))
	if one.Digest == "" {
		p.say(head + "\nit cannot be accepted: " + one.Problem)
		return
	}
	p.seen[one.ID] = one.Digest
	name := one.ID
	for i, id := range p.shown {
		if id == one.ID {
			name = strconv.Itoa(i + 1)
		}
	}
	p.say(head + "\n\n" + one.Shown + "\n" + strings.TrimSpace("/proposals accept "+name+" "+m.code) +
		" does this; /proposals refuse " + name + " WHY refuses it" + hunksHint(one.Hunks))
}

// hunksHint says how hunks are answered one by one, where there are several.
func hunksHint(hunks []string) string {
	if len(hunks) < 2 {
		return ""
	}
	return "; #" + hunks[0] + " behind it answers that hunk alone"
}

func orSomebody(agent string) string {
	if agent == "" {
		return "a client"
	}
	return termtext.OneLine(agent)
}

func (p *Proposals) answered(m answeredMsg) {
	if m.err != nil {
		p.bad(m.err.Error())
		return
	}
	delete(p.seen, m.proposal.ID)
	if m.proposal.State == protocol.ProposalPending {
		p.say("answered; the rest of " + termtext.OneLine(m.proposal.Title) + " waits: /proposals " + m.proposal.ID)
		return
	}
	text := string(m.proposal.State) + ": " + m.proposal.Kind + " " + termtext.OneLine(m.proposal.Title)
	if len(m.proposal.Done) > 0 {
		text += "\n" + strings.Join(m.proposal.Done, "\n")
	}
	p.say(text)
}

func (p *Proposals) say(text string) { p.Script.Add(transcript.Note{Text: text}, true) }

func (p *Proposals) bad(text string) { p.Script.Add(transcript.Note{Text: text, Bad: true}, true) }

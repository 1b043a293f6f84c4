// Package proposals keeps what agents propose, shows it to humans, and does what a human
// accepted. What a proposal is says internal/proposal.
//
// # Law
//
//   - A call that proposes stores a proposal, once for the call, and has no other effect.
//     What nobody could accept is refused at once, so that its asker can mend it.
//   - A conversation, and an app file, have a limited number of proposals that wait.
//   - A person accepts, as they accept an app: not the process that asked, nor what
//     belongs to it, nor a tool. Refusing needs a human's authority.
//   - The yes names the digest of what was shown. The plan is made again from the files as
//     they are; if it is another one, nothing happens and it is a Conflict.
//   - What the app file asks for is accepted with the same yes only as it was shown.
//   - Files are written below the app's folder, the workspace's or the user's own, never
//     through a link, each whole or not at all. An accepted proposal that cannot be done
//     stays pending, and says why; done again, what is there already is left alone.
//   - Asked, accepted and refused are in the journal, with who. The conversation that asked
//     is told, and a human's feedback is data to it. What a kernel that was killed has
//     answered and not told, the next one tells as it starts.
package proposals

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/agent/filter"
	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/document"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/schema"
	"callgate/internal/journal"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/trial"
	"callgate/internal/proposal"
	"callgate/internal/registry"
	"callgate/internal/task"
	"callgate/tool"
)

// Apps loads app files.
type Apps interface {
	Load(ctx context.Context, workspace, file string) (*apps.Loaded, error)
	TryText(ctx context.Context, inForce *apps.Loaded, text []byte) (*app.App, error)
}

// Authority says who may answer. *approval.Queue is one.
type Authority interface {
	HasPersonAuthority(who approval.Credential, askers []approval.Requester) error
	HasHumanAuthority(who approval.Credential) error
	AnswerVouched(ctx context.Context, v approval.Voucher, id string, a approval.Answer) error
}

// Options is what Proposals need of the kernel.
type Options struct {
	Documents document.Store
	Journal   *journal.Journal
	Authority Authority
	Apps      Apps
	Consents  *consent.Consents
	Scrub     func(string) string // takes out the values of secrets
	// Asker tells on whose behalf a call is made, and which conversation learns of the end.
	Asker func(call tool.Call) (task.Asker, string, error)
	// Askers are those who may not accept what an asker proposed.
	Askers func(who approval.Credential, asker approval.Requester) []approval.Requester
	// Try tries rules on the recorded calls of a folder.
	Try func(ctx context.Context, inForce *apps.Loaded, rules *policy.Rules, off map[string]bool) (trial.Report, error)
	// Tell stores a notice for a conversation.
	Tell     func(ctx context.Context, notice task.Task) error
	UserFile string // the user's own app file, in whose folder their skills are; "": there is none
	User     string
	Now      func() time.Time // nil: time.Now

	Writer
}

// Writer is what writes accepted changes of files.
type Writer struct {
	Gate  Gate
	Tools *registry.Registry
	// Caller makes a caller without an app in a folder, and the function that ends it.
	Caller func(session.BareSpec) (*gate.Caller, func(), error)
	// RuleFiles are the files and folders in a workspace that hold rules of agents.
	RuleFiles func(ctx context.Context, workspace string) []string
}

// Gate makes calls.
type Gate interface {
	Call(ctx context.Context, c *gate.Caller, r gate.CallRequest) *tool.Result
}

// Proposals are the kernel's. Make them with New.
type Proposals struct {
	opt     Options
	schemas schema.Cache
	secrets *filter.Filter
	run     string // this process, among those that write files

	mu sync.Mutex // held while one is added or answered
}

var _ control.Proposer = (*Proposals)(nil)

// New makes the proposals of a store.
func New(o Options) (*Proposals, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	secrets, err := filter.New([]filter.Rule{{Secrets: true, Output: true}})
	if err != nil {
		return nil, err
	}
	p := &Proposals{opt: o, secrets: secrets, run: rand.Text()}
	t := p.applyTool()
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return p, o.Tools.Add(scope, registry.Static{Source: "accepted changes", List: []*tool.Tool{t}})
}

// Tools returns the tools that propose.
func (p *Proposals) Tools() []*tool.Tool { return control.ProposalTools(p) }

// The most proposals that wait, and that are kept.
const (
	maxOfConversation = 5
	maxOfApp          = 20
	maxKept           = 500
)

const op = "proposals.Propose"

// Propose stores what a call proposes.
func (p *Proposals) Propose(ctx context.Context, call tool.Call, kind string) (control.Proposed, error) {
	var out control.Proposed
	made, err := p.make(call, proposal.Kind(kind))
	if err != nil {
		return out, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all, err := p.list(ctx)
	if err != nil {
		return out, err
	}
	if i := slices.IndexFunc(all, func(s stored) bool { return s.ID == made.ID }); i >= 0 {
		return proposed(all[i].Proposal), nil
	}
	if err := p.room(ctx, all, made); err != nil {
		return out, err
	}
	plan, err := p.plan(ctx, made, false)
	if err == nil {
		err = needless(made.Kind, plan)
	}
	if err != nil {
		return out, err
	}
	if _, err := p.put(ctx, made, 0); err != nil {
		return out, err
	}
	who := cmp.Or(made.Asker.Principal.Agent, made.Asker.Principal.App, "a client")
	return proposed(made), p.record(fmt.Sprintf("%s proposed %s %s (%s)", who, made.Kind, made.Title, made.ID))
}

// needless refuses to propose what is there already. It can still be accepted: a kernel may
// have ended after it did what a human accepted, and before that was on record.
func needless(kind proposal.Kind, plan *proposal.Plan) error {
	switch {
	case slices.ContainsFunc(plan.Files, proposal.File.Changes):
		return nil
	case kind == proposal.Config:
		return tool.Errorf(op, tool.Invalid, "the app file says that already").WithHint("nothing is to be changed")
	case kind == proposal.Skill:
		return tool.Errorf(op, tool.Invalid, "there is such a skill already").WithHint("use_skill uses it")
	}
	return nil
}

// make checks what a call proposes.
func (p *Proposals) make(call tool.Call, kind proposal.Kind) (proposal.Proposal, error) {
	var made proposal.Proposal
	title, reason, err := proposal.Check(kind, call.Args, func(raw json.RawMessage) error {
		_, err := p.schemas.Get(raw)
		return err
	})
	if err != nil {
		return made, err
	}
	text := string(call.Args)
	if masked, _ := p.secrets.Output(text); masked != text || p.opt.Scrub(text) != text {
		return made, tool.Errorf(op, tool.Invalid, "the proposal holds what looks like a secret").
			WithHint("name a secret by reference, as {{secret.NAME}}; a human stores its value with callgate secrets set")
	}
	asker, conversation, err := p.opt.Asker(call)
	if err != nil {
		return made, err
	}
	return proposal.Proposal{
		ID: proposal.ID(call.ID), Kind: kind, Title: title, Reason: reason, Body: call.Args, Asker: asker,
		Conversation: conversation, Made: p.opt.Now().UTC(), State: proposal.Pending,
	}, nil
}

// room sees that there is room for one more, and forgets the oldest that were answered.
func (p *Proposals) room(ctx context.Context, all []stored, made proposal.Proposal) error {
	same, app := 0, 0
	for _, s := range all {
		if s.State != proposal.Pending || s.Kind == proposal.Change {
			continue
		}
		if s.Asker.Principal.Session == made.Asker.Principal.Session {
			same++
		}
		if s.Asker.AppFile == made.Asker.AppFile && s.Asker.Workspace == made.Asker.Workspace {
			app++
		}
	}
	if same >= maxOfConversation || app >= maxOfApp {
		return tool.Errorf(op, tool.Unavailable, "%d proposals of this conversation and %d of this app wait already",
			same, app).WithHint("wait until a human has answered some: callgate proposals list")
	}
	return p.forgetOldest(ctx, all)
}

// forgetOldest forgets the oldest that was answered, where too many are kept.
func (p *Proposals) forgetOldest(ctx context.Context, all []stored) error {
	for i := 0; i < len(all) && len(all) >= maxKept; i++ {
		if all[i].State == proposal.Pending {
			continue
		}
		if err := p.forget(ctx, all[i]); err != nil {
			return err
		}
		break
	}
	return nil
}

func proposed(p proposal.Proposal) control.Proposed {
	return control.Proposed{ID: p.ID, State: string(p.State), Title: p.Title}
}

// List returns proposals in a state, the oldest first; "" is any.
func (p *Proposals) List(ctx context.Context, state proposal.State) ([]proposal.Proposal, error) {
	all, err := p.list(ctx)
	found := []proposal.Proposal{}
	for _, s := range all {
		if state == "" || s.State == state {
			found = append(found, s.Proposal)
		}
	}
	return found, err
}

// Shown is a proposal as a human decides on it.
type Shown struct {
	proposal.Proposal
	Text    string   // everything
	Digest  string   // what a yes names; "": it cannot be accepted
	Problem string   // why not
	Hunks   []string // of a change of a file, those that can be answered one by one
}

// Show returns a proposal with what accepting it would do.
func (p *Proposals) Show(ctx context.Context, id string) (Shown, error) {
	s, err := p.get(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	out := Shown{Proposal: s.Proposal}
	if s.Kind == proposal.Change && s.State == proposal.Pending {
		return p.showChange(ctx, out)
	}
	if s.State != proposal.Pending {
		out.Problem = "it was " + string(s.State) + " already"
		return out, nil
	}
	plan, err := p.plan(ctx, s.Proposal, true)
	if err != nil {
		out.Problem = err.Error()
		return out, nil
	}
	out.Text, out.Digest = plan.Text(), plan.Digest(s.ID)
	return out, nil
}

func (p *Proposals) record(text string) error {
	const most = 1000
	text = tool.TruncateTo(p.opt.Scrub(strings.ToValidUTF8(text, "�")), most)
	return p.opt.Journal.Append(journal.Record{Kind: journal.Noted, Note: text})
}

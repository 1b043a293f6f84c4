package proposals

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"callgate/internal/gate/approval"
	"callgate/internal/proposal"
	"callgate/internal/task"
	"callgate/tool"
)

// Accept does what a proposal says, on the word of a person who was shown it. digest is
// that of what was shown. With hunks, only those of a change of a file.
func (p *Proposals) Accept(
	ctx context.Context, who approval.Credential, id, digest, feedback string, hunks ...string,
) (proposal.Proposal, error) {
	const op = "proposals.Accept"
	if err := namesHunks(op, hunks); err != nil {
		return proposal.Proposal{}, err
	}
	if s, err := p.get(ctx, id); err == nil && s.Kind == proposal.Change {
		return p.acceptChange(ctx, who, id, yes{digest, feedback, hunks})
	} else if len(hunks) > 0 {
		return s.Proposal, noHunks(op)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := p.pending(ctx, op, id)
	if err != nil {
		return s.Proposal, err
	}
	if err := p.opt.Authority.HasPersonAuthority(who, p.opt.Askers(who, requester(s.Asker))); err != nil {
		return s.Proposal, err
	}
	plan, err := p.plan(ctx, s.Proposal, false)
	if err != nil {
		return s.Proposal, err
	}
	if digest == "" || digest != plan.Digest(s.ID) {
		return s.Proposal, tool.Errorf(op, tool.Conflict, "accepting %s would do something else now than was shown", s.ID).
			WithHint("look at it again: callgate proposals show %s", s.ID)
	}
	by := cmp.Or(who.By, p.opt.User, "a human")
	done, err := p.apply(ctx, s.Proposal, plan, by)
	if err != nil {
		return s.Proposal, err
	}
	return p.answered(ctx, s, proposal.Accepted, proposal.Answer{By: by, Feedback: feedback, Done: done})
}

// namesHunks refuses a list of hunks without any: who gives one does not mean all.
func namesHunks(op string, hunks []string) error {
	if hunks != nil && len(hunks) == 0 {
		return tool.Errorf(op, tool.Invalid, "hunks are asked for, and none is named").
			WithHint("name at least one, or leave hunks out to answer the proposal as a whole")
	}
	return nil
}

// noHunks refuses hunks of what has none.
func noHunks(op string) error {
	return tool.Errorf(op, tool.Invalid, "only a change of a file has hunks").WithHint("answer the proposal as a whole")
}

// Refuse ends a proposal on a human's word. Nothing happens. With hunks, only those of a
// change of a file are refused.
func (p *Proposals) Refuse(
	ctx context.Context, who approval.Credential, id, feedback string, hunks ...string,
) (proposal.Proposal, error) {
	const op = "proposals.Refuse"
	if err := namesHunks(op, hunks); err != nil {
		return proposal.Proposal{}, err
	}
	if s, err := p.get(ctx, id); err == nil && s.Kind == proposal.Change {
		return p.refuseChange(ctx, who, id, feedback, hunks)
	} else if len(hunks) > 0 {
		return s.Proposal, noHunks(op)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := p.pending(ctx, op, id)
	if err != nil {
		return s.Proposal, err
	}
	if err := p.opt.Authority.HasHumanAuthority(who); err != nil {
		return s.Proposal, err
	}
	by := cmp.Or(who.By, p.opt.User, "a human")
	return p.answered(ctx, s, proposal.Refused, proposal.Answer{By: by, Feedback: feedback})
}

// pending returns a proposal that nobody has answered.
func (p *Proposals) pending(ctx context.Context, op, id string) (stored, error) {
	s, err := p.get(ctx, id)
	if err == nil && s.State != proposal.Pending {
		err = tool.Errorf(op, tool.Conflict, "%s was %s already, by %s", s.ID, s.State, s.Answer.By).
			WithHint("the first answer counts")
	}
	return s, err
}

const maxFeedback = 4000

// answered stores an answer, records it, and tells the conversation that asked.
func (p *Proposals) answered(ctx context.Context, s stored, state proposal.State, a proposal.Answer) (
	proposal.Proposal, error,
) {
	ctx = context.WithoutCancel(ctx) // what was done is on record, whoever has left
	a.At, a.Feedback = p.opt.Now().UTC(), tool.TruncateTo(p.opt.Scrub(a.Feedback), maxFeedback)
	s.State, s.Answer, s.Untold = state, &a, true
	version, err := p.put(ctx, s.Proposal, s.version)
	if err != nil {
		return s.Proposal, err
	}
	s.version = version
	return p.announce(ctx, s)
}

// announce puts an answer on record, tells the conversation that asked, and marks the
// proposal as told. A kernel that ends in between does it again at its next start: the
// record may then stand there twice, and the conversation is told once.
func (p *Proposals) announce(ctx context.Context, s stored) (proposal.Proposal, error) {
	note := fmt.Sprintf("%s %s the proposal %s: %s %s", s.Answer.By, s.State, s.ID, s.Kind, s.Title)
	if err := p.record(note); err != nil {
		return s.Proposal, err
	}
	if err := p.tell(ctx, s.Proposal); err != nil {
		return s.Proposal, err
	}
	s.Untold = false
	_, err := p.put(ctx, s.Proposal, s.version)
	return s.Proposal, err
}

// Start tells of the answers that an earlier process had stored and not told.
func (p *Proposals) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.settleChanges(ctx); err != nil {
		return err
	}
	all, err := p.list(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Untold && s.Answer != nil {
			if _, err := p.announce(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell tells the conversation that asked how its proposal ended.
func (p *Proposals) tell(ctx context.Context, s proposal.Proposal) error {
	if s.Conversation == "" {
		return nil
	}
	head := fmt.Sprintf("a human refused your proposal %s (%s): nothing was changed", s.ID, s.Kind)
	if s.Kind == proposal.Change {
		head = fmt.Sprintf("a human refused your change of %s: the file is as it was", s.Title)
	}
	if s.State == proposal.Accepted {
		head = fmt.Sprintf("a human accepted your proposal %s (%s); done: %s", s.ID, s.Kind,
			strings.Join(s.Answer.Done, "; "))
	}
	return p.opt.Tell(ctx, task.Task{
		ID: s.ID + "-answered", Label: "proposal " + s.ID, Parent: s.Conversation, Asker: s.Asker,
		Outcome: &task.Outcome{State: task.Done, Head: head, Summary: s.Answer.Feedback},
	})
}

// requester is the process that asked, as authority is judged by.
func requester(a task.Asker) approval.Requester {
	return approval.Requester{
		PID: a.PID, Human: a.Human, Started: a.Started, Root: a.Root, Sessions: a.Sessions, Token: a.Token,
	}
}

// apply writes the files of a plan and has the app loaded again. It returns what was done.
func (p *Proposals) apply(
	ctx context.Context, s proposal.Proposal, plan *proposal.Plan, by string,
) (done []string, err error) {
	// The app file is the last: what it names is there by then.
	for i := range plan.Files {
		f := plan.Files[(i+1)%len(plan.Files)]
		if !f.Changes() {
			continue
		}
		if err := writeBelow(f); err != nil {
			return nil, tool.Errorf("proposals.Accept", tool.Failed, "%s could not be written: %w", f.Shown, err).
				WithHint("the proposal still waits; mend that, and accept it again")
		}
		done = append(done, "wrote "+filepath.ToSlash(f.Name))
	}
	loaded, err := p.opt.Apps.Load(ctx, s.Asker.Workspace, s.Asker.AppFile)
	if err != nil {
		return append(done, "the app file cannot be loaded now: "+err.Error()), nil
	}
	if plan.Consent != "" {
		if err := p.opt.Consents.Accept(loaded.App, plan.Consent, by); err != nil {
			return append(done, "what the app file asks for is not accepted yet: callgate app trust"), nil
		}
		done = append(done, "accepted what the app file asks for")
	}
	return done, nil
}

package proposals

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/gate/approval"
	"callgate/internal/linediff"
	"callgate/internal/proposal"
	"callgate/internal/task"
	"callgate/tool"
)

// yes is what a person accepts.
type yes struct {
	digest, feedback string
	hunks            []string // none: all
}

// showChange shows a change of a file.
func (p *Proposals) showChange(ctx context.Context, out Shown) (Shown, error) {
	_, plan, err := p.changePlan(ctx, stored{Proposal: out.Proposal})
	if plan != nil {
		out.Text = plan.Text()
	}
	if err != nil {
		out.Problem = err.Error()
		return out, nil
	}
	out.Digest = plan.Digest(out.ID)
	for _, h := range plan.Hunks {
		out.Hunks = append(out.Hunks, h.ID)
	}
	return out, nil
}

// changePlan is what accepting a change would do. With a plan and an error the change can be
// shown, and not be accepted.
func (p *Proposals) changePlan(ctx context.Context, s stored) (f changedFile, plan *proposal.Plan, err error) {
	var body proposal.ChangeBody
	if err := proposal.Decode(s.Body, &body); err != nil {
		return f, nil, err
	}
	if f, err = p.Changes().get(ctx, body.Key); err != nil {
		return f, nil, err
	}
	if f.Proposal != s.ID {
		return f, nil, tool.Errorf(opChange, tool.Conflict, "the change of %s is no longer there", body.Path)
	}
	file := proposal.File{
		Base: f.Workspace, Name: f.Path, Shown: f.Path, Before: f.Before, After: f.After, Mode: 0o644,
	}
	plan = &proposal.Plan{Files: []proposal.File{file}, Hunks: []linediff.Hunk{}}
	if f.Before != nil && f.After != nil {
		plan.Hunks = append(plan.Hunks, linediff.Hunks(string(f.Before), string(f.After))...)
	}
	if f.Virtual {
		plan.Notes = append(plan.Notes, "the file is kept by the kernel, and is not written to the disk")
	}
	if rules := p.rulesIn(ctx, f); rules {
		plan.Notes = append(plan.Notes, "the file holds rules of agents: read it as you would read an app file")
	}
	switch {
	case f.Writing != nil:
		err = tool.Errorf(opChange, tool.Conflict, "%s is being written, as %s accepted it", f.Path, f.Writing.By)
	case !f.Virtual:
		var is bool
		if is, err = onDisk(f, f.Before); err == nil && !is {
			err = tool.Errorf(opChange, tool.Conflict,
				"%s was changed on the disk since the agent read it, so that its change would lose that", f.Path).
				WithHint("refuse it, and have the agent read the file again")
		}
	}
	return f, plan, err
}

// acceptChange writes a change of a file, or some hunks of it.
func (p *Proposals) acceptChange(ctx context.Context, who approval.Credential, id string, y yes) (
	proposal.Proposal, error,
) {
	f, s, err := p.beginWriting(ctx, who, id, y)
	if err != nil {
		return s.Proposal, err
	}
	if !f.Virtual {
		err = p.callApply(ctx, f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endWriting(context.WithoutCancel(ctx), f.key(), err) // what was done is on record, whoever has left
}

// beginWriting notes what a person accepted, before anything is written.
func (p *Proposals) beginWriting(ctx context.Context, who approval.Credential, id string, y yes) (
	f changedFile, s stored, err error,
) {
	const op = "proposals.Accept"
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, err = p.pending(ctx, op, id); err != nil {
		return f, s, err
	}
	var body proposal.ChangeBody
	if err := proposal.Decode(s.Body, &body); err != nil {
		return f, s, err
	}
	for _, asker := range append(body.Askers, s.Asker) {
		if err := p.opt.Authority.HasPersonAuthority(who, p.opt.Askers(who, requester(asker))); err != nil {
			return f, s, err
		}
	}
	f, plan, err := p.changePlan(ctx, s)
	if err != nil {
		return f, s, err
	}
	if y.digest == "" || y.digest != plan.Digest(s.ID) {
		return f, s, tool.Errorf(op, tool.Conflict, "accepting %s would do something else now than was shown", s.ID).
			WithHint("look at it again: callgate proposals show %s", s.ID)
	}
	content, _, err := proposal.Split(f.Before, f.After, y.hunks)
	if err != nil {
		return f, s, err
	}
	f.Writing = &writing{
		Run: p.run, Content: content, By: cmp.Or(who.By, p.opt.User, "a human"), Hunks: y.hunks,
		Feedback: tool.TruncateTo(p.opt.Scrub(y.feedback), maxFeedback),
	}
	return f, s, p.Changes().write(ctx, &f)
}

// endWriting looks at what became of a write, and stores that. A file that has its content
// was written, whatever was said of it.
func (p *Proposals) endWriting(ctx context.Context, key string, failed error) (made proposal.Proposal, err error) {
	c := p.Changes()
	f, err := c.get(ctx, key)
	if err != nil || f.Writing == nil {
		return made, cmp.Or[error](err, failed, tool.Errorf(opChange, tool.Conflict, "the change is no longer there"))
	}
	s, body, err := c.proposalOf(ctx, f)
	if err != nil {
		return made, err
	}
	w := f.Writing
	f.Writing = nil
	if !f.Virtual {
		written, err := onDisk(f, w.Content)
		if err != nil || !written {
			failed = cmp.Or[error](failed, err, tool.Errorf(opChange, tool.Failed, "%s was not written", f.Path))
			if err := c.write(ctx, &f); err != nil {
				return s.Proposal, err
			}
			return s.Proposal, failed
		}
	}
	f.Before, body.Written = w.Content, true
	done := "accepted: " + shownHunks(w.Hunks) + f.Path
	if proposal.Same(f.Before, f.After) {
		f.Proposal = ""
		return p.endChange(ctx, s, body, f, proposal.Answer{By: w.By, Feedback: w.Feedback, Done: []string{done}})
	}
	return p.partOfChange(ctx, s, body, f, proposal.Answer{By: w.By, Feedback: w.Feedback, Done: []string{done}})
}

func shownHunks(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return amount.Of(len(ids), "hunk") + " (" + strings.Join(ids, ", ") + ") of "
}

// refuseChange drops a change of a file, or some hunks of it. The disk is not touched.
func (p *Proposals) refuseChange(
	ctx context.Context, who approval.Credential, id, feedback string, hunks []string,
) (proposal.Proposal, error) {
	const op = "proposals.Refuse"
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := p.pending(ctx, op, id)
	if err != nil {
		return s.Proposal, err
	}
	if err := p.opt.Authority.HasHumanAuthority(who); err != nil {
		return s.Proposal, err
	}
	var body proposal.ChangeBody
	if err := proposal.Decode(s.Body, &body); err != nil {
		return s.Proposal, err
	}
	f, err := p.Changes().get(ctx, body.Key)
	if err != nil {
		return s.Proposal, err
	}
	if f.Writing != nil {
		return s.Proposal, tool.Errorf(op, tool.Conflict, "%s is being written, as %s accepted it", f.Path, f.Writing.By).
			WithHint("the first answer counts; callgate undo takes it back")
	}
	if f.Proposal == s.ID {
		if _, f.After, err = proposal.Split(f.Before, f.After, hunks); err != nil {
			return s.Proposal, err
		}
	}
	answer := proposal.Answer{
		By:       cmp.Or(who.By, p.opt.User, "a human"),
		Feedback: tool.TruncateTo(p.opt.Scrub(feedback), maxFeedback), Done: []string{"refused: " + shownHunks(hunks) + f.Path},
	}
	if proposal.Same(f.Before, f.After) {
		f.Proposal = ""
		return p.endChange(ctx, s, body, f, answer)
	}
	return p.partOfChange(ctx, s, body, f, answer)
}

// endChange stores that nothing of a change waits any more, and tells of it.
func (p *Proposals) endChange(
	ctx context.Context, s stored, body proposal.ChangeBody, f changedFile, a proposal.Answer,
) (proposal.Proposal, error) {
	a.At = p.opt.Now().UTC()
	s.State, s.Untold = endState(body, proposal.Refused), true
	if a.Done = append(body.Parts, a.Done...); s.State == proposal.Refused {
		a.Done = nil
	}
	s.Answer = &a
	change, err := s.withBody(body)
	if err == nil {
		err = p.Changes().write(ctx, &f, change)
	}
	if err != nil {
		return s.Proposal, err
	}
	now, err := p.get(ctx, s.ID)
	if err != nil {
		return s.Proposal, err
	}
	return p.announce(ctx, now)
}

// partOfChange stores that a part of a change was answered, and tells of it.
func (p *Proposals) partOfChange(
	ctx context.Context, s stored, body proposal.ChangeBody, f changedFile, a proposal.Answer,
) (proposal.Proposal, error) {
	body.Parts = append(body.Parts, a.Done...)
	change, err := s.withBody(body)
	if err == nil {
		err = p.Changes().write(ctx, &f, change)
	}
	if err == nil {
		err = p.record(fmt.Sprintf("%s answered a part of the proposal %s: %s", a.By, s.ID, a.Done[0]))
	}
	if err != nil || s.Conversation == "" {
		return s.Proposal, err
	}
	return s.Proposal, p.opt.Tell(ctx, task.Task{
		ID: fmt.Sprintf("%s-part-%d", s.ID, len(body.Parts)), Label: "proposal " + s.ID, Parent: s.Conversation,
		Asker: s.Asker,
		Outcome: &task.Outcome{
			State: task.Done, Summary: a.Feedback,
			Head: "a human answered a part of your change; " + a.Done[0] + "; the rest waits",
		},
	})
}

// settleChanges ends the writes of an earlier process.
func (p *Proposals) settleChanges(ctx context.Context) error {
	all, err := p.Changes().list(ctx, "")
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Writing == nil || f.Writing.Run == p.run {
			continue
		}
		killed := tool.Errorf(opChange, tool.Unavailable, "the kernel ended meanwhile")
		if _, err := p.endWriting(ctx, f.key(), killed); err != nil && err != killed {
			return err
		}
	}
	return nil
}

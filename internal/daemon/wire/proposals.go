package wire

import (
	"callgate/internal/kernel/proposals"
	"callgate/internal/proposal"
	"callgate/internal/protocol"
)

// Proposal converts a proposal.
func Proposal(p proposal.Proposal) protocol.Proposal {
	out := protocol.Proposal{
		ID: p.ID, Kind: string(p.Kind), Title: p.Title, Reason: p.Reason, Agent: p.Asker.Principal.Agent,
		Workspace: p.Asker.Workspace, AppFile: p.Asker.AppFile, Conversation: p.Conversation, Made: p.Made,
		State: protocol.ProposalState(p.State),
	}
	if a := p.Answer; a != nil {
		out.By, out.At, out.Feedback, out.Done = a.By, a.At, a.Feedback, a.Done
	}
	return out
}

// ShownProposal converts a proposal with what accepting it would do.
func ShownProposal(s proposals.Shown) protocol.Proposal {
	out := Proposal(s.Proposal)
	out.Shown, out.Digest, out.Problem, out.Hunks = s.Text, s.Digest, s.Problem, s.Hunks
	return out
}

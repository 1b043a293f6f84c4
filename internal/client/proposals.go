package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Proposals is what a kernel does with what agents propose. Make it with NewProposals.
type Proposals struct{ client *Client }

// NewProposals makes the proposals of a kernel.
func NewProposals(c *Client) Proposals { return Proposals{c} }

// List lists proposals in a state, the oldest first; "" is any.
func (p Proposals) List(ctx context.Context, state protocol.ProposalState) ([]protocol.Proposal, error) {
	query := url.Values{}
	if state != "" {
		query.Set("state", string(state))
	}
	var list []protocol.Proposal
	err := p.client.get(ctx, "/v1/proposals", query, &list)
	return list, err
}

// Get returns one proposal, with what accepting it would do.
func (p Proposals) Get(ctx context.Context, id string) (protocol.Proposal, error) {
	var found protocol.Proposal
	err := p.client.get(ctx, "/v1/proposals/"+url.PathEscape(id), nil, &found)
	return found, err
}

// Accept accepts a proposal as it was shown.
func (p Proposals) Accept(ctx context.Context, id string, a protocol.AcceptProposal) (protocol.Proposal, error) {
	var done protocol.Proposal
	err := p.client.do(ctx, http.MethodPost, "/v1/proposals/"+url.PathEscape(id)+"/accept", nil, a, &done)
	return done, err
}

// Refuse refuses a proposal.
func (p Proposals) Refuse(ctx context.Context, id string, r protocol.RefuseProposal) (protocol.Proposal, error) {
	var done protocol.Proposal
	err := p.client.do(ctx, http.MethodPost, "/v1/proposals/"+url.PathEscape(id)+"/refuse", nil, r, &done)
	return done, err
}

// Challenge asks what a person must type before their yes counts; "": nothing.
func (p Proposals) Challenge(ctx context.Context) (string, error) {
	ch, err := p.client.ChallengeConsent(ctx)
	return ch.Code, err
}

package protocol

import "time"

// The routes of proposals.
const (
	RouteProposals      = "GET /v1/proposals"
	RouteProposal       = "GET /v1/proposals/{id}"
	RouteAcceptProposal = "POST /v1/proposals/{id}/accept"
	RouteRefuseProposal = "POST /v1/proposals/{id}/refuse"
)

// ProposalState is how a proposal stands.
type ProposalState string

// The states.
const (
	ProposalPending  ProposalState = "pending"
	ProposalAccepted ProposalState = "accepted"
	ProposalRefused  ProposalState = "refused"
)

// Proposal is what an agent would have changed.
type Proposal struct {
	ID           string        `json:"id"`
	Kind         string        `json:"kind"` // tool, skill, config_change or file_change
	Title        string        `json:"title"`
	Reason       string        `json:"reason"`
	Agent        string        `json:"agent,omitempty"`
	Workspace    string        `json:"workspace"`
	AppFile      string        `json:"app_file,omitempty"`
	Node         string        `json:"node,omitempty"`         // that has it, where several share a database
	Conversation string        `json:"conversation,omitempty"` // that is told how it ends
	Made         time.Time     `json:"made"`
	State        ProposalState `json:"state"`
	By           string        `json:"by,omitempty"` // who answered
	At           time.Time     `json:"at,omitzero"`
	Feedback     string        `json:"feedback,omitempty"`
	Done         []string      `json:"done,omitempty"` // what accepting it did
	// Of one proposal alone: what accepting it would do, with nothing hidden; what a yes
	// to that names; and why it cannot be accepted.
	Shown   string `json:"shown,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Hunks are those of a change of a file, in the order of the text that is shown.
	Hunks []string `json:"hunks,omitempty"`
}

// AcceptProposal accepts a proposal as it was shown.
type AcceptProposal struct {
	Digest   string   `json:"digest"`
	By       string   `json:"by,omitempty"`
	Feedback string   `json:"feedback,omitempty"`
	Code     string   `json:"code,omitempty"` // that a person typed; see Challenge
	Hunks    []string `json:"hunks,omitzero"` // of a change of a file, only these; none given: all
}

// RefuseProposal refuses a proposal.
type RefuseProposal struct {
	By       string   `json:"by,omitempty"`
	Feedback string   `json:"feedback,omitempty"`
	Hunks    []string `json:"hunks,omitzero"` // of a change of a file, only these; none given: all
}

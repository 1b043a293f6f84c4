package proposals

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"callgate/internal/document"
	"callgate/internal/proposal"
	"callgate/tool"
)

const collection = "proposals"

// stored is a proposal, and its version in the store.
type stored struct {
	proposal.Proposal
	version int64
}

// list returns all proposals, the oldest first.
func (p *Proposals) list(ctx context.Context) ([]stored, error) {
	var all []stored
	after := ""
	for {
		page, err := p.opt.Documents.List(ctx, collection, "", after, document.MaxList)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			s, err := decode(d)
			if err != nil {
				return nil, err
			}
			all, after = append(all, s), d.Key
		}
		if len(page) < document.MaxList {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b stored) int {
		return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

func (p *Proposals) get(ctx context.Context, id string) (stored, error) {
	if id == "" || len(id) > document.MaxName {
		return stored{}, notFound(id)
	}
	d, err := p.opt.Documents.Get(ctx, collection, id)
	if tool.KindOf(err) == tool.NotFound {
		return stored{}, notFound(id)
	}
	if err != nil {
		return stored{}, err
	}
	return decode(d)
}

func notFound(id string) error {
	return tool.Errorf("proposals.Get", tool.NotFound, "there is no proposal %q", tool.Truncate(id)).
		WithHint("callgate proposals list --all shows them")
}

func decode(d document.Document) (stored, error) {
	s := stored{version: d.Version}
	if err := json.Unmarshal(d.Data, &s.Proposal); err != nil {
		return s, &tool.Error{Op: "proposals.Get", Kind: tool.Internal, Message: "the proposal " + d.Key + " cannot be read",
			Err: err}
	}
	return s, nil
}

// put stores a proposal in the place of a version of it (0: there is none), and returns its
// version now.
func (p *Proposals) put(ctx context.Context, made proposal.Proposal, version int64) (int64, error) {
	change, err := proposalChange(made, version)
	if err != nil {
		return 0, err
	}
	return p.opt.Documents.Write(ctx, change)
}

func proposalChange(made proposal.Proposal, version int64) (document.Change, error) {
	data, err := json.Marshal(made)
	if err != nil {
		const what = "the proposal cannot be written"
		return document.Change{}, &tool.Error{Op: op, Kind: tool.Internal, Message: what, Err: err}
	}
	return document.Change{Collection: collection, Key: made.ID, If: version, Data: data}, nil
}

// withBody is the change that stores a proposal with the body of a change.
func (s *stored) withBody(body proposal.ChangeBody) (c document.Change, err error) {
	if s.Body, err = json.Marshal(body); err != nil {
		return c, err
	}
	return proposalChange(s.Proposal, s.version)
}

// forget removes a proposal that was answered.
func (p *Proposals) forget(ctx context.Context, s stored) error {
	_, err := p.opt.Documents.Write(ctx, document.Change{Collection: collection, Key: s.ID, If: s.version})
	return err
}

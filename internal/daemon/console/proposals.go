package console

import (
	"net/http"
	"net/url"

	"callgate/internal/client"
	"callgate/internal/linediff"
	"callgate/internal/protocol"
	"callgate/tool"
)

// proposalPages answers what agents propose.
type proposalPages struct{ *Console }

func (c *proposalPages) routes() map[string]serve {
	return map[string]serve{"GET /proposals/{id}": c.proposal, "POST /proposals/{id}": c.answerProposal}
}

// proposalData is what the page of a proposal shows.
type proposalData struct {
	protocol.Proposal
	Pending bool
	Lines   []linediff.Line
}

func (c *proposalPages) proposal(w http.ResponseWriter, r *http.Request) error {
	found, err := client.NewProposals(c.Client(r)).Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	d := proposalData{found, found.State == protocol.ProposalPending, diffLines(found.Shown)}
	return c.show(w, r, "proposal", page{Title: found.Title, Nav: "approvals", Data: d})
}

// diffLines reads a text that may be a difference: lines that begin with + and - are those.
func diffLines(text string) (lines []linediff.Line) {
	if text == "" {
		return nil
	}
	for _, line := range splitLines(text) {
		switch {
		case line != "" && (line[0] == '+' || line[0] == '-'):
			lines = append(lines, linediff.Line{Sign: line[0], Text: line[1:]})
		case len(line) > 1 && line[:2] == "@@":
			lines = append(lines, linediff.Line{Sign: '@', Text: line})
		case line != "" && line[0] == ' ':
			lines = append(lines, linediff.Line{Sign: ' ', Text: line[1:]})
		default:
			lines = append(lines, linediff.Line{Sign: '@', Text: line})
		}
	}
	return lines
}

func (c *proposalPages) answerProposal(w http.ResponseWriter, r *http.Request) (err error) {
	all, id, by := client.NewProposals(c.Client(r)), r.PathValue("id"), c.Person(r).Name
	_ = r.ParseForm() // FormValue says so too
	hunks := r.Form["hunk"]
	switch r.FormValue("action") {
	case "accept":
		_, err = all.Accept(r.Context(), id, protocol.AcceptProposal{
			Digest: r.FormValue("digest"), By: by, Feedback: r.FormValue("reason"), Hunks: hunks,
		})
	case "refuse":
		_, err = all.Refuse(r.Context(), id, protocol.RefuseProposal{
			By: by, Feedback: r.FormValue("reason"), Hunks: hunks,
		})
	default:
		err = tool.Errorf("console.proposal", tool.Invalid, "the form does not say yes or no").
			WithHint("use one of its buttons")
	}
	if err != nil {
		return err
	}
	return back(w, r, "/proposals/"+url.PathEscape(id))
}

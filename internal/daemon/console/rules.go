package console

import (
	"net/http"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// rulePages shows what is in force in a folder, and what a human allowed for good.
type rulePages struct{ *Console }

func (c *rulePages) routes() map[string]serve {
	return map[string]serve{
		"GET /rules":          c.rules,
		"POST /grants/revoke": c.revoke,
		"POST /app/trust":     c.trust,
	}
}

// rulesData is what the page of rules shows.
type rulesData struct {
	Session   protocol.Session
	Consent   []string // the lines of what the app file asks for and nobody accepted
	Tools     []protocol.Tool
	Grants    []protocol.Grant
	Suggested []protocol.GrantSuggestion
	Proposals []protocol.Proposal
	Notes     []string
}

func (c *rulePages) rules(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r)
	if err != nil {
		return err
	}
	k, ctx := c.Client(r), r.Context()
	d := rulesData{Session: s.Session}
	if s.PendingConsent != "" {
		d.Consent = splitLines(s.PendingConsent)
	}
	note := func(err error) {
		if err != nil {
			d.Notes = append(d.Notes, asError(err).Error())
		}
	}
	d.Tools, err = s.Tools(ctx)
	note(err)
	d.Grants, err = k.Grants().List(ctx)
	note(err)
	d.Suggested, err = k.Grants().Suggest(ctx)
	note(err)
	d.Proposals, err = client.NewProposals(k).List(ctx, "")
	note(err)
	return c.show(w, r, "rules", page{Title: "Rules", Nav: "rules", Data: d})
}

func (c *rulePages) revoke(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	if len(r.PostForm["id"]) == 0 {
		return tool.Errorf("console.revoke", tool.Invalid, "no grant is named").WithHint("use the button of a grant")
	}
	word := protocol.RevokeGrants{IDs: r.PostForm["id"], By: c.Person(r).Name}
	if err := c.Client(r).Grants().Revoke(r.Context(), word); err != nil {
		return err
	}
	return back(w, r, "/rules")
}

// trust accepts what the app file asks for, as it was shown.
func (c *rulePages) trust(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r)
	if err != nil {
		return err
	}
	word := protocol.Trust{Launch: r.FormValue("shown"), By: c.Person(r).Name}
	if err := s.Trust(r.Context(), protocol.AppConsent, word); err != nil {
		return err
	}
	c.sessions.forget(c.Client(r), c.workspace(r))
	return back(w, r, "/rules"+workspaceQuery(r))
}

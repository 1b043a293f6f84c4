package permissions

import (
	"cmp"

	"callgate/internal/gate/approval"
)

// MayWiden returns an error unless who asks could say yes to what a session asks: only
// then may the session be given more, such as a mode of its app that has more tools.
func (p *Permissions) MayWiden(who approval.Credential, asker approval.Requester) error {
	if err := p.opt.Approvals.MayLoosen(who, asker); err != nil {
		return withFlag(err)
	}
	return nil
}

// RecordAppMode puts it on record that somebody changed the mode of the app in which a
// conversation works.
func (p *Permissions) RecordAppMode(who approval.Credential, session, mode string) error {
	by := cmp.Or(who.By, p.opt.User, "its owner")
	if who.Token != "" {
		by = "token " + who.Token
	}
	return p.record(by, session, "set the app's mode "+mode)
}

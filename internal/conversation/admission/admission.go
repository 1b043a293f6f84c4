// Package admission decides which conversation somebody gets who opens one: a new one, an
// earlier one, or none.
//
// # Law
//
//   - A conversation is one of the user's if it works for no other and is no core lane's.
//   - Where an app has one conversation (session_mode: mono), whoever begins one goes on
//     with the one that there is, of the same user, app, folder and agent.
//   - Where an app bounds them, no more of the user's conversations are open at once. One
//     that nobody has open costs nothing and counts nothing; one that its user opens again
//     counts once. Those of agents, triggers and pipelines are bounded elsewhere.
package admission

import (
	"cmp"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/app"
	"callgate/internal/conversation/history"
	"callgate/tool"
)

// Wanted is the conversation that somebody would begin.
type Wanted struct {
	Workspace, AppFile, User string
	Agent                    string // "": any
	Silent                   bool   // one counts too in which nothing was said
}

// Last returns the ID of the conversation that was last touched of those that are as
// wanted; "" for none. The list has the one last touched first.
func Last(list []history.Info, w Wanted) string {
	for _, info := range list {
		if info.Workspace == w.Workspace && info.AppFile == w.AppFile && isUsers(info) && info.User == w.User &&
			(info.Turns > 0 || w.Silent) && (w.Agent == "" || w.Agent == info.Agent) {
			return info.ID
		}
	}
	return ""
}

// isUsers reports whether a conversation is one of the user's.
func isUsers(info history.Info) bool { return info.Parent == "" && info.Lane != app.CoreLane }

// bound says why no conversation is opened: as many are open as may be.
func bound(most int, open []history.Info, one history.Info) error {
	if !isUsers(one) {
		return nil
	}
	var which []string
	for _, info := range open {
		if info.AppFile == one.AppFile && info.User == one.User && isUsers(info) {
			title := cmp.Or(strings.Join(strings.Fields(info.Title), " "), "nothing was said yet")
			which = append(which, info.ID+" ("+tool.TruncateTo(title, 40)+")")
		}
	}
	if len(which) < most {
		return nil
	}
	return tool.Errorf("conversation.Open", tool.Limited,
		"the app %s has %s open, and no more may be at once: %s", one.App, amount.Of(len(which), "conversation"),
		strings.Join(which, ", ")).
		WithHint("leave one of them, or go on with it: callgate chat --resume %s; the bound is "+
			"runtime.max_sessions_per_user", which[0][:strings.IndexByte(which[0], ' ')])
}

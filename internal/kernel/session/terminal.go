package session

import (
	"strconv"

	"callgate/internal/kernel/apps"
	"callgate/internal/search/learned"
)

// terminal names the terminal in which a command asks for a session of its own; empty: it
// is an agent's session, a conversation's or a client's, which lasts.
func (s Spec) terminal(l *apps.Loaded) string {
	lasts := s.Kept || s.Again || s.Client != nil || s.Agent != "" || s.Lane != "" || s.Requester.Token != ""
	if lasts || len(s.Requester.Sessions) == 0 {
		return ""
	}
	return learned.Asker(strconv.Itoa(s.Requester.Sessions[0]), l.Workspace, l.AppID())
}

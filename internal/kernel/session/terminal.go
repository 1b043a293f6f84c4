package session

import (
	"strconv"

	"callgate/internal/kernel/apps"
	"callgate/internal/search/learned"
)

// terminal names the terminal in which a command asks for a session of its own; empty: it
// is an agent's session, a conversation's or a client's, which lasts. Where the system
// does not tell terminals apart, as in a container whose terminal is outside of it, all
// commands are of one.
func (s Spec) terminal(l *apps.Loaded) string {
	lasts := s.Kept || s.Again || s.Client != nil || s.Agent != "" || s.Lane != "" || s.Requester.Token != ""
	if lasts || s.Requester.Root == 0 {
		return ""
	}
	number := 0
	if len(s.Requester.Sessions) > 0 {
		number = s.Requester.Sessions[0]
	}
	return learned.Asker(strconv.Itoa(number), l.Workspace, l.AppID())
}

package httpapi

import (
	"net/http"

	"callgate/internal/conversation"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/protocol"
)

// setAppMode has a conversation work in another mode of its app. One that gives more is
// for a human to choose.
func (a *conversationRoutes) setAppMode(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	var in protocol.SetAppMode
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Owner(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	before := c.AppMode().Name
	err = a.kernel.Conversations.SetAppMode(r.Context(), c, in.Mode, func() error {
		return a.kernel.Permissions.MayWiden(who, a.withPerson(r, c.Session().Caller().Requester()))
	})
	if err == nil && before != in.Mode {
		err = a.kernel.Permissions.RecordAppMode(who, c.ID(), in.Mode)
	}
	if err != nil {
		return err
	}
	return route.Answer(w, a.conversationDTO(c))
}

// appModes are the modes of a conversation's app; nil: it has none.
func appModes(c *conversation.Conversation) *protocol.AppModes {
	now := c.AppMode()
	if now.Name == "" {
		return nil
	}
	modes := &protocol.AppModes{Current: now.Name}
	for _, m := range c.Session().App().Runtime.Modes {
		modes.All = append(modes.All, protocol.AppMode{Name: m.Name, Description: m.Description})
	}
	return modes
}

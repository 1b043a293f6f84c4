package apps

import (
	"callgate/internal/app"
	"callgate/internal/app/channels"
	"callgate/internal/channel/desktop"
)

// channelProblems says which channels of an app this machine cannot have.
func channelProblems(a *app.App) (all []string) {
	for _, ch := range a.Runtime.Channels {
		if ch.Type != channels.Desktop {
			continue
		}
		if err := desktop.New().Check(); err != nil {
			all = append(all, "the channel "+ch.Name+" shows nothing: "+err.Error())
		}
	}
	return all
}

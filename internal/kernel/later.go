package kernel

import (
	"callgate/internal/gate/permission"
	"callgate/internal/kernel/schedules"
)

// openScheduler starts what has calls made later, and registers its tools.
func openScheduler(k *Kernel) error {
	s := schedules.New(schedules.Options{
		Runner: k.Tasks, Calls: k.Deferred, Session: k.Sessions.Get, Log: k.log,
		Channels:       k.Outside.Channels,
		IsConversation: func(id string) bool { _, err := k.Conversations.Get(id); return err == nil },
		Mode:           func(id string) permission.Mode { return k.Permissions.Table.Of(id).Mode },
	})
	return k.Register("scheduler", s.Tools()...)
}

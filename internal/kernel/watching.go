package kernel

import "callgate/internal/kernel/watchers"

// openWatchers makes the watchers, and registers their tools.
func openWatchers(k *Kernel) error {
	all := watchers.New(watchers.Options{
		Runner: k.Tasks, Calls: k.Deferred, Sessions: k.Sessions, Servers: k.Servers, Journal: k.Journal, Log: k.log,
		Conversation: func(id string) bool {
			_, err := k.Conversations.Get(id)
			return err == nil
		},
	})
	return k.Register("watchers", all.Tools()...)
}

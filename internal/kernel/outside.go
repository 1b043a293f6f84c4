package kernel

import (
	"callgate/internal/kernel/channels"
)

// Outside is how apps speak with the world.
type Outside struct {
	Channels *channels.Channels // where messages go
}

// openOutside makes the channels, and registers their tools.
func openOutside(k *Kernel, cfg Config) error {
	k.Outside.Channels = channels.New(channels.Options{
		Apps: k.Apps, Runner: k.Tasks, Secrets: k.vault, Locks: k.Locks, Open: k.Sessions.Get, Hidden: k.hidden(),
		Stdout: cfg.Stdout,
	})
	return k.Register(channels.Module, k.Outside.Channels.Tools()...)
}

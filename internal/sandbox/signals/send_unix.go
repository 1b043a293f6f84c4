//go:build unix

package signals

import (
	"golang.org/x/sys/unix"

	"callgate/tool"
)

// Send sends a signal to a group of processes, by the number of its leader.
func Send(group int, text string) error {
	name, err := Parse(text)
	if err != nil {
		return err
	}
	if err := unix.Kill(-group, unix.SignalNum(name)); err != nil {
		return tool.Errorf("signals.Send", tool.Conflict, "%s cannot be sent: %w", name, err).
			WithHint("the command may have ended")
	}
	return nil
}

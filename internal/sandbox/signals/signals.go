// Package signals sends signals by their names to the processes of a run.
package signals

import (
	"slices"
	"strings"

	"callgate/tool"
)

// names are the signals that may be sent.
func names() []string {
	return []string{
		"SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGSTOP", "SIGCONT", "SIGKILL",
	}
}

// Parse returns the name of a signal, from the ways in which people write it: SIGINT,
// int, ctrl+c.
func Parse(text string) (string, error) {
	name := strings.ToUpper(strings.TrimSpace(text))
	switch strings.NewReplacer("-", "+", " ", "+").Replace(name) {
	case "CTRL+C", "^C":
		name = "SIGINT"
	case "CTRL+\\", "^\\":
		name = "SIGQUIT"
	}
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if !slices.Contains(names(), name) {
		return "", tool.Errorf("signals.Parse", tool.Invalid, "there is no signal %q to send", tool.Truncate(text)).
			WithHint("the signals are %s", strings.Join(names(), ", "))
	}
	return name, nil
}

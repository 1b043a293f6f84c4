// Package desktop shows messages as notifications of the desktop, where there is one:
// with notify-send on Linux and the BSDs, with osascript on macOS.
//
// Law: a machine without the program says so before the first message. A message is
// passed as an argument, never as a part of a script or of markup.
package desktop

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"callgate/internal/channel"
	"callgate/internal/launch"
	"callgate/tool"
)

// Sender shows notifications.
type Sender struct {
	system string
	find   func(string) (string, error)
}

var _ channel.Sender = (*Sender)(nil)

// New makes a sender for this machine.
func New() *Sender { return &Sender{runtime.GOOS, exec.LookPath} }

const op = "desktop.Send"

// Check says why no notification can be shown on this machine.
func (s *Sender) Check() error {
	_, _, err := s.command("", "")
	return err
}

// maxShown bounds what a notification shows, in bytes.
const maxShown = 2000

// Send shows a message.
func (s *Sender) Send(ctx context.Context, m channel.Message) error {
	title := m.TitleOr(m.App)
	path, args, err := s.command(title, tool.TruncateTo(m.Text, maxShown))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := launch.Helper(ctx, path, args, "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR",
		"DBUS_SESSION_BUS_ADDRESS")
	cmd.WaitDelay = time.Second
	said, err := cmd.CombinedOutput()
	if err != nil {
		return tool.Errorf(op, tool.Failed, "no notification could be shown: %v %s", err,
			tool.Truncate(strings.Join(strings.Fields(string(said)), " "))).
			WithHint("the kernel must run in the session of a desktop")
	}
	return nil
}

// command is the program that shows a notification, with its arguments.
func (s *Sender) command(title, text string) (program string, args []string, err error) {
	name := "notify-send"
	switch s.system {
	case "darwin":
		name = "osascript"
		args = []string{
			"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)",
			"-e", "end run", "callgate: " + title, text, // no title is taken for an option
		}
	case "windows", "plan9", "js", "wasip1":
		return "", nil, tool.Errorf(op, tool.Failed, "there are no desktop notifications on %s", s.system).
			WithHint("use another channel")
	default:
		plain := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
		args = []string{"--app-name=callgate", "--", title, plain.Replace(text)}
	}
	if program, err = s.find(name); err != nil {
		return "", nil, tool.Errorf(op, tool.Failed, "this machine has no %s, which shows notifications", name).
			WithHint("install it (on Debian and Ubuntu: libnotify-bin), or use another channel")
	}
	return program, args, nil
}

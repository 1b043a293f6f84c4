package triggers

import (
	"os"
	"time"

	"callgate/internal/app/triggers"
	"callgate/internal/channel"
	"callgate/internal/channel/folder"
	"callgate/internal/channel/mailbox"
	"callgate/internal/channel/poll"
	"callgate/internal/channel/timer"
	"callgate/internal/kernel/apps"
	"callgate/internal/netguard"
	"callgate/tool"
)

// secret is the value of a secret; "" for none.
func (t *Triggers) secret(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	values, err := t.opt.Secrets.Values([]string{name})
	return values[name], err
}

// receiver makes what takes the events of a trigger in. done releases what it holds.
func (t *Triggers) receiver(s *source, l *apps.Loaded) (r channel.Receiver, done func(), err error) {
	state, none := memory{t, s.key}, func() {}
	guard, err := netguard.New(netguard.Rules{
		Private: s.Source.PrivateHosts, Setting: "runtime.triggers." + s.Name, Stay: true,
	})
	if err != nil {
		return nil, nil, err
	}
	switch s.Type {
	case triggers.Feed, triggers.Poll:
		o := poll.Options{
			Name: s.Source.URL, Page: s.Type == triggers.Poll, Interval: s.Source.Interval, MaxBody: s.MaxBody,
			First: s.Source.First, Guard: guard, State: state, Report: s.report, Headers: map[string]string{},
		}
		if o.URL, err = t.opt.Secrets.Expand(s.Source.URL); err != nil {
			return nil, nil, err
		}
		for name, value := range s.Source.Headers {
			if o.Headers[name], err = t.opt.Secrets.Expand(value); err != nil {
				return nil, nil, err
			}
		}
		return poll.New(o), none, nil
	case triggers.Mailbox:
		o := mailbox.Options{
			Host: s.Mailbox.Host, Port: s.Mailbox.Port, TLS: s.Mailbox.TLS, Folder: s.Mailbox.Box,
			Account:  s.Mailbox.Username,
			Interval: s.Source.Interval, MaxBody: s.MaxBody, Guard: guard, Report: s.report,
		}
		if o.Username, err = t.opt.Secrets.Expand(s.Mailbox.Username); err != nil {
			return nil, nil, err
		}
		o.Password, err = t.secret(s.Credential)
		return mailbox.New(o), none, err
	case triggers.Schedule:
		next := func(after time.Time) time.Time {
			at, _ := s.When.Plan.Next(after) // the zero time for none
			return at
		}
		return timer.New(timer.Options{Next: next, Text: s.When.Text, State: state, Report: s.report}), none, nil
	case triggers.Folder:
		root, err := os.OpenRoot(l.Workspace)
		if err != nil {
			return nil, nil, tool.Errorf("triggers", tool.Unavailable, "the workspace cannot be opened: %w", err)
		}
		return folder.New(folder.Options{
			Root: root, Dir: s.Folder.Dir, Pattern: s.Folder.Pattern, Interval: s.Source.Interval, MaxBody: s.MaxBody,
			First: s.Source.First, State: state, Report: s.report,
		}), func() { _ = root.Close() }, nil
	}
	return nil, nil, tool.Errorf("triggers", tool.Internal, "nothing takes in events of the type %q", s.Type)
}

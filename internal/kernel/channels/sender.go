package channels

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/channels"
	"callgate/internal/channel"
	"callgate/internal/channel/email"
	"callgate/internal/channel/file"
	"callgate/internal/channel/webhook"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/rulefiles"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/netguard"
	"callgate/internal/task"
	"callgate/internal/user"
	"callgate/tool"
)

const opSend = "channels.Send"

func needs(l *apps.Loaded, ch app.Channel) string { return consent.Channel(l.App, ch) }

// load reads the app of an owner as it is now. A file that cannot be read may be right
// again later.
func (c *Channels) load(ctx context.Context, owner task.Asker) (*apps.Loaded, error) {
	loaded, err := c.opt.Apps.Load(ctx, owner.Workspace, owner.AppFile)
	if err != nil {
		return nil, channel.Later(err, 0)
	}
	if loaded.Workspace != owner.Workspace {
		return nil, tool.Errorf(opSend, tool.Denied, "the folder %s leads to %s now", owner.Workspace, loaded.Workspace).
			WithHint("the message was asked for in a folder that is no longer there")
	}
	return loaded, loaded.Revoked()
}

// find returns the channel of a message that a human accepted and the rules do not deny.
// The name of the conversation itself has no settings.
func (c *Channels) find(l *apps.Loaded, m channel.Message) (app.Channel, error) {
	name := m.Channel
	if d := decide(l, m); d.Verdict == policy.Deny {
		return app.Channel{}, tool.Errorf(opSend, tool.Denied, "messages are denied: %s", d.Reason)
	}
	if channels.IsConversation(name) {
		return app.Channel{Name: channels.Conversation}, nil
	}
	var all []app.Channel
	if l.App != nil {
		all = l.App.Runtime.Channels
	}
	ch, ok := channels.Find(all, name)
	if !ok {
		names := Names(l)
		e := tool.Errorf(opSend, tool.NotFound, "there is no channel %q", tool.Truncate(name))
		e.Similar = names
		return ch, e.WithHint("the channels are %s", strings.Join(append(names, channels.Conversation), ", "))
	}
	return ch, l.Accepted.Check(opSend, needs(l, ch))
}

// decide says what the rules say of a message. Whoever had to be asked was, by now.
func decide(l *apps.Loaded, m channel.Message) policy.Decision {
	t, by := sendTool(nil), tool.Principal{Daemon: true}
	call := &match.Call{
		Module: t.ID.Namespace, Action: t.ID.Name, Workspace: l.Workspace, Args: map[string]any{"channel": m.Channel},
	}
	for param, text := range map[string]string{"message": m.Text, "title": m.Title} {
		if text != "" {
			call.Args[param] = text
		}
	}
	d := policy.DecideCall(l.Rules, t, by, call)
	if m.Text == "" { // it is not known yet: a rule may permit the message that comes
		return policy.Decide(l.Rules, t, by).OrStricter(d)
	}
	return d
}

// send makes one attempt.
func (c *Channels) send(ctx context.Context, owner task.Asker, m channel.Message) error {
	loaded, err := c.load(ctx, owner)
	if err != nil {
		return err
	}
	ch, err := c.find(loaded, m)
	if err != nil {
		return err
	}
	switch ch.Type {
	case channels.Stdout:
		return c.console.Send(ctx, m)
	case channels.Desktop:
		return c.desktop.Send(ctx, m)
	case channels.File:
		return c.write(ctx, loaded, ch, m)
	}
	sender, err := c.remote(ch, user.Name(owner.Principal.User))
	if err != nil {
		return err
	}
	return sender.Send(ctx, m)
}

// remote makes the sender of a channel that leads to another machine, for a user by their name.
func (c *Channels) remote(ch app.Channel, who string) (channel.Sender, error) {
	guard, err := netguard.New(netguard.Rules{Private: ch.PrivateHosts, Setting: "tools.channels." + ch.Name})
	if err != nil {
		return nil, err
	}
	secret, err := c.secret(who, ch.Credential)
	if err != nil {
		return nil, err
	}
	if ch.Type == channels.Email {
		username, err := c.opt.Secrets.Expand(ch.Username)
		if err != nil {
			return nil, err
		}
		return email.New(email.Options{
			Host: ch.Host, Port: ch.Port, TLS: ch.TLS, Username: username, Password: secret, From: ch.From, To: ch.To,
			Subject: cmp.Or(ch.Subject, "a message of callgate"), Timeout: ch.Timeout, Guard: guard,
		}), nil
	}
	url, err := c.opt.Secrets.Expand(ch.URL)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	for name, value := range ch.Headers {
		if headers[name], err = c.opt.Secrets.Expand(value); err != nil {
			return nil, err
		}
	}
	return webhook.New(webhook.Options{
		URL: url, Secret: secret, Headers: headers, Timeout: ch.Timeout, Guard: guard,
	}), nil
}

// secret is the value of a secret for a user; "" for none.
func (c *Channels) secret(who, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	values, err := c.opt.Secrets.ValuesFor(who, []string{name})
	return values[name], err
}

// lockWait is how long an attempt waits for the lock of a file.
const lockWait = time.Minute

// write appends a message to a file of the workspace, under its lock. Its path is judged
// before the file is opened, and again before it is written: a command in the sandbox may
// put links in its place, and the kernel is not in the sandbox.
func (c *Channels) write(ctx context.Context, l *apps.Loaded, ch app.Channel, m channel.Message) error {
	path, err := binding.Canonical(l.Workspace, filepath.FromSlash(ch.Path))
	if err != nil {
		return err
	}
	claims := []tool.Claim{{Resource: binding.FileResource(path), Mode: tool.X}}
	check := func() error { return c.writable(l, ch, path, claims) }
	if err := check(); err != nil {
		return err
	}
	lease, err := c.opt.Locks.Acquire(ctx, lock.Request{
		Holder: lock.Holder{Call: m.ID, Tool: Module + ".send_message"}, Claims: claims, Wait: lockWait,
	})
	if err != nil {
		return err
	}
	defer lease.Release()
	root, err := os.OpenRoot(l.Workspace)
	if err != nil {
		return tool.Errorf(opSend, tool.Unavailable, "the workspace cannot be opened: %w", err)
	}
	defer root.Close()
	rel, err := filepath.Rel(l.Workspace, path)
	if err != nil {
		return err
	}
	return file.New(file.Options{
		Root: root, Path: filepath.ToSlash(rel), Format: ch.Format, Check: check,
	}).Send(ctx, m)
}

// writable returns why a file is not written: it is the kernel's own, or holds rules.
func (c *Channels) writable(l *apps.Loaded, ch app.Channel, path string, claims []tool.Claim) error {
	for _, folder := range c.opt.Hidden {
		if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
			return tool.Errorf(opSend, tool.Denied, "the channel %s names a file of the kernel itself", ch.Name)
		}
	}
	rules := rulefiles.Set{Workspace: l.Workspace, Files: l.RuleFiles()}
	if changed := rules.Changed(claims); len(changed) > 0 {
		return tool.Errorf(opSend, tool.Denied, "the channel %s names %s, which holds rules of agents", ch.Name, ch.Path).
			WithHint("name another file in the app file")
	}
	return nil
}

// Problem says why a channel cannot be used on this machine, as far as that is known
// before the first message.
func (c *Channels) Problem(ch app.Channel) error {
	switch ch.Type {
	case channels.Stdout:
		return c.console.Check()
	case channels.Desktop:
		return c.desktop.Check()
	}
	return nil
}

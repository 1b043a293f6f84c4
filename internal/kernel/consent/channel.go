package consent

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"callgate/internal/app"
	"callgate/internal/app/channels"
	"callgate/internal/app/triggers"
	"callgate/internal/secret/scope"
)

// Channel says where an app's messages go, and with what; empty for a channel of the
// user's own file.
func Channel(a *app.App, c app.Channel) string {
	if c.FromUser {
		return ""
	}
	var text string
	switch c.Type {
	case channels.Webhook:
		text = "send messages to " + c.URL
		if c.Credential != "" {
			text += ", signed with the secret " + scope.InWords(c.Credential, true)
		}
		text += headersText(c.Headers)
	case channels.Email:
		text = "send mail to " + strings.Join(c.To, ", ") + " as " + c.From + " through " +
			server(c.Host, c.Port, cmp.Or(c.TLS, "starttls"))
		if c.Credential != "" {
			text += ", logged in as " + c.Username + " with the secret " + scope.InWords(c.Credential, true)
		}
	case channels.File:
		text = "append messages to the file " + c.Path + " of the workspace"
	case channels.Stdout:
		text = "write messages to the kernel's standard output"
	case channels.Desktop:
		text = "show messages on your desktop"
	}
	return shown(a, text+privateText(c.PrivateHosts)+", as the channel "+c.Name)
}

// server is a mail server as people write it.
func server(host string, port int, encryption string) string {
	if port > 0 {
		host = net.JoinHostPort(host, strconv.Itoa(port))
	}
	if encryption == "none" {
		return host + " (not encrypted)"
	}
	return host
}

func headersText(headers map[string]string) string {
	if len(headers) == 0 {
		return ""
	}
	all := map[string]any{}
	for name, value := range headers {
		all[name] = value
	}
	return ", with the headers " + inJSON(all)
}

func privateText(hosts []string) string {
	if len(hosts) == 0 {
		return ""
	}
	return ", also at the private addresses " + strings.Join(hosts, ", ")
}

// Trigger says what starts turns of an app, also when nobody is there, and where the
// answers go.
func Trigger(a *app.App, t app.Trigger) string {
	entry := a.Runtime.Entry
	if project := a.OfProject(); project != nil {
		entry = project.Runtime.Entry
	}
	text := "start turns of " + cmp.Or(t.Agent, entry, "its agent") + " by itself " + occasion(t)
	if t.Prompt != "" {
		text += ", with the words " + strconv.Quote(t.Prompt)
	}
	if t.ReplyTo != "" {
		text += ", and send the answers to the channel " + t.ReplyTo
	}
	return shown(a, text+", as the trigger "+t.Name)
}

// occasion is when a trigger starts a turn.
func occasion(t app.Trigger) string {
	switch t.Type {
	case triggers.Webhook:
		return "when somebody calls " + strings.Join(t.Webhook.Methods, " or ") + " http://" + t.Webhook.Listen +
			t.Webhook.Path + caller(t)
	case triggers.Feed, triggers.Poll:
		return fmt.Sprintf("when %s has news, which is asked every %v", t.Source.URL, t.Source.Interval) +
			headersText(t.Source.Headers) + privateText(t.Source.PrivateHosts)
	case triggers.Mailbox:
		return fmt.Sprintf("when there is a mail in the mailbox %s of %s at %s, read with the secret %s and marked as seen",
			cmp.Or(t.Mailbox.Box, "INBOX"), t.Mailbox.Username,
			server(t.Mailbox.Host, t.Mailbox.Port, cmp.Or(t.Mailbox.TLS, "implicit")), scope.InWords(t.Credential, false)) +
			privateText(t.Source.PrivateHosts)
	case triggers.Schedule:
		return "at the times " + t.When.Text + " " + cmp.Or(t.When.Zone, "UTC")
	case triggers.Folder:
		return "when a file is put into the folder " + t.Folder.Dir + " of the workspace"
	}
	return ""
}

// caller says who may call a webhook.
func caller(t app.Trigger) string {
	name := scope.InWords(t.Credential, false)
	text := map[string]string{
		triggers.AuthToken:  " with the token in the secret " + name,
		triggers.AuthHMAC:   " signed with the secret " + name,
		triggers.AuthGitHub: " signed with the secret " + name,
		triggers.AuthNone:   ", whoever it is",
	}[t.Webhook.Auth]
	host, _, _ := net.SplitHostPort(t.Webhook.Listen)
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		text += ", from other machines too"
	}
	return text
}

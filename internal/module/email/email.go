// Package email is the module for mail: it writes drafts and sends, reads a mailbox, says
// what is new, and saves what is attached.
//
// # Who is written to
//
// A message is a draft unless a call says that it is to be sent, and either waits for a
// human where the app's rules want that, who is shown the message as it is read. The app
// file may bound who is written to, and may keep everything a draft. A message reaches all
// whom it names or nobody, and what a model writes ends up in the fields it is meant for:
// no text adds a field, a receiver or a part.
//
// # What is read
//
// Anybody may send a mail. Its texts are data, between marks, for the model; what is
// invisible is left out; nothing of it is fetched, opened or run. Reading leaves a mail as
// it was, unread.
//
// # Packages
//
// Package mailserver reaches the servers of the account; callgate/internal/mimemail reads
// mails.
package email

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/email/mailserver"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "email"

// Module returns the module for the kernel to open.
func Module() module.Module { return moduleWith(options{}) }

// options replace parts of the outside world for tests.
type options struct {
	roots    *x509.CertPool
	resolver netguard.Resolver
}

func moduleWith(o options) module.Module {
	defaults := func() *settings { return defaultSettings(o) }
	return module.Module{
		Name:          Namespace,
		Summary:       "Mail: read and search a mailbox, see what is new, write drafts, send, attachments in and out.",
		Settings:      func() any { return defaults() },
		Credential:    true,
		NeedsSettings: true,
		Open: func(module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: tools(defaults)}, nil
		},
	}
}

// tools makes the tools of the module. A new tool is a file, its description beside it,
// and a line here.
func tools(defaults func() *settings) []*tool.Tool {
	definitions := []module.Definition{
		sendTool(defaults), receiveTool(defaults), checkTool(defaults), foldersTool(defaults), saveTool(defaults),
	}
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		d.Tags = append([]string{
			"email", "mail", "e-mail", "courriel", "correo", "posta", "邮件", "メール", "письмо", "message",
		}, d.Tags...)
		d.Runtime.Network = true
		d.Runtime.Timeout = (maxSeconds + 30) * time.Second // the module's own limit ends a call first
		all[i] = d.Tool(Namespace)
	}
	return all
}

// maxSeconds is the longest time that an app file may give a call.
const maxSeconds = 600

// Claims of calls: on the account, in an intention mode, so that calls of one answer keep
// their order and nobody else waits.
var (
	onAccount = tool.Effect{Resource: "module:" + Namespace, Mode: tool.IX}
	inAccount = tool.Effect{Resource: "module:" + Namespace, Mode: tool.IS}
)

// call is one call of a tool.
type call struct {
	op       string
	id       string
	grant    tool.Grant
	settings *settings
}

// handler returns the handler of a tool. It decodes the arguments, which the kernel has
// already checked against the schema, bounds the time, and names the tool in every error.
func handler[In any](
	defaults func() *settings, name string, run func(context.Context, *call, In) (*tool.Result, error),
) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, asked tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, asked)
		if err != nil {
			return nil, err
		}
		c := &call{op: op, id: asked.ID, grant: grant, settings: module.SettingsOf(grant, defaults)}
		ctx, cancel := context.WithTimeout(ctx, time.Duration(float64(c.settings.Timeout)*float64(time.Second)))
		defer cancel()
		result, err := run(ctx, c, in)
		var e *tool.Error
		if errors.As(err, &e) {
			e.Op = op
		}
		return result, err
	})
}

// account is the account of the app file, with its secret.
func (c *call) account() *mailserver.Account {
	s := c.settings
	return &mailserver.Account{
		IMAP: s.imap, SMTP: s.smtp, Username: s.username, Secret: c.grant.Credential, OAuth: s.Auth == "oauth",
		Guard: s.guard, Roots: s.options.roots,
	}
}

// open opens the mailbox; at most so many bytes are read of it.
func (c *call) open(ctx context.Context, most int64) (*mailserver.Mailbox, error) {
	if c.settings.imap.Host == "" {
		return nil, tool.Errorf(c.op, tool.Unavailable, "the app file names no mailbox").
			WithHint("it says where: %s.config.imap and address, and credential for the password", settingsKey)
	}
	if c.grant.Credential == "" {
		return nil, tool.Errorf(c.op, tool.Unavailable, "the app file gives no secret for the mailbox").
			WithHint("it names one: %s.credential; callgate secrets set keeps its value", settingsKey)
	}
	return c.account().Open(ctx, most+overhead)
}

// overhead is what a server may say around mails.
const overhead = 4 << 20

const settingsKey = "tools.modules." + Namespace

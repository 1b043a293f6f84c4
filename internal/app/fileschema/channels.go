package fileschema

import (
	"callgate/internal/app/channels"
	"callgate/internal/app/triggers"
)

// aName is the form of the names of channels and triggers.
const aName = "^[a-z0-9][a-z0-9_-]{0,39}$"

func channelsBlock() node {
	return named(needs(block(channels.Level,
		key{"type", enum("", channels.Types()...), "How messages are sent."},
		key{"url", text(), "webhook: where messages are posted to. It may hold {{secret.NAME}}."},
		key{"headers", named(text()), "webhook: sent with every message. They may hold {{secret.NAME}}."},
		key{"credential", ref("credential"), "webhook: the secret that signs messages. email: the password."},
		key{"host", text(), "email: the mail server, such as smtp.example.com."},
		key{"port", integer(1, 65535), "email: its port. Default: 587, 465 for implicit, 25 for none."},
		key{"tls", enum("starttls", "starttls", "implicit", "none"), "email: how the connection is encrypted."},
		key{"username", text(), "email: the name of the login."},
		key{"from", text(), "email: the sender."},
		key{"to", list(text()), "email: the receivers."},
		key{"subject", label(), "email: the subject of messages that have no title."},
		key{"path", text(), "file: a file in the workspace, to which messages are appended."},
		key{"format", enum("json", "json", "text"), "file: one line of JSON for each message, or text."},
		key{"private_hosts", list(text()), "webhook, email: hosts that may be reached although they are not public."},
		key{"max_attempts", integer(1, 100).with("default", channels.DefaultAttempts),
			"How often a message is tried before it is a dead letter."},
		key{"timeout", integer(1, 600), "How many seconds one attempt may take."},
	), "type")).with("propertyNames", node{"pattern": aName})
}

func triggersBlock() node {
	return named(needs(block(triggers.Level,
		key{"type", enum("", triggers.Types()...), "What starts turns."},
		key{"agent", text(), "The agent that is told of events. Default: entry_agent."},
		key{"prompt", text(), "What the agent is told beside the event, which is data and never an instruction."},
		key{"session", enum(triggers.PerEvent, triggers.PerEvent, triggers.Shared),
			"Whether each event has a conversation of its own, or all share one."},
		key{"reply_to", text(), "The channel that the agent's answer is sent to."},
		key{"max_body", integer(1, 32<<20).with("default", 1<<20), "How many bytes an event may have."},
		key{"max_attempts", integer(1, 20).with("default", 3), "How many turns may fail before an event is a dead letter."},
		key{"credential", ref("credential"), "webhook: the secret that callers show or sign with. mailbox: the password."},
		key{"path", text(), "webhook: the path of its URL, such as /inbox. folder: a folder in the workspace."},
		key{"methods", list(enum("", "POST", "PUT", "PATCH", "GET")).with("default", []string{"POST"}),
			"webhook: the methods that it answers."},
		key{"auth", enum("", triggers.AuthToken, triggers.AuthHMAC, triggers.AuthGitHub, triggers.AuthNone),
			"webhook: how callers are known: by a token in a header, a signature as in Standard Webhooks, one as GitHub " +
				"sends it; or none, from this machine alone."},
		key{"header", text(), "webhook: the header of the token. Default: Authorization, with Bearer before the token."},
		key{"listen", text().with("default", triggers.DefaultListen), "webhook: the address and port that are listened on."},
		key{"url", text(), "feed, poll: what is asked. It may hold {{secret.NAME}}."},
		key{"headers", named(text()), "feed, poll: sent with every request. They may hold {{secret.NAME}}."},
		key{"private_hosts", list(text()), "feed, poll, mailbox: hosts that may be reached although they are not public."},
		key{"interval", integer(5, 86_400), "feed, poll, mailbox, folder: how many seconds lie between two looks."},
		key{"first", boolean(false), "feed, poll, folder: what is there at the first look is news."},
		key{"host", text(), "mailbox: the IMAP server."},
		key{"port", integer(1, 65535), "mailbox: its port. Default: 993, 143 for starttls and none."},
		key{"tls", enum("implicit", "implicit", "starttls", "none"), "mailbox: how the connection is encrypted."},
		key{"username", text(), "mailbox: the name of the login."},
		key{"box", text().with("default", "INBOX"), "mailbox: which mailbox of the login."},
		key{"pattern", text(), "folder: which files, by their names, such as *.json."},
		key{"when", text(), "schedule: five fields of cron, or @daily and the like."},
		key{"timezone", text(), "schedule: the time zone of when, such as Europe/Berlin. Default: UTC."},
	), "type")).with("propertyNames", node{"pattern": aName})
}

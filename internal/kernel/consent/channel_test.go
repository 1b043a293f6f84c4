package consent_test

import (
	"slices"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/kernel/consent"
)

func parse(t *testing.T, text string) *app.App {
	t.Helper()
	a, err := app.Parse("/home/ada/callgate.yaml", []byte(text), app.KnownModules{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const outside = `
runtime:
  mode: background
  triggers:
    orders: {type: webhook, path: /orders, credential: orders_key, reply_to: ops, prompt: "Check it.\nThen file it."}
    open: {type: webhook, path: /open, auth: none, agent: two}
    wide: {type: webhook, path: /wide, auth: token, credential: k, listen: "0.0.0.0:9000", methods: [POST, PUT]}
    news: {type: feed, url: "https://x.test/{{secret.FEED}}", headers: {X-Key: "{{secret.KEY}}"}, private_hosts: [10.0.0.1]}
    mail: {type: mailbox, host: imap.x.test, username: ann, credential: mail_password}
    daily: {type: schedule, when: "0 9 * * *", timezone: Europe/Berlin}
    drop: {type: folder, path: in/}
agents: [{id: one}, {id: two}]
tools:
  channels:
    ops: {type: webhook, url: "https://hooks.x.test/{{secret.OPS}}", credential: sign, headers: {A: b}, private_hosts: [127.0.0.1]}
    mail: {type: email, host: smtp.x.test, port: 25, tls: none, from: a@x.test, to: [b@x.test, c@x.test], username: a, credential: p}
    log: {type: file, path: reports/log.jsonl}
    screen: {type: stdout}
    desk: {type: desktop}
`

func TestChannelsAndTriggersAreShown(t *testing.T) {
	t.Parallel()
	a := parse(t, outside)
	want := []string{
		`send messages to https://hooks.x.test/{{secret.OPS}}, signed with the secret sign, with the headers {"A":"b"}, ` +
			`also at the private addresses 127.0.0.1, as the channel ops`,
		`send mail to b@x.test, c@x.test as a@x.test through smtp.x.test:25 (not encrypted), logged in as a with the secret p, as the channel mail`,
		`append messages to the file reports/log.jsonl of the workspace, as the channel log`,
		`write messages to the kernel's standard output, as the channel screen`,
		`show messages on your desktop, as the channel desk`,
		`start turns of one by itself when somebody calls POST http://127.0.0.1:8484/orders signed with the secret orders_key, ` +
			`with the words "Check it.\nThen file it.", and send the answers to the channel ops, as the trigger orders`,
		`start turns of two by itself when somebody calls POST http://127.0.0.1:8484/open, whoever it is, as the trigger open`,
		`start turns of one by itself when somebody calls POST or PUT http://0.0.0.0:9000/wide with the token in the secret k, ` +
			`from other machines too, as the trigger wide`,
		`start turns of one by itself when https://x.test/{{secret.FEED}} has news, which is asked every 15m0s, ` +
			`with the headers {"X-Key":"{{secret.KEY}}"}, also at the private addresses 10.0.0.1, as the trigger news`,
		`start turns of one by itself when there is a mail in the mailbox INBOX of ann at imap.x.test, ` +
			`read with the secret mail_password and marked as seen, as the trigger mail`,
		`start turns of one by itself at the times 0 9 * * * Europe/Berlin, as the trigger daily`,
		`start turns of one by itself when a file is put into the folder in of the workspace, as the trigger drop`,
	}
	got := consent.Lines(a)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("nobody is shown %s", line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	// Each is asked for in the words that were shown, whatever the user's own file has.
	user := parse(t, "agents: [{id: mine}]\ntools: {channels: {own: {type: stdout}}}\n")
	user.Runtime.Channels[0].FromUser = true
	both := inforce.Combine(a, user)
	for _, c := range both.Runtime.Channels {
		if line := consent.Channel(both, c); line != "" && !slices.Contains(got, line) || (line == "") != (c.Name == "own") {
			t.Errorf("the channel %s asks for %q", c.Name, line)
		}
	}
	for _, tr := range both.Runtime.Triggers {
		if line := consent.Trigger(both, tr); !slices.Contains(got, line) {
			t.Errorf("the trigger %s asks for %s", tr.Name, line)
		}
	}
}

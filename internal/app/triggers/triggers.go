// Package triggers is the triggers of an app file: what starts turns of an app by
// itself, and how that is read.
package triggers

import (
	"encoding/json"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"callgate/internal/app/channels"
	"callgate/internal/app/credential"
	"callgate/internal/app/node"
	"callgate/internal/lazyregexp"
	"callgate/internal/schedule"
)

// The types of triggers.
const (
	Webhook  = "webhook"
	Feed     = "feed"
	Poll     = "poll"
	Mailbox  = "mailbox"
	Schedule = "schedule"
	Folder   = "folder"
)

// How the conversations of a trigger's events are divided.
const (
	PerEvent = "per_event"
	Shared   = "shared"
)

// How a webhook knows its senders.
const (
	AuthToken  = "token"
	AuthHMAC   = "hmac"
	AuthGitHub = "github"
	AuthNone   = "none"
)

// DefaultListen is where webhooks are listened for, unless a trigger says otherwise.
const DefaultListen = "127.0.0.1:8484"

// Trigger is what starts turns. Texts may hold {{secret.X}}, which is resolved when it
// is started.
type Trigger struct {
	Name        string
	Type        string
	Agent       string // "": the app's entry
	Prompt      string // what an agent is told beside the event; "": nothing
	Session     string // PerEvent or Shared
	ReplyTo     string // a channel; "": nowhere
	MaxBody     int64  // bytes of an event
	MaxAttempts int    // turns that may fail before an event is given up
	Credential  string // the secret of a webhook, or the password of a mailbox

	Takes   Takes
	Webhook Hook
	Source  Source
	Mailbox Mail
	Folder  Files
	When    When
}

// Takes is what an app takes of its triggers: the same for all of them.
type Takes struct {
	Payload json.RawMessage // the schema of an event's body; nil: anything
	AtOnce  int             // turns of the app's events that run at a time; 0: as many as are usual
}

// Brings reports whether the events of a trigger have a body.
func (t Trigger) Brings() bool { return t.Type != Schedule }

// Hook is where a webhook is reached, and how it knows its senders.
type Hook struct {
	Path    string
	Methods []string
	Auth    string
	Header  string // of a token
	Listen  string
}

// Source is what a feed or poll trigger asks, and how often any trigger looks that asks.
type Source struct {
	URL          string
	Headers      map[string]string
	PrivateHosts []string
	Interval     time.Duration
	First        bool // what is there at the first look is news
}

// Mail is which mailbox is looked at.
type Mail struct {
	Host, TLS, Username, Box string
	Port                     int
}

// Files is which folder of the workspace is looked at.
type Files struct{ Dir, Pattern string }

// When is at which times events happen.
type When struct {
	Text string
	Zone string
	Plan schedule.Plan
}

// Level is the level of the file.
const Level = "runtime.triggers.<trigger>"

var (
	triggerName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,39}$`)
	hookPath    = lazyregexp.New(`^/[A-Za-z0-9._~/-]{0,200}$`)
)

// types are the types, and the keys that each takes beside those of all.
var types = map[string]string{
	Webhook:  "path methods auth header listen credential",
	Feed:     "url headers private_hosts interval first",
	Poll:     "url headers private_hosts interval first",
	Mailbox:  "host port tls username credential box private_hosts interval",
	Schedule: "when timezone",
	Folder:   "path pattern interval first",
}

const ofAll = "type agent prompt session reply_to max_body max_attempts"

// Types lists the types.
func Types() []string { return []string{Webhook, Feed, Poll, Mailbox, Schedule, Folder} }

// Read reads runtime.triggers.
func Read(r *node.Reader, e node.Entry, appID string) []Trigger {
	const form = "write one trigger on each line, such as inbox: {type: webhook, path: /inbox}"
	var all []Trigger
	for _, in := range r.Entries(e, form) {
		if !triggerName.MatchString(in.Key) {
			r.Fail(in.KeyAt, "use lower-case letters, digits, - and _, at most 40",
				"a trigger cannot be named %s", node.Quote(in.Key))
			continue
		}
		all = append(all, (&block{r, Trigger{Name: in.Key}, ""}).read(in, appID))
	}
	for i, t := range all {
		if t.Type != Webhook {
			continue
		}
		same := func(o Trigger) bool { return o.Type == Webhook && o.Webhook.Same(t.Webhook) }
		if j := slices.IndexFunc(all[:i], same); j >= 0 {
			r.Fail(r.Position(e.Below(t.Name)), "give one of them another path",
				"the triggers %s and %s have one path", all[j].Name, t.Name)
		}
	}
	return all
}

// Same reports whether two webhooks are reached at the same place.
func (h Hook) Same(o Hook) bool { return h.Path == o.Path && h.Listen == o.Listen }

// block reads one trigger.
type block struct {
	*node.Reader
	Trigger
	path string // of a webhook, or a folder
}

func (b *block) read(e node.Entry, appID string) Trigger {
	maxBody, at, secrets, words := 0, &b.Source, b.WithSecrets(), b.WithoutEnv()
	b.Mapping(Level, e, map[string]node.Read{
		"type":          b.Choice(&b.Type, Types()...),
		"agent":         words.TextInto(&b.Agent),
		"prompt":        words.TextInto(&b.Prompt),
		"session":       b.Choice(&b.Session, PerEvent, Shared),
		"reply_to":      words.TextInto(&b.ReplyTo),
		"max_body":      b.Number(&maxBody, 1, 32<<20, "write how many bytes an event may have, such as 1048576"),
		"max_attempts":  b.Number(&b.MaxAttempts, 1, 20, "write how many turns may fail before an event is given up, such as 3"),
		"credential":    func(in node.Entry) { b.Credential = credential.Read(b.Reader, in, appID) },
		"path":          b.TextInto(&b.path),
		"methods":       b.methods,
		"auth":          b.Choice(&b.Webhook.Auth, AuthToken, AuthHMAC, AuthGitHub, AuthNone),
		"header":        b.TextInto(&b.Webhook.Header),
		"listen":        b.TextInto(&b.Webhook.Listen),
		"url":           secrets.TextInto(&at.URL),
		"headers":       channels.Headers(secrets, &at.Headers),
		"private_hosts": channels.Hosts(b.Reader, &at.PrivateHosts),
		"interval":      b.Seconds(&at.Interval, 5, 86_400, "write how many seconds lie between two looks, such as 300"),
		"first":         b.Boolean(&at.First, "write true: what is there at the first look is news"),
		"host":          b.TextInto(&b.Mailbox.Host),
		"port":          b.Number(&b.Mailbox.Port, 1, 65535, "write a port, such as 993"),
		"tls":           b.Choice(&b.Mailbox.TLS, "implicit", "starttls", "none"),
		"username":      secrets.TextInto(&b.Mailbox.Username),
		"box":           b.TextInto(&b.Mailbox.Box),
		"pattern":       b.TextInto(&b.Folder.Pattern),
		"when":          b.TextInto(&b.When.Text),
		"timezone":      b.TextInto(&b.When.Zone),
	})
	b.MaxBody = int64(maxBody)
	if b.Type == "" {
		if b.Position(e.Below("type")) == (node.Position{}) {
			b.Fail(e.KeyAt, "write type: "+strings.Join(Types(), ", type: "), "the trigger %s has no type", b.Name)
		}
		return b.Trigger
	}
	channels.Strangers(b.Reader, e, "trigger", b.Type, types, ofAll)
	b.finish(e)
	return b.Trigger
}

func (b *block) methods(e node.Entry) {
	b.Texts(&b.Webhook.Methods, "name the methods, such as [POST]")(e)
	for i, m := range b.Webhook.Methods {
		if !slices.Contains([]string{"POST", "PUT", "PATCH", "GET"}, m) && m != "" {
			b.Fail(b.Position(e.Item(i)), "write POST, PUT, PATCH or GET", "%s is no method of a webhook", node.Quote(m))
		}
	}
}

// intervals are how often a source is looked at, unless a trigger says otherwise.
var intervals = map[string]time.Duration{
	Feed: 15 * time.Minute, Poll: 5 * time.Minute, Mailbox: time.Minute, Folder: 10 * time.Second,
}

// finish fills in what the file leaves out, and reports what is missing.
func (b *block) finish(e node.Entry) {
	if b.Session == "" {
		b.Session = PerEvent
	}
	if b.MaxBody == 0 {
		b.MaxBody = 1 << 20
	}
	if b.MaxAttempts == 0 {
		b.MaxAttempts = 3
	}
	if b.Source.Interval == 0 {
		b.Source.Interval = intervals[b.Type]
	}
	switch b.Type {
	case Webhook:
		b.hook(e)
	case Feed, Poll:
		if !channels.IsWebAddress(b.Source.URL) {
			b.Fail(e.KeyAt, "write url: and its address, which begins with https://", "the trigger %s has no URL to ask", b.Name)
		}
	case Mailbox:
		if b.Mailbox.Host == "" || b.Mailbox.Username == "" || b.Credential == "" {
			b.Fail(e.KeyAt, "write host: imap.example.com, username: and credential:, the name of a secret with the password",
				"the trigger %s lacks the host, username or credential of a mailbox", b.Name)
		}
	case Schedule:
		b.schedule(e)
	case Folder:
		if b.Folder.Dir = path.Clean(b.path); !channels.IsLocalPath(b.path) {
			b.Fail(e.KeyAt, "write path: and a folder in the workspace, such as inbox",
				"the trigger %s names no folder of the workspace", b.Name)
		}
		if _, err := path.Match(b.Folder.Pattern, "x"); err != nil {
			b.Fail(b.Position(e.Below("pattern")), "write it as in *.json", "the pattern of %s cannot be read", b.Name)
		}
	}
}

// hook checks a webhook. One that anybody may call is reached from this machine alone.
func (b *block) hook(e node.Entry) {
	h := &b.Webhook
	h.Path = b.path
	if len(h.Methods) == 0 {
		h.Methods = []string{"POST"}
	}
	if h.Listen == "" {
		h.Listen = DefaultListen
	}
	if h.Auth == "" && b.Credential != "" {
		h.Auth = AuthHMAC
	}
	if h.Header == "" {
		h.Header = "Authorization"
	}
	host, port, err := net.SplitHostPort(h.Listen)
	ip := net.ParseIP(host)
	switch {
	case !hookPath.MatchString(h.Path) || path.Clean(h.Path) != h.Path:
		b.Fail(e.KeyAt, "write path: and a path such as /inbox", "the trigger %s has no path to be called at", b.Name)
	case err != nil || ip == nil || port == "":
		b.Fail(b.Position(e.Below("listen")), "write an address and a port, such as 127.0.0.1:8484",
			"the trigger %s cannot listen at %s", b.Name, node.Quote(h.Listen))
	case h.Auth == "":
		b.Fail(e.KeyAt, "write auth: hmac and credential: NAME; or auth: none, for callers on this machine alone",
			"the trigger %s does not say who may call it", b.Name)
	case h.Auth == AuthNone && !ip.IsLoopback():
		b.Fail(b.Position(e.Below("auth")), "write auth: hmac and credential: NAME, or listen on 127.0.0.1",
			"the trigger %s could be called by anybody", b.Name)
	case h.Auth != AuthNone && b.Credential == "":
		b.Fail(e.KeyAt, "write credential: and the name of a secret (callgate secrets set NAME)",
			"the trigger %s has no secret for auth: %s", b.Name, h.Auth)
	case h.Auth == AuthNone && b.Credential != "":
		b.Fail(b.Position(e.Below("credential")), "write auth: hmac, or delete the credential",
			"the trigger %s has a secret that it does not ask for", b.Name)
	}
}

func (b *block) schedule(e node.Entry) {
	zone, err := schedule.Zone(b.When.Zone)
	if err != nil {
		b.Fail(b.Position(e.Below("timezone")), "name it as in Europe/Berlin, or write UTC",
			"the trigger %s is in the time zone %s, and there is no such", b.Name, node.Quote(b.When.Zone))
		return
	}
	plan, err := schedule.Parse(b.When.Text, schedule.Options{Now: time.Now(), Zone: zone})
	if err == nil && !plan.Once() {
		b.When.Plan = plan
		return
	}
	b.Fail(b.Nearest(e.Below("when")), `write five fields of cron, such as "0 9 * * 1-5", or @daily`,
		"the trigger %s has no times that come again: %s", b.Name, node.Quote(b.When.Text))
}

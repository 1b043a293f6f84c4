// Package channels is the channels of an app file: where an app's messages go, and how
// that is read.
package channels

import (
	"maps"
	"net/textproto"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"callgate/internal/app/credential"
	"callgate/internal/app/node"
	"callgate/internal/netguard"
)

// The types of channels.
const (
	Webhook = "webhook"
	Email   = "email"
	File    = "file"
	Stdout  = "stdout"
	Desktop = "desktop"
)

// Conversation is the channel that every app has: the conversation itself. The second
// name is how other programs call it.
const (
	Conversation = "conversation"
	Notification = "llm_notification"
)

// Channel is where messages go. Texts may hold {{secret.X}}, which is resolved when a
// message is sent.
type Channel struct {
	Name       string
	Type       string
	Credential string // the secret that signs, or the password; "": none

	URL     string // of a webhook
	Headers map[string]string

	Host     string // of a mail server
	Port     int    // 0: as TLS has it
	TLS      string // starttls, implicit or none; "": starttls
	Username string
	From     string
	To       []string
	Subject  string

	Path   string // of a file, relative to the workspace, with slashes
	Format string // json or text; "": json

	PrivateHosts []string      // that may be reached although they are not public
	MaxAttempts  int           // 0: DefaultAttempts
	Timeout      time.Duration // of one attempt; 0: as the type has it
	FromUser     bool          // it is in the user's own file, and needs no consent
}

// DefaultAttempts is how often a message is tried before it is given up.
const DefaultAttempts = 10

// Attempts is how often a message is tried.
func (c Channel) Attempts() int {
	if c.MaxAttempts > 0 {
		return c.MaxAttempts
	}
	return DefaultAttempts
}

// IsConversation reports whether a name is that of the conversation itself.
func IsConversation(name string) bool { return name == Conversation || name == Notification }

// Find returns a channel by its name.
func Find(all []Channel, name string) (Channel, bool) {
	i := slices.IndexFunc(all, func(c Channel) bool { return c.Name == name })
	if i < 0 {
		return Channel{}, false
	}
	return all[i], true
}

// Level is the level of the file.
const Level = "tools.channels.<channel>"

var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// Read reads tools.channels.
func Read(r *node.Reader, e node.Entry, appID string) []Channel {
	const form = "write one channel on each line, such as log: {type: file, path: messages.jsonl}"
	var all []Channel
	for _, in := range r.Entries(e, form) {
		switch {
		case IsConversation(in.Key):
			r.Fail(in.KeyAt, "give it another name", "%s is the conversation itself, and needs no channel", in.Key)
		case !channelName.MatchString(in.Key):
			r.Fail(in.KeyAt, "use lower-case letters, digits, - and _, at most 40",
				"a channel cannot be named %s", node.Quote(in.Key))
		default:
			all = append(all, read(r, in, appID))
		}
	}
	return all
}

// types are the types, and the keys that each takes beside those of all.
var types = map[string]string{
	Webhook: "url headers credential private_hosts",
	Email:   "host port tls username credential from to subject private_hosts",
	File:    "path format",
	Stdout:  "",
	Desktop: "",
}

// Types lists the types.
func Types() []string { return []string{Webhook, Email, File, Stdout, Desktop} }

func read(r *node.Reader, e node.Entry, appID string) Channel {
	c, secrets := Channel{Name: e.Key}, r.WithSecrets()
	r.Mapping(Level, e, map[string]node.Read{
		"type":          r.Choice(&c.Type, Types()...),
		"url":           secrets.TextInto(&c.URL),
		"headers":       Headers(secrets, &c.Headers),
		"credential":    func(in node.Entry) { c.Credential = credential.Read(r, in, appID) },
		"host":          r.TextInto(&c.Host),
		"port":          r.Number(&c.Port, 1, 65535, "write a port, such as 587"),
		"tls":           r.Choice(&c.TLS, "starttls", "implicit", "none"),
		"username":      secrets.TextInto(&c.Username),
		"from":          r.TextInto(&c.From),
		"to":            r.Texts(&c.To, "name the receivers, such as [ann@example.com]"),
		"subject":       r.Label(&c.Subject),
		"path":          r.TextInto(&c.Path),
		"format":        r.Choice(&c.Format, "json", "text"),
		"private_hosts": Hosts(r, &c.PrivateHosts),
		"max_attempts":  r.Number(&c.MaxAttempts, 1, 100, "write how often a message is tried, such as 10"),
		"timeout":       r.Seconds(&c.Timeout, 1, 600, "write how many seconds one attempt may take, such as 15"),
	})
	if c.Type == "" {
		if r.Position(e.Below("type")) == (node.Position{}) {
			r.Fail(e.KeyAt, "write type: "+strings.Join(Types(), ", type: "), "the channel %s has no type", c.Name)
		}
		return c
	}
	Strangers(r, e, "channel", c.Type, types, "type max_attempts timeout")
	c.check(r, e)
	return c
}

// check reports what is missing, and what does not fit.
func (c Channel) check(r *node.Reader, e node.Entry) {
	switch {
	case c.Type == Webhook && !IsWebAddress(c.URL):
		r.Fail(e.KeyAt, "write url: and its address, which begins with https://",
			"the channel %s has no URL to send to", c.Name)
	case c.Type == Email && c.Host == "":
		r.Fail(e.KeyAt, "write host: and its name, such as smtp.example.com", "the channel %s names no mail server", c.Name)
	case c.Type == Email && (c.From == "" || len(c.To) == 0):
		r.Fail(e.KeyAt, "write from: bot@example.com and to: [ann@example.com]",
			"the channel %s has no sender or no receiver", c.Name)
	case c.Type == Email && (c.Username == "") != (c.Credential == ""):
		r.Fail(e.KeyAt, "write both, or leave both out", "the channel %s has one of username and credential", c.Name)
	case c.Type == File && !IsLocalPath(c.Path):
		r.Fail(e.KeyAt, "write path: and a file in the workspace, such as reports/messages.jsonl",
			"the channel %s names no file of the workspace", c.Name)
	}
}

// Strangers reports keys that belong to another type. own are those of every type.
func Strangers(r *node.Reader, e node.Entry, what, kind string, types map[string]string, own string) {
	takes, homes := strings.Fields(own+" "+types[kind]), map[string][]string{}
	for name, keys := range types {
		for _, key := range strings.Fields(keys) {
			homes[key] = append(homes[key], name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(homes)) {
		if at := r.Position(e.Below(key)); at != (node.Position{}) && !slices.Contains(takes, key) {
			slices.Sort(homes[key])
			r.Fail(at, "delete it; it is for the type "+strings.Join(homes[key], ", "),
				"a %s of the type %s takes no %s", what, kind, key)
		}
	}
}

// Headers reads the headers of requests.
func Headers(r *node.Reader, to *map[string]string) node.Read {
	return func(e node.Entry) {
		all := map[string]string{}
		for _, in := range r.Entries(e, "write one on each line, such as X-Team: ops") {
			text, ok := r.Text(in)
			if !ok {
				continue
			}
			name := textproto.CanonicalMIMEHeaderKey(in.Key)
			if !headerName.MatchString(in.Key) || strings.ContainsAny(text, "\r\n\x00") {
				r.Fail(in.KeyAt, "write a name of letters, digits and -, and a value of one line",
					"%s is no header", node.Quote(in.Key))
				continue
			}
			all[name] = text
		}
		*to = all
	}
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Hosts reads hosts that may be reached although they are not public.
func Hosts(r *node.Reader, to *[]string) node.Read {
	read := r.Texts(to, "name the hosts, such as [127.0.0.1, intranet.example.com]")
	return func(e node.Entry) {
		read(e)
		for i, host := range *to {
			if _, err := netguard.ParseHosts([]string{host}); host != "" && err != nil {
				r.Fail(r.Position(e.Item(i)), "name the hosts, such as [127.0.0.1, intranet.example.com]", "%s: %v", e.Name(), err)
			}
		}
	}
}

// IsWebAddress reports an address of the web, or one that a variable holds.
func IsWebAddress(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "{{")
}

// IsLocalPath reports a path inside a folder.
func IsLocalPath(p string) bool {
	return p != "" && filepath.IsLocal(filepath.FromSlash(p)) && path.Clean(p) != "."
}

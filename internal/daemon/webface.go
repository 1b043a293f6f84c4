package daemon

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"sync"

	"callgate/internal/daemon/web"
	"callgate/internal/daemon/web/oidclogin"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/observe/metric"
	"callgate/tool"
)

// DefaultWeb is where the web face listens unless somebody says otherwise.
const DefaultWeb = "127.0.0.1:7420"

// Web says how a kernel is served over the network.
type Web struct {
	Address   string   // to listen on; "": DefaultWeb, or any free port of this machine
	Cert, Key string   // files of the TLS certificate and its key; "": plain HTTP, on this machine alone
	Hosts     []string // names of this server, beside those of this machine
	Workspace string   // where calls are made that name no folder
	OIDC      string   // the file that says how people log in by a provider; "": they do not
}

// webFace is the web server of a daemon, which is there once somebody wanted it.
type webFace struct {
	mu     sync.Mutex
	server *web.Server
}

// ServeWeb serves the kernel over the network, and returns where. It is served once: then the first
// words stay in force.
func (d *Daemon) ServeWeb(w Web) (url string, err error) {
	d.web.mu.Lock()
	defer d.web.mu.Unlock()
	if d.web.server != nil {
		return d.web.server.URL(), nil
	}
	opts, err := d.webOptions(w)
	if err != nil {
		return "", err
	}
	address := w.Address
	if address == "" {
		address = DefaultWeb
	}
	s, err := web.Listen(address, opts)
	if tool.KindOf(err) == tool.Unavailable && w.Address == "" {
		s, err = web.Listen("127.0.0.1:0", opts) // another kernel has it
	}
	if err != nil {
		return "", err
	}
	d.web.server = s
	return s.URL(), nil
}

func (d *Daemon) webOptions(w Web) (web.Options, error) {
	o := web.Options{
		API: d.face(), Tokens: d.Kernel.Tokens, Workspace: w.Workspace, Hosts: w.Hosts, Counted: d.counted, Log: d.log,
		AppID: func(ctx context.Context) (string, error) {
			l, err := d.Kernel.Apps.Load(ctx, w.Workspace, "")
			if err != nil {
				return "", err
			}
			return l.AppID(), nil
		},
		Alive: d.isOpen, Draining: kernel.NodeOf(d.Kernel).Draining,
		Note: func(text string) { _ = d.Kernel.Journal.Append(journal.Record{Kind: journal.Noted, Note: text}) },
	}
	if w.OIDC != "" {
		var err error
		if o.OIDC, err = oidclogin.Read(w.OIDC); err != nil {
			return o, err
		}
		if o.OIDC.TakesBearers() {
			d.Kernel.Tokens.Trust(o.OIDC.Bearer)
		}
	}
	if w.Cert == "" && w.Key == "" {
		return o, nil
	}
	pair, err := tls.LoadX509KeyPair(w.Cert, w.Key)
	if err != nil {
		return o, &tool.Error{Op: "daemon.ServeWeb", Kind: tool.Invalid, Err: err,
			Message: "the TLS certificate cannot be used",
			Hint:    "give both --tls-cert and --tls-key, as PEM files"}
	}
	o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return o, nil
}

// Families are the kernel's numbers, as metrics.
func (d *Daemon) Families(ctx context.Context) []metric.Family { return d.api.Families(ctx) }

// OwnLogin returns a link for the person who started this process at a terminal.
func (d *Daemon) OwnLogin() (string, error) {
	code, err := d.Kernel.Tokens.OfferOwnLogin()
	if err != nil {
		return "", err
	}
	return d.loginURL(code)
}

// loginURL is the link of a code, at a web face that is started if there is none.
func (d *Daemon) loginURL(code string) (string, error) {
	if _, err := d.ServeWeb(Web{}); err != nil {
		return "", err
	}
	d.web.mu.Lock()
	defer d.web.mu.Unlock()
	return d.web.server.LoginURL(code), nil
}

// refuse has the web server take nothing new.
func (f *webFace) refuse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server != nil {
		f.server.Refuse()
	}
}

// close ends the web server.
func (f *webFace) close(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server == nil {
		return nil
	}
	return f.server.Close(ctx)
}

// logOf is where a kernel's faces write what goes wrong.
func logOf(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return l
}

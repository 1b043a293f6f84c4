package machine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/daemon/logfile"
	"callgate/internal/observe"
	"callgate/internal/observe/otlp"
	"callgate/internal/peer"
	"callgate/internal/statedir"
	"callgate/internal/version"
	"callgate/tool"
)

// up is up.
type up struct {
	*command.Env
	attached  bool
	idle      time.Duration
	transient bool
	web       daemon.Web
	noWeb     bool
	cluster   daemon.Cluster
	shared    string
	otlp      string
	logFormat string
}

func newUp(e *command.Env) *cobra.Command {
	u := &up{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "up", Short: "Run the kernel in the foreground",
		Long: `Run the kernel in the foreground. Every other command of this user is then its
client, so that all of them share one set of locks, approvals and records.

It also serves the console and the HTTP API, on 127.0.0.1:7420 or the next free port.
Beyond this machine it serves only with TLS. A browser is let in by a link that works
once (callgate console), a program by a token (callgate token create).

SIGHUP has it read the app files again, as callgate reload does; when its terminal is
closed, it stops. The first SIGINT or SIGTERM stops it after its running calls; a second
one kills it.`,
		Example: "  callgate up\n  callgate up --state /var/lib/callgate\n" +
			"  callgate up --listen 0.0.0.0:7420 --host gate.example.org --tls-cert cert.pem --tls-key key.pem", Args: cobra.NoArgs,
	}, u.run)
	c.Flags().BoolVar(&u.attached, "attached", false, "stop when standard input ends")
	c.Flags().DurationVar(&u.idle, "background", 0, "run for clients, and stop after this `DURATION` without any")
	c.Flags().BoolVar(&u.transient, "transient", false, "with --background: stop with the last client")
	c.Flags().StringVar(&u.web.Address, "listen", "", "serve the console and the HTTP API on this `ADDRESS`")
	c.Flags().StringVar(&u.web.Cert, "tls-cert", "", "the `FILE` of its TLS certificate")
	c.Flags().StringVar(&u.web.Key, "tls-key", "", "the `FILE` of the certificate's key")
	c.Flags().StringSliceVar(&u.web.Hosts, "host", nil, "a `NAME` by which it may be called")
	c.Flags().StringVar(&u.web.OIDC, "oidc", "",
		"have people log in by the OpenID Connect provider that this `FILE` names")
	c.Flags().BoolVar(&u.noWeb, "no-listen", false, "serve this user's own commands alone")
	c.Flags().StringVar(&u.cluster.Listen, "cluster-listen", "",
		"let the other nodes of the database reach this one on this `ADDRESS`")
	c.Flags().StringVar(&u.cluster.Advertise, "cluster-address", "",
		"the `ADDRESS` that the other nodes dial (default: what --cluster-listen says)")
	c.Flags().StringVar(&u.shared, "shared", "",
		"`NAME=/path` of a folder that other nodes have too, several with commas (default $CALLGATE_SHARED)")
	c.Flags().StringVar(&u.otlp, "otlp", "", "send traces and metrics to the OpenTelemetry collector at this `URL`")
	c.Flags().StringVar(&u.logFormat, "log-format", "",
		"write the log as text or json (default $CALLGATE_LOG_FORMAT or text)")
	_ = c.Flags().MarkHidden("attached")
	_ = c.Flags().MarkHidden("transient")
	return c
}

func (u *up) run(ctx context.Context, _ []string) error {
	dir, err := u.StateDir()
	if err != nil {
		return err
	}
	log, closeLog, err := u.openLog(dir)
	if err != nil {
		return err
	}
	defer closeLog()
	ctx, exporter, err := u.startExporter(ctx, log)
	if err != nil {
		return err
	}
	defer exporter.Close()
	storage, err := u.Storage()
	if err != nil {
		return err
	}
	cfg := daemon.Config{
		State: dir.String(), Storage: storage, Tools: u.Tools, Log: log, UserFile: u.UserFile(), Shared: u.shared,
	}
	if u.idle == 0 && !u.JSON { // else nobody reads it, or a program does
		cfg.Stdout = u.Stdout
	}
	d, err := u.start(ctx, cfg)
	if tool.KindOf(err) == tool.Conflict && peer.Stopped(dir.Holder()) {
		return cmp.Or(daemon.Unserved(dir), err) // whoever uses it as a client would wait
	}
	if err != nil {
		return err
	}
	exporter.Metrics(d.Families)
	if u.attached {
		var stop context.CancelFunc
		ctx, stop = u.untilInputEnds(ctx)
		defer stop()
	}
	kernel := client.New(client.Options{Dial: d.Dial})
	at := upInfo{version.Version, os.Getpid(), dir.String(), d.Socket, ""}
	if at.Console, err = u.serve(ctx, d); err != nil {
		_ = d.Stop()
		return err
	}
	if err := u.announce(ctx, at, d.Kernel.Warnings(), kernel); err != nil {
		_ = d.Stop()
		return err
	}
	endReloads := u.reloadOnHangup(ctx, d)
	err = d.WaitIdle(ctx, u.idle)
	endReloads()
	if err == nil && !u.JSON {
		u.Status("\n%s", waitMessage(kernel))
	}
	kernel.Close()
	if stopped := d.Stop(); err == nil {
		err = stopped
	}
	return err
}

// start starts the kernel that the flags say.
func (u *up) start(ctx context.Context, cfg daemon.Config) (*daemon.Daemon, error) {
	switch {
	case u.transient:
		return daemon.StartTransient(ctx, cfg)
	case u.idle > 0:
		return daemon.StartBackground(ctx, cfg)
	}
	return daemon.Start(ctx, cfg)
}

// openLog is the kernel's log: standard error, or the file of one in the background.
func (u *up) openLog(dir statedir.Dir) (log *slog.Logger, end func(), err error) {
	end = func() {}
	if logfile.Leads(u.Stderr, dir.Log()) {
		file, err := logfile.Open(dir.Log(), logfile.Options{}, os.Stdout, os.Stderr)
		if err != nil {
			return nil, end, &tool.Error{
				Op: "cli.up", Kind: tool.Unavailable, Message: "the kernel's log cannot be opened", Err: err,
			}
		}
		u.Stderr, end = file, func() { _ = file.Close() }
	}
	o := &slog.HandlerOptions{Level: slog.LevelWarn}
	switch format := cmp.Or(u.logFormat, u.Getenv("CALLGATE_LOG_FORMAT"), "text"); format {
	case "text":
		return slog.New(slog.NewTextHandler(u.Stderr, o)), end, nil
	case "json":
		return slog.New(slog.NewJSONHandler(u.Stderr, o)), end, nil
	default:
		return nil, end, tool.Errorf("cli.up", tool.Invalid, "a log is not written as %q", tool.Truncate(format)).
			WithHint("--log-format and CALLGATE_LOG_FORMAT are text or json")
	}
}

// startExporter sends what the kernel does to a collector; nil: nobody said where. A kernel in the background has the
// environment of the client that happened to start it, which a project's files may have set, and serves all folders:
// the flag alone counts for it.
func (u *up) startExporter(ctx context.Context, log *slog.Logger) (context.Context, *otlp.Exporter, error) {
	getenv := u.Getenv
	if u.idle > 0 || u.attached {
		getenv = func(string) string { return "" }
	}
	settings, err := otlp.Read(u.otlp, getenv)
	if settings.Warning != "" {
		log.Warn(settings.Warning)
	}
	if err != nil || !settings.On() {
		return ctx, nil, err
	}
	exporter := otlp.Start(settings, log)
	return observe.With(ctx, exporter), exporter, nil
}

// untilInputEnds is a context that ends with standard input.
func (u *up) untilInputEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, u.Stdin)
		stop()
	}()
	return ctx, stop
}

// upInfo is what up writes with --json, in one line.
type upInfo struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
	State   string `json:"state"`
	Socket  string `json:"socket"`
	Console string `json:"console,omitempty"`
}

// serve lets other machines in: nodes, programs and people. It returns where the console is.
func (u *up) serve(ctx context.Context, d *daemon.Daemon) (string, error) {
	var err error
	if u.web.Workspace, err = os.Getwd(); err != nil {
		return "", &tool.Error{Op: "cli.up", Kind: tool.Unavailable, Message: "this folder cannot be named", Err: err}
	}
	switch {
	case u.cluster.Listen != "":
		u.cluster.Workspace = u.web.Workspace
		at, err := d.ServeNodes(ctx, u.cluster)
		if err != nil {
			return "", err
		}
		if !u.JSON {
			u.Status("other nodes reach this one at %s", at)
		}
	case u.cluster.Advertise != "":
		return "", tool.Errorf("cli.up", tool.Invalid, "--cluster-address says what other nodes dial, and nothing listens").
			WithHint("say on which address this node listens for them: --cluster-listen :7421")
	}
	return u.serveWeb(d)
}

// serveWeb serves the console and the API, and returns where. A person who starts the kernel at a terminal is let
// in at once: it is a link then.
func (u *up) serveWeb(d *daemon.Daemon) (string, error) {
	if u.noWeb || u.idle > 0 || d.Socket == "" {
		return "", nil
	}
	at, err := d.ServeWeb(u.web)
	_, terminal := command.Terminal(u.Stdout)
	if err != nil || u.JSON || !terminal || d.Kernel.IsAskers(os.Getpid()) {
		return at, err
	}
	return d.OwnLogin()
}

// announce prints where the kernel is, and what is wrong with its state and its sources.
func (u *up) announce(ctx context.Context, at upInfo, warnings []string, kernel *client.Client) error {
	for _, w := range warnings {
		u.Status("callgate: %s", w)
	}
	if u.JSON {
		return u.WriteJSONLine(at)
	}
	s := u.Style(u.Stdout)
	console := ""
	if at.Console != "" {
		console = "  console " + at.Console + "\n"
	}
	_, err := fmt.Fprintf(u.Stdout, "%s %s, process %d\n  state   %s\n  socket  %s\n%s%s\n",
		s.Strong("callgate"), at.Version, at.PID, at.State, at.Socket, console, s.Faint("Ctrl-C stops it."))
	if err != nil {
		return command.WriteError(err)
	}
	status, err := kernel.Status(ctx)
	if err != nil {
		return err
	}
	for _, problem := range status.Problems {
		u.Status("callgate: %s", problem)
	}
	if status.Doubts > 0 {
		u.Status("callgate: %s in doubt: callgate log doubts lists them", amount.Of(status.Doubts, "call"))
	}
	return nil
}

// waitMessage says what the kernel waits for before it ends.
func waitMessage(kernel *client.Client) string {
	status, _ := kernel.Status(context.Background()) // a kernel that does not answer has nothing to finish
	switch status.Calls {
	case 0:
		return "stopping…"
	case 1:
		return "finishing 1 call… (a second signal kills it)"
	default:
		return fmt.Sprintf("finishing %d calls… (a second signal kills them)", status.Calls)
	}
}

//go:build linux

package drive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/scripts/soak/child"
	"callgate/scripts/soak/drive/wire"
	"callgate/scripts/soak/history"
)

// files are what the calls of a group read and write. Each always holds the ID of a
// write, and all IDs are of one length.
var files = []string{"f0.txt", "f1.txt", "f2.txt"}

// shellLedger is where commands write what they did.
const shellLedger = "shell.txt"

var idPattern = regexp.MustCompile(`T\d{3}-\d{7}`)

// places are where a group keeps what it has.
type places struct {
	dir, state, work, home, ledger, heard string
}

// group is one kernel after another on one state directory, with their clients.
type group struct {
	*run
	places
	number  int
	plan    *planner
	log     *log
	env     []string
	model   string // its address
	tmpfs   bool   // the state directory can be filled
	npm     string // the file server of npm
	skipped []string
	effects []history.Effect
	last    atomic.Int64 // the number of the last ID

	procs   *processes
	bridge  *bridge    // lives as long as it can
	opening sync.Mutex // held while a bridge is opened
	wire    *wire.Wire
	cutOff  *turn // the last turn, if it was
	lasting *lasting
}

func (r *run) newGroup(number int) (*group, error) {
	dir := filepath.Join(r.Folder, fmt.Sprintf("group%d", number))
	at := func(name string) string { return filepath.Join(dir, name) }
	g := &group{run: r, number: number, plan: newPlanner(r.Seed, number), log: newLog(), procs: newProcesses(),
		wire: &wire.Wire{}, lasting: &lasting{},
		places: places{dir, at("state"), at("work"), at("home"), at("ledger"), at("heard")}}
	for _, d := range []string{g.work, g.home, g.state} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	g.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "CALLGATE_STATE=" + g.state, "NO_COLOR=1",
		"CALLGATE_SOAK=" + dir}
	if number == 0 {
		g.mountSmall()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that the model can have again after each kill
	if err != nil {
		return nil, err
	}
	if err := g.lasting.listen(); err != nil {
		return nil, err
	}
	g.model = l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	if g.lasting.inbox, err = g.newInbox(); err != nil {
		return nil, err
	}
	return g, g.writeApp()
}

// writeApp writes the app of a group. A human is asked for one tool only, which runs
// in the background.
func (g *group) writeApp() error {
	npm := filepath.Join(g.NPM, "node_modules/.bin/mcp-server-filesystem")
	server := ""
	switch {
	case g.number != 1:
	case exists(npm):
		g.npm = npm
		server = fmt.Sprintf("\n          npm: {command: %q, args: [%q], isolation: contained}", npm, g.work)
	default:
		g.skipped = append(g.skipped, "the file server of npm is not installed: scripts/servers.sh installs it")
	}
	app := fmt.Sprintf(`app: {app_id: soak}
agents: [{id: main, brain: {provider: openai, model: soak, config: {api_key: x, base_url: "http://%s/v1"}}}]
runtime: {sandbox: relaxed, tool_injection: direct, watchers: true, scheduler: true}
tools:
  capabilities: {default_policy: auto, approve: [{module: mcp_soak, actions: [vouch]}]}
  channels:
    hook: {type: webhook, url: "http://%s/", private_hosts: [127.0.0.1], max_attempts: 100}
  modules:
    filesystem: {}
    shell: {}
    mcp:
      config:
        servers:
          soak: {command: %q, args: [server, %q, %q], isolation: contained}%s
`, g.model, g.lasting.address, g.Self, g.work, g.ledger, server)
	if err := os.WriteFile(filepath.Join(g.work, "callgate.yaml"), []byte(app), 0o600); err != nil {
		return err
	}
	for _, f := range files {
		if err := g.edit(f); err != nil {
			return err
		}
	}
	return nil
}

// edit writes a file as a person does, past the kernel.
func (g *group) edit(file string) error {
	op := g.newOp(history.Write, file, "a person", "an editor")
	op.Unledgered, op.Unrecorded = true, true
	err := child.Overwrite(filepath.Join(g.work, file), op.ID+"\n")
	op.Done, op.Told = time.Now(), history.Success
	g.log.add(op)
	return err
}

// newOp begins a call, which is being sent.
func (g *group) newOp(verb history.Verb, file, via, tool string) history.Op {
	op := history.Op{Verb: verb, File: file, Via: via, Tool: tool, Sent: time.Now()}
	if verb != history.Read {
		op.ID = fmt.Sprintf("T%03d-%07d", g.number, g.last.Add(1))
	}
	return op
}

// accept has a person accept the app and its servers.
func (g *group) accept() error {
	inbox := g.lasting.inbox.dir
	for _, command := range [][]string{
		{"app", "trust"}, {"mcp", "trust", "--all"}, {"mcp", "refresh", "soak"},
		{"-C", inbox, "app", "trust"}, {"-C", inbox, "mcp", "trust", "--all"}, {"-C", inbox, "mcp", "refresh", "soak"},
		{"-C", inbox, "app", "start"},
	} {
		cmd := exec.Command(g.Person, append([]string{g.Binary}, command...)...)
		cmd.Dir, cmd.Env = g.work, g.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("callgate %s: %w: %s", strings.Join(command, " "), err, out)
		}
	}
	return human{g}.makeToken()
}

// runLives lives one life after another.
func (g *group) runLives(ctx context.Context) error {
	defer g.cleanUp()
	g.startModel()
	if err := g.accept(); err != nil {
		return err
	}
	plan, err := os.Create(filepath.Join(g.dir, "plan.txt"))
	if err != nil {
		return err
	}
	defer plan.Close()
	for ctx.Err() == nil && !g.enough() {
		l := g.plan.next()
		fmt.Fprintln(plan, time.Now().Format("15:04:05.000"), l)
		if err := g.live(ctx, l); err != nil {
			return fmt.Errorf("group %d, %s: %w", g.number, l, err)
		}
	}
	return g.finish()
}

// live is one life: a kernel, its clients, and the plan's faults.
func (g *group) live(ctx context.Context, l life) error {
	rng := rand.New(rand.NewPCG(l.seed, 0))
	g.observe()
	if l.person {
		if err := g.edit(files[rng.IntN(len(files))]); err != nil {
			return err
		}
	}
	if l.alone {
		g.endBridge()
		g.killKernelNow() // if the bridge had started one
	}
	if l.early {
		g.killWhileStarting(rng)
	}
	if l.kind == byHarness {
		if err := g.startExamined(ctx, l.wired); err != nil {
			return err
		}
	}
	crowd := g.startClients(ctx, l, rng)
	for _, s := range l.steps {
		wait(ctx, s.after)
		g.strike(s.fault, rng)
	}
	crowd.end()
	return nil
}

// startExamined starts a kernel, examines its journal, and puts the wire before it.
func (g *group) startExamined(ctx context.Context, wired bool) error {
	if err := g.startKernel(false); err != nil {
		return err
	}
	if err := g.examine(ctx); err != nil {
		return err
	}
	if !wired || g.kernel() == 0 {
		return nil
	}
	return g.wire.Lay(g.state)
}

// wait waits in the plan's time.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// observe reads the files from the disk.
func (g *group) observe() {
	for _, f := range files {
		op := g.newOp(history.Read, f, "the disk", "cat")
		data, err := os.ReadFile(filepath.Join(g.work, f))
		op.Done, op.Told = time.Now(), history.Success
		op.Saw = strings.TrimSpace(string(data))
		if err != nil {
			op.Saw = err.Error()
		}
		g.log.add(op)
	}
}

// examine verifies the journal after a start, and reads what is new in it.
func (g *group) examine(ctx context.Context) error {
	c := g.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 60*time.Second)
	defer cancel()
	for {
		page, err := c.Journal(ctx, protocol.JournalQuery{After: g.log.seq, Limit: 5000})
		if err != nil {
			return fmt.Errorf("the journal cannot be read: %w", err)
		}
		if len(page) == 0 {
			break
		}
		g.log.record(page)
	}
	report, err := c.Verify(ctx)
	if err != nil {
		return fmt.Errorf("the journal cannot be verified: %w", err)
	}
	if !report.OK() {
		g.log.problem(Damaged, g.dir, fmt.Sprintf("%+v", report.Problems))
	}
	return nil
}

func (at places) client() *client.Client {
	return client.New(client.Options{Dial: client.UnixAt(statedir.Dir(at.state).Socket)})
}

// readEffects reads the ledger.
func (g *group) readEffects() error {
	lines, _, err := child.ReadLedger(g.ledger, 0)
	if err != nil {
		return err
	}
	g.effects = nil
	for _, l := range lines {
		g.effects = append(g.effects, history.Effect{ID: l.ID, File: l.File, At: time.Unix(0, l.At)})
	}
	shell, err := os.ReadFile(filepath.Join(g.work, shellLedger))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, id := range idPattern.FindAllString(string(shell), -1) {
		g.effects = append(g.effects, history.Effect{ID: id})
	}
	g.effects = append(g.effects, g.lasting.delivered()...)
	return nil
}

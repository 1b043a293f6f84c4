package servers

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/internal/cli/appfile"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/source/mcp/catalogue"
	"callgate/tool"
)

// catalog is where servers are looked for: mcp search and mcp install.
type catalog struct {
	*command.Env
	place string
}

func (c *catalog) bind(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&c.place, "catalog", "",
		"the catalogue: a `FILE`, or the URL of a file or a registry (default $CALLGATE_CATALOG)")
	return cmd
}

// open reads the catalogue.
func (c *catalog) open(ctx context.Context, word string) ([]catalogue.Entry, error) {
	if c.place == "" {
		c.place = c.Getenv("CALLGATE_CATALOG")
	}
	if c.place == "" {
		return nil, tool.Errorf("cli.mcp", tool.Invalid, "no catalogue of servers is named").
			WithHint("name a file or a registry with --catalog, or in CALLGATE_CATALOG")
	}
	if !strings.Contains(c.place, "://") {
		path, err := c.Abs(c.place)
		if err != nil {
			return nil, err
		}
		c.place = path
	}
	entries, bad, err := catalogue.Open(ctx, c.place, word)
	if bad > 0 {
		c.Status("callgate: %d entries of the catalogue are not servers that can be shown", bad)
	}
	return entries, err
}

func newSearch(e *command.Env) *cobra.Command {
	s := &catalog{Env: e}
	return s.bind(e.Leaf(&cobra.Command{
		Use: "search [WORD ...]", Short: "Search a catalogue of MCP servers",
		Example: "  callgate mcp search files --catalog servers.json\n" +
			"  callgate mcp search github --catalog https://registry.example",
	}, s.search))
}

func (c *catalog) search(ctx context.Context, words []string) error {
	word := ""
	if len(words) > 0 {
		word = words[0]
	}
	entries, err := c.open(ctx, word)
	if err != nil {
		return err
	}
	found := catalogue.Search(entries, words)
	return command.WriteList(c.Env, found, "no server of the catalogue has these words", func() error {
		rows := make([][]render.Cell, len(found))
		for i, one := range found {
			var from []string
			for _, p := range one.Packages {
				from = append(from, p.Type)
			}
			for range one.Remotes {
				from = append(from, "remote")
			}
			rows[i] = []render.Cell{
				render.Bold(one.Name), render.Plain(one.Version), render.Plain(strings.Join(slices.Compact(from), ", ")),
				render.Plain(one.Description),
			}
		}
		return c.Style(c.Stdout).Table(c.Stdout, []string{"NAME", "VERSION", "FROM", "DESCRIPTION"}, rows)
	})
}

// install is mcp install.
type install struct {
	catalog
	isolated
	name              string
	set               []string
	user, dryRun, yes bool
}

func newInstall(e *command.Env) *cobra.Command {
	i := &install{catalog: catalog{Env: e}}
	c := i.catalog.bind(e.Leaf(&cobra.Command{
		Use: "install NAME", Short: "Add a server of a catalogue to the app file, and accept it",
		Long: `Add a server of a catalogue to the app file. What would be run or called is shown: the command with
its package in one exact version, its arguments, its variables and the secrets it needs. A person
accepts it; without that nothing is written.`,
		Example: "  callgate mcp install io.example/files --catalog servers.json --dry-run\n" +
			"  callgate mcp install io.example/files --catalog servers.json --set ROOT=/srv",
		Args: cobra.ExactArgs(1),
	}, i.run))
	c.Flags().StringVar(&i.name, "name", "", "what the server is called here (default: from its name)")
	c.Flags().StringArrayVar(&i.set, "set", nil, "`NAME=VALUE` for a variable, an argument or a header; may be repeated")
	i.isolated.bind(c)
	c.Flags().BoolVar(&i.user, "user", false, "add it to your own app file, so that it is in every folder")
	c.Flags().BoolVar(&i.dryRun, "dry-run", false, "show what would be run or called, and write nothing")
	c.Flags().BoolVar(&i.yes, "yes", false, "accept without asking; at a terminal the code is still to be typed")
	return c
}

func (i *install) run(ctx context.Context, args []string) error {
	values, err := pairs("--set", i.set)
	if err != nil {
		return err
	}
	_, word, found := strings.Cut(args[0], "/")
	if !found {
		word = args[0]
	}
	entries, err := i.open(ctx, word)
	if err != nil {
		return err
	}
	entry, err := catalogue.Find(entries, args[0])
	if err != nil {
		return err
	}
	plan, err := entry.Make(i.serverName(entry.Name), values)
	if err != nil {
		return err
	}
	if i.JSON && i.dryRun {
		return i.WriteJSON(map[string]any{"entry": entry.Name, "version": entry.Version, "name": plan.Server.Name,
			"command": plan.Server.Command, "args": plan.Server.Args, "env": plan.Server.Env, "url": plan.Server.URL,
			"headers": plan.Server.Headers, "secrets": plan.Secrets, "fixed": plan.Fixed, "note": plan.Note})
	}
	var stored []string
	if names := secretsIn(plan.Server); len(names) > 0 && !i.dryRun {
		if stored, err = i.stored(ctx); err != nil {
			return err
		}
	}
	i.show(entry, plan, stored)
	if i.dryRun {
		i.Status("nothing was written")
		return nil
	}
	if err := unknown(plan, stored); err != nil {
		return err
	}
	return i.write(ctx, plan)
}

func (i *install) serverName(full string) string {
	if i.name != "" {
		return i.name
	}
	_, short, _ := strings.Cut(full, "/")
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(short), "_"), "_")
}

// show says what would be run or called. stored are the names of secrets that have a value.
func (i *install) show(e catalogue.Entry, p catalogue.Plan, stored []string) {
	i.Status("%s %s, as the server %s:", e.Name, e.Version, p.Server.Name)
	line := func(name, value string) { i.Status("  %-9s %s", name, text.OneLine(value)) }
	if p.Server.Command != "" {
		line("runs", fmt.Sprintf("%q", append([]string{p.Server.Command}, p.Server.Args...)))
	} else {
		line("calls", p.Server.URL)
	}
	whose := func(name string) string {
		if slices.Contains(p.Fixed, name) {
			return " (fixed by the catalogue)"
		}
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(p.Server.Env)) {
		line("variable", name+"="+p.Server.Env[name]+whose(name))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Server.Headers)) {
		line("header", name+": "+p.Server.Headers[name]+whose(name))
	}
	for _, one := range p.Secrets {
		switch {
		case slices.Contains(stored, one.Name):
			line("secret", one.Name+" (a value is stored already, for "+one.Entry+")")
		case slices.Contains(stored, one.Former):
			line("secret", one.Name+" (callgate secrets set "+one.Name+"); an earlier version stored "+one.Former+
				", for this entry or one with a similar name: if it is of "+one.Entry+", give it with --set "+one.Input+
				"='{{secret."+one.Former+"}}'")
		default:
			line("secret", one.Name+" (callgate secrets set "+one.Name+")")
		}
	}
	for _, name := range secretsIn(p.Server) {
		has := ""
		if slices.Contains(stored, name) {
			has = ", which has a value already,"
		}
		line("sends", "the secret "+name+has+" to "+receiver(p.Server))
	}
	if p.Note != "" {
		line("note", p.Note)
	}
}

// secretsIn are the names of the secrets that a server is given, by the catalogue or by the person.
func secretsIn(s catalogue.Server) (names []string) {
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for _, value := range values {
			for _, found := range regexp.MustCompile(`\{\{\s*secret\.([^}\s]+)\s*\}\}`).FindAllStringSubmatch(value, -1) {
				names = append(names, found[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// receiver is who is sent a server's secrets.
func receiver(s catalogue.Server) string {
	if at, err := url.Parse(s.URL); err == nil && at.Host != "" {
		return "the host " + at.Host
	}
	return "the program above"
}

// unknown refuses a plan that asks for a secret which is stored already: the catalogue chose its name, and the person
// has not said that the server may have it.
func unknown(plan catalogue.Plan, stored []string) error {
	for _, one := range plan.Secrets {
		if slices.Contains(stored, one.Name) {
			return tool.Errorf("cli.mcp", tool.Denied, "not installed: the secret %s is stored already, for %s, and would "+
				"be sent to %s", one.Name, one.Entry, receiver(plan.Server)).
				WithHint("if it is to have it, say so: --set %s='{{secret.%s}}'", one.Input, one.Name)
		}
	}
	return nil
}

// stored are the names of the secrets that have a value.
func (i *install) stored(ctx context.Context) (names []string, err error) {
	return names, i.WithKey(ctx, func(k *command.Kernel) error {
		all, err := k.Secrets().List(ctx)
		for _, one := range all {
			names = append(names, one.Name)
		}
		return err
	})
}

// write puts the server into the app file and has a person accept it. Unless they do, the file is as it was.
func (i *install) write(ctx context.Context, plan catalogue.Plan) error {
	read, write := levelOf(i.user)
	path, before, err := read(i.Env)
	if err != nil {
		return err
	}
	var modules []string
	if !i.user {
		if modules, err = appfile.BuiltinModules(ctx, i.Env); err != nil {
			return err
		}
	}
	p := plan.Server
	s := app.Server{
		Name: p.Name, Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, Transport: p.Transport, Headers: p.Headers,
	}
	if s.Command != "" {
		s.Isolation = i.of(s.Command)
	}
	next, err := edit.AddServer(before, s, modules)
	if err != nil {
		return err
	}
	if err := write(path, next); err != nil {
		return err
	}
	i.explain(i.Env, s)
	if !i.user {
		i.AppFile = path
	}
	asked := &trust{Env: i.Env, yes: i.yes}
	if err = asked.run(ctx, []string{plan.Server.Name}); asked.accepted {
		return err
	}
	if before == nil {
		if err := os.Remove(path); err != nil {
			return tool.Errorf("cli.mcp", tool.Failed, "%s was not accepted, and %s cannot be removed again: %w",
				p.Name, path, err)
		}
	} else if err := write(path, before); err != nil {
		return err
	}
	if err == nil {
		err = tool.Errorf("cli.mcp", tool.Denied, "not installed: %s was not accepted", p.Name)
	}
	i.Status("%s is as it was", path)
	return err
}

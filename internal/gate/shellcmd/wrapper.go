package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// wrapper is how a program that runs another is called.
type wrapper struct {
	flags    []string // options without a value
	values   []string // options with a value, in the next word or attached
	operands int      // words before the command
	// opaque says why what it runs is never allowed through it; "": it only runs it.
	opaque string
}

const (
	otherUser  = "it runs as another user"
	otherPlace = "it runs somewhere else"
	traced     = "it runs under a program that may change it"
)

// wrappers are the programs that run a command given in their own words.
var wrappers = map[string]wrapper{
	"timeout": {
		flags: []string{"--foreground", "--preserve-status", "-v", "--verbose"}, values: []string{"-k", "-s"}, operands: 1,
	},
	"nice":    {values: []string{"-n"}},
	"nohup":   {},
	"setsid":  {flags: []string{"-f", "--fork", "-w", "--wait"}},
	"stdbuf":  {values: []string{"-i", "-o", "-e"}},
	"time":    {flags: []string{"-p"}},
	"command": {flags: []string{"-p"}},
	"builtin": {},
	"ionice":  {values: []string{"-c", "-n"}, flags: []string{"-t"}},
	"sudo":    {values: []string{"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U"}, opaque: otherUser},
	"doas":    {values: []string{"-u", "-C"}, opaque: otherUser},
	"runuser": {values: []string{"-u", "-g"}, opaque: otherUser},
	"pkexec":  {values: []string{"--user"}, opaque: otherUser},
	"chroot":  {operands: 1, opaque: otherPlace},
	"unshare": {opaque: otherPlace}, "nsenter": {opaque: otherPlace}, "systemd-run": {opaque: otherPlace},
	"strace": {values: []string{"-o", "-e", "-p"}, opaque: traced}, "ltrace": {values: []string{"-o", "-e"}, opaque: traced},
	"flock":   {operands: 1, values: []string{"-w", "-E"}, opaque: "it makes a file"},
	"watch":   {values: []string{"-n"}, opaque: "it gives its words to a shell"},
	"taskset": {operands: 1}, "chrt": {operands: 1}, "setarch": {operands: 1, opaque: traced},
	"busybox": {opaque: "it is many programs"}, "toybox": {opaque: "it is many programs"},
	"parallel": {opaque: "it makes commands from its input"},
	"exec":     {values: []string{"-a"}, opaque: "it replaces the shell"},
	"coproc":   {opaque: "it runs beside the shell"},
	"npx":      {opaque: "it fetches what it runs"}, "bunx": {opaque: "it fetches what it runs"},
	"uvx": {opaque: "it fetches what it runs"}, "pipx": {operands: 1, opaque: "it fetches what it runs"},
	"script": {opaque: traced}, "unbuffer": {opaque: traced}, "proot": {opaque: traced}, "fakeroot": {opaque: traced},
	"dbus-run-session": {opaque: traced}, "xvfb-run": {opaque: traced}, "gdb": {opaque: traced},
}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash", "mksh"}

// unwrap finds the commands that a command runs.
func (w *walker) unwrap(c *Command) {
	if len(c.Words) == 0 || !c.Words[0].Static {
		return
	}
	if w.depth++; w.depth > maxDepth {
		c.Wrapper, c.Opaque = true, "it is nested too deeply"
		w.unread(c.Opaque)
		return
	}
	defer func() { w.depth-- }()
	name := path.Base(c.Words[0].Text)
	spec, known := wrappers[name]
	switch {
	case known:
		w.unwrapSimple(c, spec)
	case name == "env":
		w.unwrapEnv(c)
	case name == "xargs":
		w.unwrapXargs(c)
	case name == "eval":
		w.unwrapScript(c, c.Words[1:], "")
	case name == "trap":
		w.unwrapScript(c, c.Words[1:min(2, len(c.Words))], "it runs later")
	case name == "ssh":
		w.unwrapSSH(c)
	case name == "source" || name == ".":
		c.Wrapper, c.Opaque = true, "it runs a file in this shell"
	case slices.Contains(shells, name):
		w.unwrapShell(c)
	case name == "find":
		w.unwrapFind(c)
	case w.unwrapRunner(c, name):
	case runsCode(name, c.Words):
		c.Wrapper, c.Opaque = true, "it runs code of another language"
	case hasRunOption(name, c.Words[1:]):
		c.Wrapper, c.Opaque = true, runs
	}
	if c.Wrapper && strings.Contains(c.Words[0].Text, "/") && c.Opaque == "" && !systemPath(c.Words[0].Text) {
		c.Opaque = "it is a program of that name in another place"
	}
}

// systemPath reports whether a program lies where the system keeps them.
func systemPath(name string) bool {
	return slices.Contains([]string{"/bin", "/usr/bin"}, path.Dir(name))
}

// inner sets what a command runs.
func (w *walker) inner(c *Command, words []Word, opaque string) {
	c.Wrapper, c.Opaque = true, opaque
	if len(words) == 0 {
		if opaque == "" {
			c.Opaque = "what it runs is not given"
		}
		return
	}
	in := &Command{Words: words, at: c.at}
	w.unwrap(in)
	c.Inner = append(c.Inner, in)
}

func (w *walker) unwrapSimple(c *Command, spec wrapper) {
	rest, strange := spec.skip(c.Words[1:])
	opaque := spec.opaque
	if strange && opaque == "" {
		opaque = "an option of it is not known"
	}
	w.inner(c, rest, opaque)
}

// skip returns the words of the command that a wrapper runs, and whether it met
// an option that it does not know.
func (spec wrapper) skip(words []Word) (rest []Word, strange bool) {
	operands := spec.operands
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		switch {
		case !words[i].Static:
			return words[i:], true
		case text == "--" && operands == spec.operands:
		case strings.HasPrefix(text, "-") && text != "-":
			if operands < spec.operands {
				return words[i:], true
			}
			switch {
			case slices.Contains(spec.values, text):
				if i++; i >= len(words) || !words[i].Static {
					return nil, true
				}
			case slices.Contains(spec.flags, text):
			case len(text) > 2 && slices.Contains(spec.values, text[:2]): // attached
			default:
				strange = true
			}
		case operands > 0:
			operands--
		default:
			return words[i:], strange
		}
	}
	return nil, strange
}

// unwrapEnv gives the variables that env sets to the command.
func (w *walker) unwrapEnv(c *Command) {
	rest, opaque := c.Words[1:], ""
	var assigns []string
	for len(rest) > 0 {
		text := rest[0].Text
		if !rest[0].Static && strings.Contains(text, "=") {
			opaque = "it sets a variable to a value that is not known"
		} else if strings.HasPrefix(text, "-") {
			opaque = "an option of it is not known"
		} else if !strings.Contains(text, "=") {
			break
		} else {
			assigns = append(assigns, text)
		}
		rest = rest[1:]
	}
	w.inner(c, rest, opaque)
	if len(c.Inner) == 1 {
		c.Inner[0].Assigns = assigns
	}
}

// unwrapXargs gives the command words that nobody knows.
func (w *walker) unwrapXargs(c *Command) {
	spec := wrapper{
		flags:  []string{"-0", "-r", "-t", "--null", "--no-run-if-empty"},
		values: []string{"-n", "-P", "-L", "-d", "-I"},
	}
	rest, strange := spec.skip(c.Words[1:])
	opaque := ""
	if strange {
		opaque = "an option of it is not known"
	}
	if len(rest) == 0 {
		rest = []Word{{Text: "echo", Static: true}}
	}
	rest = slices.Clone(rest)
	for _, flag := range c.Words[1 : len(c.Words)-len(rest)+1] {
		if strings.HasPrefix(flag.Text, "-I") {
			// Which words it replaces is not looked at: any of them but the first.
			opaque = "it puts its input into the words"
		}
	}
	w.inner(c, append(rest, Word{Split: true}), opaque)
}

// unwrapScript reads words as a script, as eval does.
func (w *walker) unwrapScript(c *Command, words []Word, opaque string) {
	c.Wrapper, c.Opaque = true, opaque
	var text []string
	for _, word := range words {
		if !word.Static {
			c.Opaque = "what it runs is computed"
			return
		}
		text = append(text, word.Text)
	}
	if len(text) > 0 && strings.HasPrefix(text[0], "-") {
		c.Opaque = "an option of it is not known"
		return
	}
	sub := walker{line: &Line{}, depth: w.depth, uses: w.uses, known: w.known, folders: folders{at: c.at}}
	sub.script(strings.Join(text, " "))
	c.Inner = sub.line.Commands
	if c.Opaque == "" {
		c.Opaque = sub.line.Doubt
	}
}

// unwrapShell reads the script of sh -c, bash -lc and their like. A login shell reads the
// profile of its user first, as every shell that the user opens does.
func (w *walker) unwrapShell(c *Command) {
	words, script := c.Words[1:], false
	for len(words) > 0 && words[0].Static && !script {
		switch text := words[0].Text; {
		case slices.Contains([]string{"--login", "--norc", "--noprofile", "--posix"}, text):
		case len(text) > 1 && text[0] == '-' && strings.Trim(text[1:len(text)-1], "euxl") == "" && text[len(text)-1] == 'o' &&
			len(words) > 1 && words[1].Static && words[1].Text == "pipefail":
			words = words[1:]
		case len(text) > 1 && text[0] == '-' && strings.Trim(text[1:], "ceuxl") == "":
			script = strings.Contains(text, "c")
		default:
			w.unreadShell(c, words)
			return
		}
		words = words[1:]
	}
	switch {
	case !script || len(words) == 0:
		w.unreadShell(c, words)
		return
	case path.Base(c.Words[0].Text) == "fish":
		w.unwrapScript(c, words[:1], "it is given to another kind of shell")
		return
	}
	w.unwrapScript(c, words[:1], "")
	if len(words) > 1 && c.Opaque == "" {
		c.Opaque = "its script gets words of its own"
	}
}

// unreadShell is a shell that is not given its commands in its words: it runs a file, which
// a pattern may name, or what it reads.
func (w *walker) unreadShell(c *Command, words []Word) {
	if len(words) > 0 && len(words) == len(c.Words)-1 && words[0].Static && !strings.HasPrefix(words[0].Text, "-") &&
		len(c.Redirects) == 0 && !namesStdin(words[0]) {
		return
	}
	c.Wrapper, c.Opaque = true, "what it runs is not given in its words"
}

// runners are the subcommands by which a program runs another one, with the number of
// operands that stand before it.
var runners = map[string]int{
	"npm exec": 0, "npm x": 0, "pnpm exec": 0, "pnpm dlx": 0, "yarn exec": 0, "yarn dlx": 0, "bun x": 0, "uv run": 0,
	"uv tool run": 0, "poetry run": 0, "pipenv run": 0, "pdm run": 0, "hatch run": 0, "rye run": 0, "bundle exec": 0,
	"mise exec": 0, "mise x": 0, "direnv exec": 1, "docker run": 1, "docker exec": 1, "podman run": 1, "podman exec": 1,
	"docker compose run": 1, "docker compose exec": 1, "kubectl exec": 1, "conda run": 0, "nix run": 0,
}

// unwrapRunner finds what a program is told to run by a subcommand, for rules that forbid.
func (w *walker) unwrapRunner(c *Command, name string) bool {
	for n := 2; n <= 3 && n <= len(c.Words); n++ {
		if !c.Words[n-1].Static {
			return false
		}
		name += " " + c.Words[n-1].Text
		operands, known := runners[name]
		if !known {
			continue
		}
		rest := c.Words[n:]
		options := slices.ContainsFunc(rest, func(word Word) bool { return strings.HasPrefix(word.Text, "-") })
		for len(rest) > 0 && (strings.HasPrefix(rest[0].Text, "-") || operands > 0) {
			if !strings.HasPrefix(rest[0].Text, "-") {
				operands--
			}
			rest = rest[1:]
		}
		if options { // the value of one may look like the program
			c.Wrapper, c.Opaque = true, runs
		}
		if len(rest) > 0 {
			in := &Command{Words: rest, at: c.at}
			w.unwrap(in)
			c.Inner = append(c.Inner, in)
		}
		return true
	}
	return false
}

// unwrapSSH finds what runs at the other end, for rules that forbid.
func (w *walker) unwrapSSH(c *Command) {
	spec := wrapper{operands: 1, values: []string{"-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-W", "-E", "-S"}}
	rest, _ := spec.skip(c.Words[1:])
	w.unwrapScript(c, rest, otherPlace)
	c.Opaque = otherPlace
}

// unwrapFind finds the commands of -exec and its kin, for rules that forbid.
func (w *walker) unwrapFind(c *Command) {
	for i := 1; i < len(c.Words); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, c.Words[i].Text) {
			continue
		}
		var words []Word
		for i++; i < len(c.Words) && c.Words[i].Text != ";" && c.Words[i].Text != "+"; i++ {
			word := c.Words[i]
			if before, _, ok := strings.Cut(word.Text, "{}"); ok {
				word = Word{Text: before}
			}
			words = append(words, word)
		}
		w.inner(c, words, "it runs a command for each file")
	}
}

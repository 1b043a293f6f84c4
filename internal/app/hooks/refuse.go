package hooks

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/gate/shellcmd"
	"callgate/tool"
)

const (
	scriptHint = "name the script as ./path or $CLAUDE_PROJECT_DIR/path"
	maxNested  = 8
)

// plainPrograms read the files that they are given, and run none of them.
var plainPrograms = strings.Fields(`
	[ [[ afplay ag awk base64 basename bat biome black cat chmod chown cmp column comm cp curl cut date df diff dirname
	dprint du echo egrep eslint exit export expr false fgrep file find flake8 fold gawk gh git gofmt gofumpt goimports
	golangci-lint grep gunzip gzip head hexdump isort join jq kill ln local logger ls md5sum mkdir mv mypy nl notify-send
	od oxlint paste prettier printf pwd pylint pyright read readlink realpath return rev rg rm rmdir rsync rubocop ruff
	rustfmt say sed seq set sha1sum sha256sum shasum shellcheck shfmt shift sleep sort stat stylelint tac tail tar tee
	terminal-notifier test touch tr tree true tsc type uniq unset unzip wc wget which xxd yq zip`)

// searchPaths are variables that name folders and files whose code programs run.
var searchPaths = []string{
	"PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_PATH", "PERL5LIB", "RUBYLIB", "LUA_PATH", "CLASSPATH",
	"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "ENV", "CDPATH",
}

// project is where a command runs, and whose files it must name.
type project struct {
	folder, workdir string
	known           map[string]string // variables, when the command runs
	scripts         []string          // files that are run, whatever they are called
	words           []string          // that may name files
}

func newProject(folder, workdir string) *project {
	p := &project{folder: folder, workdir: workdir}
	p.known = map[string]string{"PWD": workdir, "CLAUDE_PROJECT_DIR": folder}
	if home, err := os.UserHomeDir(); err == nil {
		p.known["HOME"] = home
	}
	return p
}

// check reads a command line, and reports one whose scripts cannot be told before it runs.
func (p *project) check(line string, depth int) error {
	u := shellcmd.Use(line, p.known)
	if u.Unread == "" && depth > maxNested {
		u.Unread = "it is nested too deeply"
	}
	if u.Unread != "" {
		return refused("the scripts that the command runs cannot be told: " + u.Unread)
	}
	for _, s := range u.Sets {
		if slices.Contains([]string{"PWD", "CLAUDE_PROJECT_DIR", "HOME"}, s.Name) {
			return refused("the command sets " + s.Name)
		}
		if why := p.searched(s.Name, s.Word.Shape); why != "" {
			return refused(why)
		}
	}
	for _, w := range u.Words {
		if w.Static {
			p.words = append(p.words, w.Text)
		}
		if name, value, ok := strings.Cut(w.Shape, "="); ok { // as env has it
			if why := p.searched(name, value); why != "" {
				return refused(why)
			}
		}
	}
	for _, c := range u.Commands {
		if err := p.command(c, depth); err != nil {
			return err
		}
	}
	return nil
}

func refused(why string) error {
	return tool.Errorf("app.hooks", tool.Invalid, "%s", why).WithHint("%s", scriptHint)
}

// searched says that a variable has programs look for code in the project; "": it has not.
func (p *project) searched(name, value string) string {
	if !slices.Contains(searchPaths, name) {
		return ""
	}
	for part := range strings.SplitSeq(value, ":") {
		switch {
		case part == shellcmd.Unknown: // what it was
		case p.elsewhere(part):
		default:
			return "the command has programs look for code in the project: it sets " + name
		}
	}
	return ""
}

// elsewhere reports whether a word leads out of the project, whatever its unknown parts are.
func (p *project) elsewhere(shape string) bool {
	if rest, ok := strings.CutPrefix(shape, shellcmd.Unknown+"~/"); ok && p.known["HOME"] != "" {
		shape = p.known["HOME"] + "/" + rest
	}
	known, _, cut := strings.Cut(shape, shellcmd.Unknown)
	if !filepath.IsAbs(known) || isInput(known) || cut && strings.Contains(shape, "..") {
		return false
	}
	for _, root := range []string{p.folder, p.workdir} {
		if within(filepath.Clean(known), root) || cut && strings.HasPrefix(root, known) {
			return false
		}
	}
	return true
}

// isInput reports whether a file is what the command reads, and none that lies somewhere.
func isInput(name string) bool {
	return strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/")
}

// command looks at one simple command.
func (p *project) command(c *shellcmd.Command, depth int) error {
	if len(c.Words) == 0 {
		return nil
	}
	first := c.Words[0]
	if !first.Static && !p.elsewhere(first.Shape) {
		return refused("the program that the command runs cannot be told before it runs")
	}
	name := path.Base(first.Text)
	if why := p.moves(name, c); why != "" {
		return refused(why)
	}
	if r := c.Runs(); r != nil {
		if err := p.run(c, r, depth); err != nil {
			return err
		}
	}
	if slices.Contains(plainPrograms, name) || len(c.Inner) > 0 { // the inner ones are looked at too
		return nil
	}
	for _, w := range c.Words[1:] {
		if !w.Static && !p.elsewhere(w.Shape) && looksLikeScript(w.Shape) {
			return refused(name + " is given a file of the project that cannot be told before it runs")
		}
	}
	return nil
}

// looksLikeScript reports whether a word with unknown parts may name a script.
func looksLikeScript(shape string) bool {
	return strings.Contains(shape, shellcmd.Unknown+"/") || isScript(shape)
}

// moves says that a command runs something in another folder, or all that is in one.
func (p *project) moves(name string, c *shellcmd.Command) string {
	rest := c.Words[1:]
	has := func(flags ...string) bool {
		return slices.ContainsFunc(rest, func(w shellcmd.Word) bool {
			return slices.ContainsFunc(flags, func(f string) bool {
				return w.Text == f || strings.HasPrefix(w.Text, f+"=") || len(f) == 2 && strings.HasPrefix(w.Text, f)
			})
		})
	}
	switch name {
	case "cd", "pushd":
		if len(rest) == 1 && rest[0].Static && p.here(rest[0].Text) {
			return ""
		}
		return "the command changes its folder by " + name + ", so that its scripts cannot be told"
	case "popd", "parallel", "enable":
		return "what " + name + " does cannot be told before it runs"
	case "run-parts":
		return "run-parts runs whatever is in a folder"
	case "env":
		if has("-C", "--chdir", "-S", "--split-string") {
			return "env runs something in another folder, or a command line of its own"
		}
	case "sudo":
		if has("-D", "--chdir") {
			return "sudo runs something in another folder"
		}
	case "find":
		if has("-execdir", "-okdir") {
			return "find runs something in other folders"
		}
	case "xargs":
		return replaced(c)
	}
	return ""
}

// here reports whether a folder is the one in which the command runs anyway.
func (p *project) here(folder string) bool {
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(p.workdir, folder)
	}
	return filepath.Clean(folder) == filepath.Clean(p.workdir)
}

// replaced says that xargs makes what is run of what it reads.
func replaced(c *shellcmd.Command) string {
	mark := ""
	for i, w := range c.Words[1:] {
		flag, value := w.Text, ""
		switch {
		case flag == "-I" || flag == "-J":
			value = "{}"
			if i+2 < len(c.Words) {
				value = c.Words[i+2].Text
			}
		case strings.HasPrefix(flag, "-I") || strings.HasPrefix(flag, "-i") && flag != "-i":
			value = flag[2:]
		case flag == "-i" || flag == "--replace":
			value = "{}"
		case strings.HasPrefix(flag, "--replace="):
			value = strings.TrimPrefix(flag, "--replace=")
		}
		if value != "" {
			mark = value
			break
		}
	}
	if mark == "" {
		return ""
	}
	holds := func(w shellcmd.Word) bool { return strings.Contains(w.Text, mark) }
	for _, in := range c.Inner {
		r := in.Runs()
		if holds(in.Words[0]) || r != nil && (slices.ContainsFunc(r.Code, holds) || slices.ContainsFunc(r.Scripts, holds)) {
			return "xargs runs what it reads"
		}
	}
	return ""
}

// run looks at what a shell or an interpreter is told to run.
func (p *project) run(c *shellcmd.Command, r *shellcmd.Run, depth int) error {
	if r.Module && !r.Isolated {
		return refused(r.Name + " -m runs a module, which may be one of the project")
	}
	for _, w := range r.Scripts {
		if !w.Static && !p.elsewhere(w.Shape) {
			return refused("the file that " + r.Name + " runs cannot be told before it runs")
		}
		if err := p.script(r.Name, w.Text); w.Static && err != nil {
			return err
		}
	}
	code := r.Code
	if r.Stdin {
		input := c.Here
		for _, in := range c.Redirects {
			if in.Writes {
				continue
			}
			if !in.Word.Static {
				return refused("what " + r.Name + " reads, and runs, cannot be told before it runs")
			}
			if err := p.script(r.Name, in.Word.Text); err != nil {
				return err
			}
			return nil
		}
		if len(input) == 0 {
			return refused(r.Name + " runs what it reads, which cannot be told before it runs")
		}
		code = input
	}
	if !r.Shell {
		return nil
	}
	var text []string
	for _, w := range code {
		if !w.Static {
			return refused("the code that " + r.Name + " runs cannot be told before it runs")
		}
		text = append(text, w.Text)
	}
	if len(text) == 0 || strings.TrimSpace(strings.Join(text, "")) == "" {
		return nil
	}
	return p.check(strings.Join(text, " "), depth+1)
}

// script takes a file that is run. A folder is refused: what is in it may change.
func (p *project) script(by, name string) error {
	if strings.Contains(name, "://") || name == "" {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(p.workdir, name)
	}
	if isInput(name) {
		return refused(by + " runs what it reads, which cannot be told before it runs")
	}
	if name = filepath.Clean(name); !within(name, p.folder) && !within(name, p.workdir) {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return refused(by + " runs a folder of the project")
	}
	p.scripts = append(p.scripts, name)
	return nil
}

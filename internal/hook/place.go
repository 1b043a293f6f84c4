package hook

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/gate/shellcmd"
	"callgate/tool"
)

const placeHint = `pass it as an argument: bash -c '… "$1"' _ {{tool.path}}`

// evaluators are the programs that read their words, or what they get, as commands.
var evaluators = []string{
	"eval", "trap", "ssh", "su", "xargs", "parallel", "watch", "at", "batch", "expect", "tmux", "screen", "script",
	"osascript", "sqlite3", "let", "unset", "read", "mapfile", "readarray", "getopts", "declare", "typeset", "alias",
}

// plainWords are programs whose -c and -e have nothing to do with code.
var plainWords = []string{
	"echo", "grep", "egrep", "fgrep", "rg", "wc", "head", "tail", "sort", "uniq", "cat", "gzip", "gunzip", "zcat", "cut",
	"tr", "cmp", "jq", "tree", "set", "shasum", "sha256sum", "md5sum", "touch", "cp", "mkdir",
}

var codeFlag = regexp.MustCompile(`^(-[A-Za-z]*[ceE]|--(eval|command|execute|exec|expression|split-string)|-S)$`)

// checkPlaces reports a place whose value would be read as code: by another shell, by an
// interpreter, by bash's own arithmetic.
func (c *Command) checkPlaces() error {
	if len(c.Values) == 0 {
		return nil
	}
	u := shellcmd.Use(c.Line, nil)
	if u.Unread != "" {
		return badPlace("the command holds places, and " + u.Unread)
	}
	p := placed{names: map[string]bool{}}
	for i := range c.Values {
		p.names[variable(i)] = true
	}
	for changed := true; changed; { // a variable that is set to a value is as good as its place
		changed = false
		for _, s := range u.Sets {
			if !p.names[s.Name] && p.in(s.Word) {
				p.names[s.Name], changed = true, true
			}
		}
	}
	if slices.ContainsFunc(u.Evaluated, func(name string) bool { return p.names[name] }) {
		return badPlace("a place stands where bash evaluates its value, as a number or a name")
	}
	for _, one := range u.Commands {
		if why := p.evaluated(one); why != "" {
			return badPlace(why)
		}
	}
	return nil
}

func badPlace(why string) error {
	return tool.Errorf("hook.CompileCommand", tool.Invalid, "%s", why).WithHint("%s", placeHint)
}

// placed are the variables that hold values of places.
type placed struct{ names map[string]bool }

func (p placed) in(w shellcmd.Word) bool {
	return slices.ContainsFunc(w.Vars, func(name string) bool { return p.names[name] })
}

func (p placed) any(list []shellcmd.Word) bool { return slices.ContainsFunc(list, p.in) }

// evaluated says where a command reads the value of a place as code; "": nowhere.
func (p placed) evaluated(c *shellcmd.Command) string {
	if len(c.Words) == 0 {
		return ""
	}
	if p.in(c.Words[0]) {
		return "a place names the program that is run"
	}
	name := path.Base(c.Words[0].Text)
	if r := c.Runs(); r != nil {
		switch {
		case p.any(r.Code):
			return "a place stands in code that " + name + " runs"
		case p.any(r.Scripts):
			return "a place names the file that " + name + " runs"
		case r.Stdin && (len(c.Here) == 0 || p.any(c.Here)):
			return "a place may stand in what " + name + " reads, and runs"
		}
	}
	rest := c.Words[1:]
	if slices.Contains(evaluators, name) && p.any(rest) {
		return "a place stands behind " + name + ", which reads it as a command"
	}
	shell := false
	for i, w := range rest {
		shell = shell || w.Static && shellcmd.Scripted(w.Text)
		if i == 0 || !p.in(w) {
			continue
		}
		flag := rest[i-1].Text
		switch {
		case flag == "-v" && slices.Contains([]string{"printf", "test", "["}, name):
			return "a place names a variable"
		case !codeFlag.MatchString(flag) || slices.Contains(plainWords, name):
		case shell || name == "env" || strings.TrimPrefix(w.Shape, shellcmd.Unknown) != "":
			return "a place stands behind " + flag + " of " + name + ", which may read it as code"
		}
	}
	return ""
}

package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// Run is what a command that runs code is told to run: code in its words, a file, a
// module, or what it reads.
type Run struct {
	Name     string // of the program, without its folder
	Shell    bool   // the code is that of a shell
	Code     []Word
	Scripts  []Word
	Module   bool // it looks for a module in the folder that it runs in
	Stdin    bool
	Isolated bool
}

// runFlags are the options of an interpreter, as letters that may stand together.
type runFlags struct {
	code, script, value, module, isolated, stdin string
	// subcommands come before the file; with another first word it runs none.
	subcommands []string
}

var (
	shellFlags  = runFlags{code: "c", value: "oO", stdin: "s"}
	pythonFlags = runFlags{code: "c", value: "WX", module: "m", isolated: "IP"}
	nodeFlags   = runFlags{code: "ep", script: "r", value: "C"}
	rubyFlags   = runFlags{code: "e", script: "r", value: "I"}
	otherFlags  = runFlags{code: "eE", value: "IM"}
	filterFlags = runFlags{code: "e", script: "f", value: "vF"}
)

// longRuns are the long options whose value is code, or a file that is run.
var longRuns = map[string]bool{ // true: code
	"--eval": true, "--print": true, "--command": true, "--execute": true, "--expression": true,
	"--require": false, "--import": false, "--loader": false, "--experimental-loader": false, "--preload": false,
	"--rcfile": false, "--init-file": false, "--file": false, "-jar": false,
}

// flagsOf are the options of an interpreter; nil: it is none.
func flagsOf(name string) *runFlags {
	switch {
	case slices.Contains(shells, name):
		return &shellFlags
	case strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy"):
		return &pythonFlags
	case name == "node" || name == "nodejs" || name == "tsx" || name == "ts-node":
		return &nodeFlags
	case name == "bun" || name == "deno":
		return &runFlags{code: "ep", script: "r", subcommands: []string{"run"}}
	case strings.HasSuffix(name, "awk") || name == "sed" || name == "gsed":
		return &filterFlags
	case strings.HasPrefix(name, "php"):
		return &runFlags{code: "rBRE", script: "fF", value: "dc"}
	case strings.HasPrefix(name, "ruby"):
		return &rubyFlags
	case isInterpreter(name):
		return &otherFlags
	}
	return nil
}

// Runs says what a command is told to run; nil: it runs no code.
func (c *Command) Runs() *Run {
	if len(c.Words) == 0 || !c.Words[0].Static {
		return nil
	}
	r := &Run{Name: path.Base(c.Words[0].Text)}
	r.Shell = slices.Contains(shells, r.Name)
	rest := c.Words[1:]
	switch r.Name {
	case "eval":
		r.Shell, r.Code = true, rest
		return r
	case "trap":
		r.Shell, r.Code = true, rest[:min(1, len(rest))]
		return r
	case "source", ".":
		r.Scripts = rest[:min(1, len(rest))]
		return r
	}
	flags := flagsOf(r.Name)
	if flags == nil {
		return nil
	}
	rest = r.options(*flags, rest)
	r.Scripts = slices.DeleteFunc(r.Scripts, isLibrary)
	if len(r.Code) > 0 || r.Module || r.Stdin {
		return r
	}
	filter := flags == &filterFlags
	switch {
	case len(rest) == 0:
		r.Stdin = !filter
	case filter && len(r.Scripts) == 0:
		r.Code = rest[:1]
	case filter:
	case len(flags.subcommands) > 0 && rest[0].Static && !strings.ContainsAny(rest[0].Text, "./"):
		if slices.Contains(flags.subcommands, rest[0].Text) {
			after := r.options(*flags, rest[1:])
			r.Scripts = append(r.Scripts, after[:min(1, len(after))]...)
		} else if rest[0].Text == "eval" {
			r.Code = rest[1:]
		}
	default:
		r.Scripts = append(r.Scripts, rest[0])
	}
	return r
}

// isLibrary reports whether what an option names is a library, and no file of the project:
// -r json.
func isLibrary(w Word) bool { return w.Static && !strings.ContainsAny(w.Text, "./") }

// options reads options, and returns the words behind them.
func (r *Run) options(flags runFlags, words []Word) []Word {
	take := func(to *[]Word) {
		if len(words) > 1 {
			words = words[1:]
			*to = append(*to, words[0])
		}
	}
	for ; len(words) > 0; words = words[1:] {
		text := words[0].Text
		switch {
		case text == "-" && words[0].Static:
			r.Stdin = true
			return words[1:]
		case text == "--" && words[0].Static:
			return words[1:]
		case strings.HasPrefix(text, "--") || text == "-jar":
			name, _, attached := strings.Cut(text, "=")
			isCode, known := longRuns[name]
			to := &r.Scripts
			if isCode {
				to = &r.Code
			}
			switch {
			case known && attached:
				value := words[0]
				value.Text = strings.TrimPrefix(value.Text, name+"=")
				value.Shape = strings.TrimPrefix(value.Shape, name+"=")
				*to = append(*to, value)
			case known:
				take(to)
			}
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") && r.Shell:
			r.letters(flags, words[0], take)
			if r.Module {
				return nil
			}
		default:
			return words
		}
	}
	return nil
}

// letters reads options of one letter that stand together. A letter with a value ends them,
// except in a shell, which takes its code from the next words.
func (r *Run) letters(flags runFlags, word Word, take func(*[]Word)) {
	text := word.Text[1:]
	for i := range len(text) {
		in := func(letters string) bool { return strings.IndexByte(letters, text[i]) >= 0 }
		var ignored []Word
		to := &ignored
		switch {
		case in(flags.isolated):
			r.Isolated = true
			continue
		case in(flags.stdin):
			r.Stdin = true
			continue
		case in(flags.module):
			r.Module = true
			return
		case in(flags.code):
			to = &r.Code
		case in(flags.script):
			to = &r.Scripts
		case !in(flags.value):
			continue
		}
		if i+1 < len(text) && !r.Shell {
			if to == &r.Code && strings.Trim(text[i+1:], "abcdefghijklmnopqrstuvwxyz") == "" && word.Static {
				continue // as -pe has it
			}
			attached := word
			attached.Text = text[i+1:]
			attached.Shape = strings.TrimPrefix(word.Shape, word.Text[:i+2])
			*to = append(*to, attached)
			return
		}
		if take(to); !r.Shell {
			return
		}
	}
	if !word.Static && len(r.Code)+len(r.Scripts) == 0 {
		r.Scripts = append(r.Scripts, word) // what it is told is not known
	}
}

// Scripted reports whether a program's name is that of a shell or of an interpreter.
func Scripted(name string) bool { return isInterpreter(path.Base(name)) }

// Each returns the commands of the line, with those that others run.
func (l *Line) Each() []*Command {
	u := &Uses{}
	u.flatten(l.Commands)
	return u.Commands
}

// Scripts are the files that the command is told to run: its program if that is named by a
// path, and the scripts that it gives to an interpreter.
func (c *Command) Scripts() []Word {
	var files []Word
	if len(c.Words) > 0 && (!c.Words[0].Static || strings.Contains(c.Words[0].Text, "/")) {
		files = append(files, c.Words[0])
	}
	if r := c.Runs(); r != nil {
		files = append(files, r.Scripts...)
	}
	return files
}

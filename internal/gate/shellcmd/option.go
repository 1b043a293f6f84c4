package shellcmd

import (
	"regexp"
	"slices"
	"strings"
)

// program is what is known of a program: the options that are safe, which neither run
// another program, nor load one from a file that they name, nor write a file, nor throw
// work away, besides what the program is for. A wildcard covers these options alone.
type program struct {
	safe *options
	// plain says that the program finds nothing in its folder that it runs or is told by.
	plain bool
	// harmless says that no option of it runs or writes, so that a wildcard covers all.
	harmless bool
	// fixed is how many words of its subcommand a pattern must fix.
	fixed int
	// open says that a pattern may leave the subcommand to the wildcard. Its commands are
	// then all that a wildcard covers.
	open bool
	// commands are subcommands, of one word or two, that have options of their own.
	commands map[string]*program
	// flags may stand before the subcommand.
	flags []string
	// runs says that the first operand is what is run, so that a pattern must fix it.
	runs bool
	// named says that a pattern must name it, even of a program that is open.
	named bool
	// never says that no wildcard covers any of its words.
	never bool
	// most is how many operands it may have; 0: any number.
	most int
	// operand and value say why an operand, or the value of an option, is not covered; may be nil.
	operand func(text string) string
	value   func(option, text string) string
}

// options are the safe options of a program, of which one entry gives the short and the long form.
type options struct {
	short  map[byte]argument
	long   map[string]argument
	words  bool // they are words after one dash or two: -run, --run
	number bool // a number is one: head -5
	any    bool // all are
}

// argument is what an option takes.
type argument int

const (
	none     argument = iota
	attached          // a value that is attached to it, or none
	required          // a value, attached or in the next word
)

// opts reads options that are separated by white space: "a/all" is -a and --all, "n/lines="
// takes a value, "color=?" takes one only if it is attached, and # is a number.
func opts(lists ...string) *options {
	o := &options{short: map[byte]argument{}, long: map[string]argument{}}
	for _, list := range lists {
		for _, entry := range strings.Fields(list) {
			names, mark, _ := strings.Cut(entry, "=")
			takes := none
			switch {
			case strings.HasSuffix(entry, "=?"):
				takes = attached
			case mark == "" && strings.HasSuffix(entry, "="):
				takes = required
			}
			if entry == "#" {
				o.number = true
				continue
			}
			for name := range strings.SplitSeq(names, "/") {
				if len(name) == 1 {
					o.short[name[0]] = takes
				} else {
					o.long[name] = takes
				}
			}
		}
	}
	return o
}

// wordOpts reads options that are words, whatever the number of their dashes and letters.
func wordOpts(lists ...string) *options {
	o := opts(lists...)
	o.words = true
	for letter, takes := range o.short {
		o.long[string(letter)] = takes
	}
	return o
}

var allOptions = &options{any: true}

// read says whether a word is a safe option. name is the option, and text its value if it
// is attached; more says that the value is the next word.
func (o *options) read(word string) (name, text string, more, safe bool) {
	switch {
	case o == nil:
		return "", "", false, false
	case o.any:
		return "", "", false, true
	case o.number && isNumber(word[1:]):
		return "", "", false, true
	case o.words || strings.HasPrefix(word, "--"):
		name, text, valued := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
		takes, known := o.long[name]
		if o.words && known && takes == none && (text == "true" || text == "false") {
			return name, "", false, true
		}
		return name, text, takes == required && !valued, known && (takes != none || !valued)
	}
	for i := 1; i < len(word); i++ {
		takes, known := o.short[word[i]]
		switch {
		case o.number && isNumber(word[i:]):
			return "", "", false, true
		case !known:
			return "", "", false, false
		case takes == attached, takes == required && i+1 < len(word):
			return word[i : i+1], strings.TrimPrefix(word[i+1:], "="), false, true
		case takes == required:
			return word[i : i+1], "", true, true
		}
	}
	return "", "", false, true
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// negative is a value that begins with a dash and is no option: find -mtime -7.
var negative = regexp.MustCompile(`^-[0-9]+[A-Za-z]?$`)

// The reasons why a wildcard does not cover a word.
const (
	runs    = "it is told to run another program"
	writes  = "it is told to write a file"
	unseen  = "a word that is not known before could be an option"
	unknown = "an option of it is not known to be safe"
	unfixed = "the subcommand is not fixed"
	unfit   = "what it runs must be fixed"
)

// risk says why a wildcard does not cover the words from one on; "" if it does.
func (p *program) risk(words []Word, from int) string {
	if p.never {
		return unfit
	}
	if p.commands == nil && p.fixed == 0 {
		return p.scan(words, 1, from)
	}
	at := 1
	for at < len(words) && words[at].Static && slices.Contains(p.flags, words[at].Text) {
		at++
	}
	if p.commands != nil && at < len(words) && at < from && strings.HasPrefix(words[at].Text, "-") {
		return "an option before the subcommand must stand in a pattern that fixes every word"
	}
	if !p.open && from <= p.fixed {
		return unfixed
	}
	if at >= len(words) {
		return ""
	}
	if !words[at].Static {
		return unseen
	}
	sub, n := p.command(words[at:])
	switch {
	case sub == nil && p.open:
		return "its subcommand " + words[at].Text + " can run programs, or is not known"
	case sub == nil && p.commands == nil:
		return p.scan(words, at+p.fixed, from)
	case sub == nil:
		sub, n = &program{safe: p.safe, operand: p.operand, value: p.value}, max(1, p.fixed)
	}
	if from < at+n && (!p.open || sub.named) {
		return unfixed
	}
	return sub.after(words, at+n, from)
}

// after looks at the words of a subcommand, which begin at a place.
func (p *program) after(words []Word, at, from int) string {
	switch {
	case p.never:
		return unfit
	case p.runs:
		for i := at; i < from; i++ {
			if !strings.HasPrefix(words[i].Text, "-") {
				return "" // what it runs is fixed, and the rest is for that
			}
		}
		return unfit
	}
	return p.scan(words, at, from)
}

// command finds a subcommand, and how many words it has.
func (p *program) command(words []Word) (*program, int) {
	if len(words) > 1 && words[1].Static {
		if sub := p.commands[words[0].Text+" "+words[1].Text]; sub != nil {
			return sub, 2
		}
	}
	return p.commands[words[0].Text], 1
}

// scan looks at options and operands, which begin at a place; the words before from are fixed.
func (p *program) scan(words []Word, at, from int) string {
	if p.most > 0 && operands(words[at:]) > p.most {
		return writes // into the last
	}
	for i := max(at, from); i < len(words) && !p.harmless; i++ {
		more, why := p.word(words[i])
		if why != "" {
			return why
		}
		if !more || i+1 == len(words) {
			continue
		}
		i++ // the value
		option, value := words[i-1].Text, words[i]
		switch {
		case !value.Static && (value.mayBeOption() || p.value != nil):
			return unseen
		case strings.HasPrefix(value.Text, "-") && value.Text != "-" && !negative.MatchString(value.Text):
			return unknown // it may be an option after all
		}
		if why := p.judge(option, value.Text); why != "" {
			return why
		}
	}
	return ""
}

// word looks at one word. more says that the next one is its value.
func (p *program) word(w Word) (more bool, why string) {
	if !w.Static {
		if p.operand != nil || w.mayBeOption() {
			return false, unseen
		}
		return false, ""
	}
	if len(w.Text) < 2 || w.Text[0] != '-' || w.Text == "--" {
		if p.operand != nil {
			return false, p.operand(w.Text)
		}
		return false, ""
	}
	name, text, more, safe := p.safe.read(w.Text)
	if !safe {
		return false, unknown
	}
	if text != "" {
		return false, p.judge(name, text)
	}
	return more, ""
}

// judge looks at the value of an option. An option of one letter stands at the end of its word.
func (p *program) judge(option, text string) string {
	if p.value == nil {
		return ""
	}
	if !strings.HasPrefix(option, "--") && strings.HasPrefix(option, "-") && !p.safe.words {
		option = option[len(option)-1:]
	}
	return p.value(strings.TrimLeft(option, "-"), text)
}

// operands counts the words that are not options.
func operands(words []Word) (n int) {
	for _, w := range words {
		if w.Split {
			n++ // it may be two
		}
		if !strings.HasPrefix(w.Text, "-") {
			n++
		}
	}
	return n
}

// mayBeOption reports whether a word that is not static may turn out as an option.
func (w Word) mayBeOption() bool { return w.Split || w.Text == "" || w.Text[0] == '-' }

// has returns a judge of operands that refuses those with a text.
func has(text, why string) func(string) string {
	return func(operand string) string {
		if strings.Contains(operand, text) {
			return why
		}
		return ""
	}
}

func begins(prefix, why string) func(string) string {
	return func(operand string) string {
		if strings.HasPrefix(operand, prefix) {
			return why
		}
		return ""
	}
}

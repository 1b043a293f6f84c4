package argv

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"callgate/tool"
)

// CommandFlag is a flag of the command itself, which may stand among the tool's.
type CommandFlag struct {
	Name  string
	Short string // one letter, or none
	Takes bool   // it has a value
	// Yields says that a parameter of the same name takes precedence. Without it
	// such a flag is refused as ambiguous, unless it stands after --.
	Yields bool
}

// FlagValue is one of the command's own flags with its value.
type FlagValue struct{ Name, Value string }

// Command is what a command line is parsed against.
type Command struct {
	Tool   string // for messages
	Params []Param
	Own    []CommandFlag
	Stdin  io.Reader // for a value that is -
	// Path is where a path that the user wrote leads; nil: as it is written.
	Path func(string) string
	// AllowUnknown takes any flag for a parameter of any type: the tool is not
	// known, and the kernel will say why.
	AllowUnknown bool
}

// Parsed is a parsed command line.
type Parsed struct {
	Args json.RawMessage // one JSON object
	Own  []FlagValue
}

// argsFlag is the flag for all arguments at once.
const argsFlag = "args"

// Scan finds the command's own flags without knowing the tool's: the flags that
// say where to find the tool must be known before it.
func Scan(own []CommandFlag, argv []string) []FlagValue {
	r := reader{Command: Command{Own: own}, rest: argv, index: index(nil)}
	for r.next() && r.token != "--" {
		if o := r.own(); o != nil {
			_ = r.addOwn(o) // Parse reports what is wrong with it
		}
	}
	return r.found
}

// Parse parses what follows the tool's name. Its errors are of kind Invalid and
// say what to write instead.
func (c Command) Parse(argv []string) (Parsed, error) {
	r := reader{Command: c, rest: argv, index: index(c.Params), values: map[string]json.RawMessage{}}
	for r.next() {
		if err := r.read(); err != nil {
			return Parsed{}, err
		}
	}
	args, err := r.assemble()
	return Parsed{Args: args, Own: r.found}, err
}

// reader walks over a command line.
type reader struct {
	Command
	rest  []string
	index map[string]*Param

	token    string // the present word
	name     string // of the flag, without dashes
	value    string
	hasValue bool
	plain    bool // after --: every flag is the tool's

	found     []FlagValue
	base      json.RawMessage // the value of --args
	values    map[string]json.RawMessage
	usedStdin string // the flag that read it
}

// index maps the folded forms of names to parameters. A form that two parameters
// share maps to nil.
func index(params []Param) map[string]*Param {
	found := make(map[string]*Param, len(params))
	for i := range params {
		key := fold(params[i].Name)
		if _, twice := found[key]; twice {
			found[key] = nil
			continue
		}
		found[key] = &params[i]
	}
	return found
}

func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

func (r *reader) next() bool {
	if len(r.rest) == 0 {
		return false
	}
	r.token, r.rest = r.rest[0], r.rest[1:]
	r.name, r.value, r.hasValue = strings.Cut(strings.TrimLeft(r.token, "-"), "=")
	return true
}

// param finds the parameter with a flag's name.
func (r *reader) param(name string) *Param {
	for i := range r.Params {
		if r.Params[i].Name == name {
			return &r.Params[i]
		}
	}
	return r.index[fold(name)]
}

// own returns the command's own flag that the present word is; nil for none.
func (r *reader) own() *CommandFlag {
	for i, o := range r.Command.Own {
		switch {
		case strings.HasPrefix(r.token, "--"):
			if o.Name == r.name {
				return &r.Command.Own[i]
			}
		case o.Short != "" && strings.HasPrefix(r.token, "-"+o.Short):
			r.value, r.hasValue = strings.CutPrefix(r.token, "-"+o.Short)
			r.value = strings.TrimPrefix(r.value, "=")
			r.hasValue = r.value != ""
			if o.Takes || !r.hasValue {
				return &r.Command.Own[i]
			}
		}
	}
	return nil
}

// addOwn adds one of the command's own flags, with its value.
func (r *reader) addOwn(o *CommandFlag) error {
	switch {
	case r.hasValue:
	case !o.Takes:
		r.value = "true"
	case len(r.rest) == 0:
		return r.invalid("--%s needs a value", o.Name)
	default:
		r.value, r.rest = r.rest[0], r.rest[1:]
	}
	r.found = append(r.found, FlagValue{o.Name, r.value})
	return nil
}

// read parses the present word.
func (r *reader) read() error {
	switch {
	case r.token == "--" && !r.plain:
		r.plain = true
		return nil
	case r.token == "-" || !strings.HasPrefix(r.token, "-"):
		return r.strayWord()
	}
	own := r.own()
	if own != nil && !strings.HasPrefix(r.token, "--") {
		return r.addOwn(own)
	}
	p := r.param(r.name)
	if r.AllowUnknown && own == nil && r.name != argsFlag {
		p = &Param{Name: strings.ReplaceAll(r.name, "-", "_")}
	}
	switch {
	case own != nil && p != nil && !r.plain && !own.Yields:
		return r.invalid("--%s is a flag of this command and a parameter of %s", own.Name, r.Tool).
			WithHint("for the command, put it before the tool's name; for the tool, after a --")
	case p != nil && strings.HasPrefix(r.token, "--"):
		return r.set(p)
	case own != nil && !r.plain:
		return r.addOwn(own)
	case r.name == argsFlag && strings.HasPrefix(r.token, "--"):
		return r.readArgsFlag()
	}
	if positive, no := strings.CutPrefix(r.name, "no-"); no && !r.hasValue {
		if p := r.param(positive); p != nil && p.may("boolean") && len(p.Types) > 0 {
			return r.put(p, json.RawMessage("false"))
		}
	}
	return r.unknown()
}

// set reads the value of a parameter.
func (r *reader) set(p *Param) error {
	if !r.hasValue {
		switch {
		case p.is("boolean") && len(r.rest) > 0 && (r.rest[0] == "true" || r.rest[0] == "false"):
			r.value, r.rest = r.rest[0], r.rest[1:]
		case p.is("boolean"), r.AllowUnknown && (len(r.rest) == 0 || strings.HasPrefix(r.rest[0], "-")):
			r.value = "true"
		case len(r.rest) == 0 || r.isFlag(r.rest[0]):
			return r.invalid("--%s needs a value (%s)", p.Flag(), p.Type()).
				WithHint("write --%s=VALUE when the value looks like a flag", p.Flag())
		default:
			r.value, r.rest = r.rest[0], r.rest[1:]
		}
	}
	if r.value == "-" && (p.is("string") || len(p.Types) == 0) {
		text, err := r.stdin(p.Flag())
		if err != nil {
			return err
		}
		return r.put(p, quote(text))
	}
	v, err := p.parse(r.value)
	if err != nil {
		return err
	}
	return r.put(p, v)
}

// isFlag reports whether a word is a known flag, and so hardly meant as a value.
func (r *reader) isFlag(word string) bool {
	if word == "--" {
		return true
	}
	look := reader{Command: r.Command, rest: []string{word}, index: r.index}
	if look.next(); look.own() != nil && !look.hasValue {
		return true
	}
	return strings.HasPrefix(word, "--") && (look.name == argsFlag || look.param(look.name) != nil)
}

// put stores a value; the values of a list are collected.
func (r *reader) put(p *Param, v json.RawMessage) error {
	before, again := r.values[p.Name]
	switch {
	case !again && !p.is("array"):
		r.values[p.Name] = v
		return nil
	case !p.may("array"):
		return r.invalid("--%s is given twice", p.Flag())
	}
	list := elements(before)
	if typeOf(v) == "array" && (!slices.Contains(p.Items, "array") || nested(v)) {
		list = append(list, elements(v)...)
	} else {
		list = append(list, v)
	}
	whole, err := marshal(list)
	r.values[p.Name] = whole
	return err
}

// readArgsFlag parses --args.
func (r *reader) readArgsFlag() error {
	if r.base != nil {
		return r.invalid("--args is given twice")
	}
	if !r.hasValue {
		if len(r.rest) == 0 {
			return r.invalid("--args needs a value").WithHint("write --args '{…}', --args @file or --args -")
		}
		r.value, r.rest = r.rest[0], r.rest[1:]
	}
	text, err := r.source(r.value)
	if err != nil {
		return err
	}
	if v, ok := asJSON(text); !ok || typeOf(v) != "object" {
		return r.invalid("--args must be one JSON object, and %q is not", tool.Truncate(text)).
			WithHint("write --args '{…}', --args @file or --args -")
	}
	r.base = json.RawMessage(text)
	return nil
}

func (r *reader) source(value string) (string, error) {
	switch path, file := strings.CutPrefix(value, "@"); {
	case value == "-":
		return r.stdin(argsFlag)
	case file:
		if r.Path != nil {
			path = r.Path(path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", &tool.Error{Op: "argv.Parse", Kind: tool.Invalid, Err: err,
				Message: "the file for --args cannot be read"}
		}
		return string(data), nil
	default:
		return value, nil
	}
}

func (r *reader) stdin(flag string) (string, error) {
	if r.usedStdin != "" {
		return "", r.invalid("--%s and --%s both read standard input, which can be read once", r.usedStdin, flag)
	}
	r.usedStdin = flag
	if r.Stdin == nil {
		return "", nil
	}
	data, err := io.ReadAll(r.Stdin)
	if err != nil {
		return "", &tool.Error{Op: "argv.Parse", Kind: tool.Invalid, Message: "standard input cannot be read", Err: err}
	}
	return string(data), nil
}

// assemble joins the value of --args with the flags.
func (r *reader) assemble() (json.RawMessage, error) {
	if r.base != nil && len(r.values) == 0 {
		return r.base, nil
	}
	all := map[string]json.RawMessage{}
	if r.base != nil {
		if err := json.Unmarshal(r.base, &all); err != nil {
			return nil, &tool.Error{Op: "argv.Parse", Kind: tool.Invalid, Message: "--args cannot be read", Err: err}
		}
	}
	maps.Copy(all, r.values)
	return marshal(all)
}

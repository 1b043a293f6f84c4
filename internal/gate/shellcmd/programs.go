package shellcmd

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// program is what is known of the options of a program that run other programs
// or write files. A wildcard does not cover them.
type program struct {
	// subcommand says that the first words say what it does, so that a pattern
	// must fix that many of them.
	subcommand int
	short      string   // letters of short options, which may stand together: -xo
	long       []string // names of long options, which may be shortened: --out
	single     []string // options that are words after one dash or two: -exec
	// operands says why an operand is not covered; may be nil.
	operand func(text string) string
}

const (
	runs   = "it is told to run another program"
	writes = "it is told to write a file"
	unseen = "a word that is not known before could be an option"
)

// programs is the table. What is not in it is a human's choice.
var programs = map[string]program{
	"find": {single: []string{
		"exec", "execdir", "ok", "okdir", "delete", "fprint", "fprint0", "fprintf", "fls", "files0-from",
	}},
	"fd":     {short: "xX", long: []string{"exec", "exec-batch"}},
	"fdfind": {short: "xX", long: []string{"exec", "exec-batch"}},
	"rg":     {long: []string{"pre", "pre-glob", "hostname-bin"}},
	"ag":     {long: []string{"pager"}}, "ack": {long: []string{"pager", "output", "ackrc"}},
	"sort": {short: "oT", long: []string{"output", "compress-program", "temporary-directory"}},
	"tree": {short: "oR", long: []string{"output"}},
	"uniq": {},
	"less": {short: "oOkK", long: []string{"log-file", "LOG-FILE", "lesskey-file", "lesskey-src", "lesskey-content"}, operand: plusCommand},
	"more": {operand: plusCommand},
	"man":  {short: "PHCM", long: []string{"pager", "html", "config-file", "preprocessor", "manpath"}},
	"tar":  tarProgram, "bsdtar": tarProgram, "gtar": tarProgram,
	"zip":   {short: "T", long: []string{"unzip-command", "test"}},
	"unzip": {short: "d"},
	"7z":    {subcommand: 1}, "cpio": {short: "iopIOF", long: []string{"extract", "rsh-command", "to-stdout", "file"}},
	"curl": {short: "oOTKcDJ", long: []string{
		"output", "remote-name", "upload-file", "config", "cookie-jar", "dump-header", "trace", "stderr", "libcurl",
		"etag-save", "hsts", "alt-svc", "remote-name-all", "output-dir", "engine", "unix-socket",
	}, operand: func(text string) string {
		if strings.Contains(text, "%output") { // of --write-out
			return writes
		}
		return ""
	}},
	"wget": {short: "OPoaieU", long: []string{
		"output-document", "directory-prefix", "output-file", "append-output", "input-file", "execute", "use-askpass",
		"config", "save-cookies", "warc-file", "post-file", "body-file",
	}},
	"rsync": {short: "eM", long: []string{"rsh", "rsync-path", "remote-option", "log-file", "write-batch", "daemon", "config"}},
	"scp":   {short: "SoFJD"}, "sftp": {short: "SoFJDbs"},
	"date":    {short: "s", long: []string{"set"}},
	"file":    {short: "CmM", long: []string{"compile", "magic-file"}},
	"iconv":   {short: "o", long: []string{"output"}},
	"xmllint": {long: []string{"output", "shell", "loaddtd", "noent"}, short: "o"},
	"jq":      {short: "fL", long: []string{"from-file", "in-place"}},
	"yq":      {short: "isf", long: []string{"inplace", "in-place", "split-exp", "from-file"}},
	"xxd":     {short: "r", long: []string{"revert"}}, "diff": {long: []string{"paginate"}, short: "l"},
	"pandoc": {short: "oFLtf", long: []string{
		"output", "filter", "lua-filter", "extract-media", "pdf-engine", "defaults", "to", "from", "log",
	}},
	"bat":  {long: []string{"pager", "paging", "generate-config-file", "completion", "config-file"}},
	"make": makeProgram, "gmake": makeProgram,
	"ninja": {short: "Cft", long: []string{"quiet"}}, "just": {short: "fd", long: []string{
		"justfile", "working-directory", "shell", "shell-arg", "set", "command", "chooser", "evaluate",
	}},
	"go": {subcommand: 1, single: []string{
		"exec", "toolexec", "o", "c", "vettool", "overlay", "modfile", "C", "cpuprofile", "memprofile", "blockprofile",
		"mutexprofile", "trace", "coverprofile", "outputdir", "ldflags", "gcflags", "asmflags", "gccgoflags", "compiler",
		"pkgdir", "w", "u", "fuzz", "gocoverdir", "testlogfile", "fuzzcachedir", "mod", "workfile", "artifacts",
	}},
	"cargo": {subcommand: 1, short: "ZC", long: []string{"config", "manifest-path", "target-dir", "out-dir", "artifact-dir"}},
	"rustc": {subcommand: 1, short: "oCZ", long: []string{"out-dir", "emit", "codegen", "sysroot"}},
	"npm":   nodeProgram, "pnpm": nodeProgram, "yarn": nodeProgram, "bun": nodeProgram,
	"pip": {subcommand: 1}, "pip3": {subcommand: 1}, "uv": {subcommand: 1}, "poetry": {subcommand: 1},
	"docker": {subcommand: 1}, "podman": {subcommand: 1}, "kubectl": {subcommand: 1}, "gh": {subcommand: 2},
	"pytest": {short: "pco", long: []string{
		"rootdir", "confcutdir", "config-file", "override-ini", "basetemp", "junitxml", "junit-xml", "pdbcls", "pastebin",
		"debug", "resultlog", "report-log", "log-file", "cov-report", "cov-config", "html",
	}},
	"jest": {long: []string{"config", "globalsetup", "outputfile", "rootdir", "runner", "transform", "reporters"}, short: "c"},
	"mvn":  {short: "fDsl"}, "gradle": {short: "bIcpDP", long: []string{"init-script", "build-file", "project-dir"}},
	"printf": {short: "v"},
	"test":   testProgram, "[": testProgram,
	"gofmt": {single: []string{"w", "cpuprofile"}}, "prettier": {short: "w", long: []string{
		"write", "plugin", "config", "cache-location", "plugin-search-dir",
	}},
	"eslint": {short: "co", long: []string{
		"fix", "config", "plugin", "rulesdir", "resolve-plugins-relative-to", "output-file", "format", "parser",
		"cache-location", "cache-file", "env-info",
	}},
	"journalctl": {long: []string{"vacuum-size", "vacuum-time", "vacuum-files", "rotate", "flush", "sync", "update-catalog"}},
	"openssl":    {subcommand: 1, single: []string{"out", "engine", "provider", "writerand", "config", "keyout"}},
	"nc":         {short: "ec", long: []string{"exec", "sh-exec", "lua-exec"}}, "ncat": {short: "ec", long: []string{
		"exec", "sh-exec", "lua-exec", "output",
	}},
	"socat": {operand: func(string) string { return runs }},
	"dd":    {operand: func(text string) string { return whenPrefix(text, "of=", writes) }},
}

var (
	tarProgram = program{subcommand: 1, short: "IFxcruACTg", long: []string{
		"checkpoint-action", "to-command", "use-compress-program", "info-script", "new-volume-script", "rsh-command",
		"rmt-command", "extract", "get", "create", "append", "update", "delete", "catenate", "concatenate", "directory",
		"index-file", "volno-file", "listed-incremental", "transform", "files-from",
	}, operand: func(text string) string {
		if strings.Contains(text, ":") { // an archive on another machine
			return runs
		}
		return ""
	}}
	makeProgram = program{short: "fCIEWo", long: []string{
		"file", "makefile", "directory", "include-dir", "eval", "what-if", "new-file", "assume-new",
	}, operand: func(text string) string {
		if strings.Contains(text, "=") {
			return "it is told to set a variable"
		}
		return ""
	}}
	nodeProgram = program{subcommand: 1, short: "C", long: []string{
		"prefix", "script-shell", "node-options", "userconfig", "globalconfig", "cwd", "dir", "shell", "config", "global",
		"use-yarnrc", "modules-folder", "registry",
	}}
	// testProgram: bash evaluates the names of variables as it does arithmetic.
	testProgram = program{single: []string{"v", "R", "eq", "ne", "lt", "le", "gt", "ge"}}
)

// runOptions are the words by which programs are told to run another, so that a
// rule that forbids a program cannot tell.
var runOptions = map[string][]string{
	"git": {
		"-c", "--config-env", "--exec-path", "--exec", "-x", "--extcmd", "--upload-pack", "--receive-pack", "-O",
		"--open-files-in-pager", "foreach", "run", "--tree-filter", "--index-filter", "--msg-filter", "--env-filter",
	},
	"tar":   {"--checkpoint-action", "--to-command", "-I", "--use-compress-program", "-F", "--info-script"},
	"go":    {"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"},
	"rg":    {"--pre"},
	"fd":    {"-x", "-X", "--exec", "--exec-batch"},
	"rsync": {"-e", "--rsh", "--rsync-path"},
	"make":  {"--eval", "-E", "SHELL", "-f", "--file", "--makefile"},
	"sort":  {"--compress-program"},
	"vim":   {"-c", "-S", "-s", "--cmd", "-u"}, "vi": {"-c"}, "nvim": {"-c", "-S", "-l", "--cmd"},
}

func hasRunOption(name string, words []Word) bool {
	for _, w := range words {
		option, _, valued := strings.Cut(w.Text, "=")
		for _, run := range runOptions[name] {
			long := strings.HasPrefix(run, "--") && len(option) > 2
			if option == run || long && strings.HasPrefix(run, option) || !valued && !long && len(run) == 2 &&
				strings.HasPrefix(option, run) {
				return true
			}
		}
	}
	return false
}

// neverWild are commands of bash that change what later words mean, or evaluate
// their words. A wildcard never covers their words.
var neverWild = []string{
	"eval", "source", ".", "trap", "read", "mapfile", "readarray", "declare", "typeset", "local", "export", "readonly",
	"unset", "let", "set", "shopt", "alias", "unalias", "hash", "enable", "complete", "compgen", "compopt", "bind", "fc",
	"history", "getopts", "wait", "env", "xargs", "ssh", "su", "at", "batch", "crontab", "expect", "vim", "vi", "nvim",
	"view", "ex", "emacs", "ed", "nano", "ftp", "tclsh", "wish", "osascript", "sqlite3", "psql", "mysql", "redis-cli",
	"screen", "tmux", "git-shell", "dpkg", "rpm", "apt", "apt-get", "snap", "ld.so", "m4", "bc", "dc", "gnuplot", "latex",
	"pdflatex", "tex", "ghc", "cmake", "meson", "bazel", "jshell", "scala", "irb", "ghci", "octave", "sqlplus",
}

// interpreters run the code in a file that they are given as their first operand.
// A wildcard may stand for what follows a fixed file.
var interpreters = []string{
	"python", "python2", "python3", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "deno", "lua", "luajit", "php",
	"Rscript", "julia", "java", "awk", "gawk", "mawk", "nawk", "sed", "gsed", "tsx", "ts-node", "groovy", "elixir",
}

var versioned = regexp.MustCompile(`^(python|pypy|perl|ruby|lua|php|node)[0-9.]+$`)

func isInterpreter(name string) bool {
	return slices.Contains(interpreters, name) || slices.Contains(shells, name) || versioned.MatchString(name)
}

// runsCode reports whether an interpreter is given code in its words or by its
// input.
func runsCode(name string, words []Word) bool {
	if !isInterpreter(name) || name == "sed" || name == "gsed" {
		return false
	}
	if strings.HasSuffix(name, "awk") {
		return slices.ContainsFunc(words[1:], func(w Word) bool {
			return !w.Static || strings.Contains(w.Text, "system") || strings.Contains(w.Text, "|")
		})
	}
	if len(words) == 1 {
		return true
	}
	first := words[1]
	if !first.Static || namesStdin(first) {
		return true
	}
	return strings.HasPrefix(first.Text, "-") && !slices.Contains([]string{"-m", "--version", "-V", "-v"}, first.Text)
}

// risk says why the words from one on, for which a wildcard stands, are not
// covered by it; "" if they are.
func risk(words []Word, from int) string {
	if from == 0 {
		return "the program is not fixed"
	}
	name := path.Base(words[0].Text)
	if _, ok := wrappers[name]; ok || slices.Contains(neverWild, name) {
		return "what it runs must be fixed"
	}
	if name == "sed" || name == "gsed" {
		return sedRisk(words[1:])
	}
	if isInterpreter(name) {
		return interpreterRisk(words[1:], from-1)
	}
	if name == "git" {
		return gitRisk(words, from)
	}
	p, known := programs[name]
	if !known {
		return ""
	}
	if from <= p.subcommand {
		return "the subcommand is not fixed"
	}
	if name == "uniq" && operands(words[1:]) > 1 {
		return writes // into the second
	}
	return p.risk(words[from:])
}

// interpreterRisk reports whether the fixed words name what is run: a file, or a
// module.
func interpreterRisk(words []Word, from int) string {
	switch {
	case from >= 2 && words[0].Text == "-m":
		return programs[words[1].Text].risk(words[from:])
	case from == 0 || strings.HasPrefix(words[0].Text, "-"):
		return "what it runs must be fixed"
	}
	return ""
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

func (p program) risk(words []Word) string {
	for _, w := range words {
		if why := p.word(w); why != "" {
			return why
		}
	}
	return ""
}

// mayBeOption reports whether a word that is not static may turn out as an option.
func (w Word) mayBeOption() bool { return w.Split || w.Text == "" || w.Text[0] == '-' }

// word says why one word is not covered.
func (p program) word(w Word) string {
	if !w.Static && (p.operand != nil || w.mayBeOption()) {
		return unseen
	}
	text := w.Text
	if !strings.HasPrefix(text, "-") || text == "-" || text == "--" {
		if p.operand != nil {
			return p.operand(text)
		}
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimLeft(text, "-"), "=")
	name = strings.TrimPrefix(name, "test.") // of go test
	if slices.Contains(p.single, name) {
		return runs
	}
	if strings.HasPrefix(text, "--") {
		for _, long := range p.long {
			if strings.HasPrefix(long, strings.ToLower(name)) || strings.HasPrefix(long, name) {
				return runs
			}
		}
		return ""
	}
	letters := text[1:]
	if len(p.single) > 0 {
		letters = letters[:1] // its options are words, and do not stand together
	}
	if strings.ContainsAny(letters, p.short) {
		return runs
	}
	return ""
}

func whenPrefix(text, prefix, why string) string {
	if strings.HasPrefix(text, prefix) {
		return why
	}
	return ""
}

func plusCommand(text string) string { return whenPrefix(text, "+", runs) }

// safeSed are the scripts of sed that neither write a file nor run a program:
// lines printed or deleted by number or by a plain expression, and substitutions
// without the flags w and e.
var safeSed = regexp.MustCompile(
	`^(?:(?:[0-9]+|\$|/[^/\\;\n]*/)(?:,(?:[0-9]+|\$|/[^/\\;\n]*/))?)?[pdq=]$|^s/[^/\\\n;]*/[^/\\\n;]*/[gpiI0-9]*$`)

// sedRisk looks at every word of a call of sed, also the fixed ones: options of
// GNU sed may stand anywhere, and its first operand is a script.
func sedRisk(words []Word) string {
	script := false
	for _, w := range words {
		switch {
		case !w.Static && (!script || w.mayBeOption()):
			return unseen
		case w.Static && slices.Contains([]string{"-n", "-E", "-r", "-s", "-u", "-z", "-nE", "-nr", "-En", "--"}, w.Text):
		case strings.HasPrefix(w.Text, "-") && w.Text != "-":
			return runs
		case !script:
			if !safeSed.MatchString(w.Text) {
				return runs
			}
			script = true
		}
	}
	if !script {
		return "the script is not fixed"
	}
	return ""
}

package cli_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"callgate/internal/programtest"
)

// A page's setup is testdata/guides/PAGE.txtar: files for its folder (~/FILE: for its home), and these:
//
//	kernel          the arguments of its callgate up; where it listens, the port is what the page calls 7420
//	setup           commands before the first block
//	before COMMAND  commands before each such command of the page
//
// A line WORD=VALUE that these commands print says what a word of the page is here, as the ID of
// an approval. Of lines about one word the last counts.
type guideSetup struct {
	kernel []string
	setup  string
	before map[string]string
	used   map[string]bool // of before
}

// prepare puts what the page needs into its folder, and starts its kernel.
func (g *guide) prepare(file string) {
	g.t.Helper()
	page := strings.TrimSuffix(filepath.Base(file), ".md")
	archive, err := txtar.ParseFile(filepath.Join("testdata", "guides", page+".txtar"))
	if errors.Is(err, fs.ErrNotExist) {
		archive = &txtar.Archive{}
	} else if err != nil {
		g.t.Fatal(err)
	}
	s := guideSetup{kernel: []string{"--no-listen"}, before: map[string]string{}, used: map[string]bool{}}
	for _, f := range archive.Files {
		command, isBefore := strings.CutPrefix(f.Name, "before ")
		switch {
		case isBefore:
			s.before[command] = string(f.Data)
		case f.Name == "setup":
			s.setup = string(f.Data)
		case f.Name == "kernel":
			s.kernel = strings.Fields(string(f.Data))
		default:
			g.put(f.Name, string(f.Data))
		}
	}
	g.setup = s
	g.startKernel()
	g.do(s.setup)
}

// put writes a file of the page.
func (g *guide) put(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.folder, filepath.FromSlash(name))
	if below, ok := strings.CutPrefix(name, "~/"); ok {
		path = filepath.Join(g.home, filepath.FromSlash(below))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		g.t.Fatal(err)
	}
	if strings.HasPrefix(text, "#!") {
		programtest.Write(g.t, path, text)
		return
	}
	write(g.t, path, text)
}

// startKernel starts the kernel of a page, and waits until it serves.
func (g *guide) startKernel() {
	g.t.Helper()
	up := exec.Command("callgate", append([]string{"up"}, g.setup.kernel...)...)
	up.Dir, up.Env = g.folder, append(os.Environ(), g.env()...)
	said, err := os.Create(filepath.Join(g.home, "kernel.said"))
	if err != nil {
		g.t.Fatal(err)
	}
	defer said.Close()
	up.Stdout, up.Stderr = said, said
	if err := up.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = up.Process.Signal(os.Interrupt); _ = up.Wait() })
	var now string
	if !poll(20*time.Second, func() bool {
		now = readFile(g.t, g.home, "kernel.said")
		return strings.Contains(now, "Ctrl-C stops it")
	}) {
		g.t.Fatalf("the kernel does not serve: %s", now)
	}
	if m := regexp.MustCompile(`http://127\.0\.0\.1:(\d+)`).FindStringSubmatch(now); m != nil {
		g.words["7420"] = m[1]
	}
}

// beforeLine runs what the setup has before a command, and returns the command with the words
// that stand for something here.
func (g *guide) beforeLine(line string) string {
	g.t.Helper()
	for command, script := range g.setup.before {
		if command == bareCommand(line) {
			g.setup.used[command] = true
			g.do(script)
			break
		}
	}
	for word, value := range g.words {
		line = regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).ReplaceAllLiteralString(line, value)
	}
	return line
}

// bareCommand is a line without its comment and its alignment.
func bareCommand(line string) string {
	line, _, _ = strings.Cut(line, " #")
	return strings.Join(strings.Fields(line), " ")
}

// prelude has what setups use: ask makes a call that waits for a human, and says the ID of its
// approval; person runs a command as somebody at a terminal does.
const prelude = `ask() { callgate tools call "$@" --no-wait 2>&1 | sed -n 's/.*approvals approve //p'; }
person() { callgate-person "$@" >&2; }
`

// do runs commands of the setup, and takes what they say of words.
func (g *guide) do(script string) {
	g.t.Helper()
	if script == "" {
		return
	}
	cmd, stop := g.shell("-euc", prelude+script)
	defer stop()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("the setup fails:\n%s\n%v\n%s%s", script, err, out, errs.String())
	}
	for _, m := range regexp.MustCompile(`(?m)^([\w-]+)=(\S+)$`).FindAllStringSubmatch(string(out), -1) {
		g.words[m[1]] = m[2]
	}
}

// finished complains of what the setup has for commands that the page no longer has.
func (g *guide) finished() {
	for _, command := range slices.Sorted(maps.Keys(g.setup.before)) {
		if !g.setup.used[command] {
			g.t.Errorf("the setup has something before %q, which the page does not have", command)
		}
	}
}

package cli_test

import (
	"flag"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callgate/internal/peer/terminaltest"
)

// TestGuideCommands runs the pages whose commands stand in blocks of the language console, each
// section in a folder and a state directory of its own: a block of YAML is its app file, which a
// person accepts. What the page says of a command is what it says now, but for IDs, numbers and
// times. -update writes it anew; "…" stands for any words, and alone on a line for any lines.
func TestGuideCommands(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"quickstart.md", "cookbook.md"} {
		file := filepath.Join("..", "..", "docs", "guides", page)
		text := readFile(t, filepath.Dir(file), page)
		sections := strings.SplitAfter(text, "\n## ")
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			ran := 0
			t.Cleanup(func() {
				if ran < 8 {
					t.Errorf("only %d commands ran: the pattern is broken", ran)
				}
				if updating() {
					write(t, file, strings.Join(sections, ""))
				}
			})
			for i := range sections {
				name, _, _ := strings.Cut(sections[i], "\n")
				t.Run(name, func(t *testing.T) {
					needs(t, sections[i])
					g := newGuide(t)
					sections[i] = g.section(sections[i])
					ran += g.ran
				})
			}
		})
	}
}

// needs skips a section whose programs are not here.
func needs(t *testing.T, section string) {
	t.Helper()
	for word, program := range map[string]string{
		"callgate build": "go", "/usr/bin/python3": "/usr/bin/python3", "git init": "git",
	} {
		if _, err := exec.LookPath(program); strings.Contains(section, word) && err != nil {
			t.Skip(err)
		}
	}
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// guide is one section that is run.
type guide struct {
	t                   *testing.T
	home, folder, state string
	user, cache         string
	approval            string // the one that was said last
	ran                 int
}

func newGuide(t *testing.T) *guide {
	t.Helper()
	g := &guide{t: t, home: t.TempDir(), state: newState(t)}
	g.folder = filepath.Join(g.home, "demo")
	if err := os.Mkdir(g.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	g.user, g.cache = me.Username, filepath.Join(g.home, "go-build")
	if cache, err := os.UserCacheDir(); err == nil {
		g.cache = filepath.Join(cache, "go-build")
	}
	return g
}

var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// section runs a section, and returns it as it is now.
func (g *guide) section(text string) string {
	return fenced.ReplaceAllStringFunc(text, func(block string) string {
		m := fenced.FindStringSubmatch(block)
		switch m[1] {
		case "yaml":
			write(g.t, filepath.Join(g.folder, "callgate.yaml"), m[2])
			if p := g.person([]string{"callgate", "app", "trust", "--yes"}); p.Exit != 0 {
				g.t.Errorf("this app file is refused:\n%s%s%s", m[2], p.Out, p.Err)
			}
		case "console":
			return "```console\n" + g.console(m[2]) + "```"
		}
		return block
	})
}

// console runs the commands of one block.
func (g *guide) console(block string) string {
	var now strings.Builder
	for step := range strings.SplitSeq("\n"+strings.TrimSuffix(block, "\n"), "\n$ ") {
		line, want := firstLine(step)
		if line == "" {
			continue
		}
		line = answers.ReplaceAllString(line, "${1}"+g.approval)
		got := g.run(line)
		g.ran++
		if !updating() && !fits(want, got) {
			g.t.Errorf("$ %s\nsays\n%s\nand the page\n%s", line, got, want)
		}
		if strings.Contains(want, "…") && fits(want, got) {
			got = want
		}
		now.WriteString("$ " + line + "\n" + got)
	}
	return now.String()
}

// firstLine cuts a command, with the document that it may have in it, from what it says.
func firstLine(step string) (line, said string) {
	line, said, _ = strings.Cut(step, "\n")
	if strings.Contains(line, "<<'EOF'") {
		document, rest, _ := strings.Cut(said, "\nEOF")
		line, said = line+"\n"+document+"\nEOF", strings.TrimPrefix(rest, "\n")
	}
	if said != "" {
		said += "\n"
	}
	return line, said
}

// needsPerson are the commands that a person types at a terminal, because they type a code.
var needsPerson = regexp.MustCompile(`^callgate (approvals approve|app trust|token create|secrets set|grants suggest --keep)`)

// run runs one line in a shell, or has a person type it, and returns what was said.
func (g *guide) run(line string) string {
	var said string
	if needsPerson.MatchString(line) {
		p := g.person([]string{"bash", "-c", line})
		said = p.Out + p.Err
	} else {
		cmd := exec.CommandContext(g.t.Context(), "bash", "-c", line)
		cmd.Dir, cmd.Env = g.folder, append(os.Environ(), g.env()...)
		out, err := cmd.CombinedOutput() // how it ended is shown by what it says
		if err != nil && len(out) == 0 {
			g.t.Errorf("$ %s\n%v", line, err)
		}
		said = string(out)
	}
	if m := answers.FindStringSubmatch(said); m != nil {
		g.approval = m[2]
	}
	said = strings.ReplaceAll(said, g.home, "~")
	said = regexp.MustCompile(`\b`+regexp.QuoteMeta(g.user)+`\b`).ReplaceAllString(said, "ada")
	if said != "" && !strings.HasSuffix(said, "\n") {
		said += "\n"
	}
	return said
}

func (g *guide) person(args []string) terminaltest.Ended {
	g.t.Helper()
	return terminaltest.Run(g.t, terminaltest.Program{
		Args: args, Dir: g.folder, Env: g.env(), Types: []terminaltest.Typing{terminaltest.Code()},
	})
}

func (g *guide) env() []string {
	return []string{
		"GOCACHE=" + g.cache, "HOME=" + g.home, "CALLGATE_STATE=" + g.state, "CALLGATE_KEYRING=off", "CALLGATE_TOKEN=", "XDG_CONFIG_HOME=",
		"NO_COLOR=1", "TZ=UTC", "GORACE=" + quickRace,
	}
}

var (
	// On a page a command about an approval is about the last one.
	answers = regexp.MustCompile(`(approvals (?:show|approve|deny) )(a[0-9a-z]{9,})`)

	idWord = regexp.MustCompile(`\b[acgst][0-9a-z]{9,13}\b`) // and some words, which are the same on both sides
	number = regexp.MustCompile(`[0-9]+([.,:/-][0-9]+)*`)
	ago    = regexp.MustCompile(`just now|N (s|min) ago`)
	blanks = regexp.MustCompile(`[ \t]+|─+`)
	hashes = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
)

// plain is a line without what differs from run to run.
func plain(line string) string {
	line = hashes.ReplaceAllString(line, "HASH")
	line = idWord.ReplaceAllString(line, "ID")
	line = ago.ReplaceAllString(number.ReplaceAllString(line, "N"), "lately")
	line = strings.NewReplacer("N µs", "a time", "N ms", "a time", "N s", "a time").Replace(line)
	return strings.TrimSpace(blanks.ReplaceAllString(line, " "))
}

// fits reports whether a command says what the page says.
func fits(want, got string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(want) {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(plain(line)), "…", ".*") + `\n`)
	}
	var lines strings.Builder
	for line := range strings.Lines(got) {
		lines.WriteString(plain(line) + "\n")
	}
	return regexp.MustCompile(`\A` + pattern.String() + `\z`).MatchString(lines.String())
}

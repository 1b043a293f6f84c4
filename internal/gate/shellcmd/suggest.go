package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Suggest returns lists of patterns that would allow a line, narrowest first: its
// commands as they are, and with any arguments after the subcommand.
func Suggest(l *Line) [][]string {
	if l.Doubt != "" {
		return nil
	}
	var out [][]string
	for _, form := range []func(*Command) string{(*Command).asIs, (*Command).withSubcommand} {
		list, ok := suggestEach(l.Commands, form)
		if ok && !slices.ContainsFunc(out, func(other []string) bool { return slices.Equal(other, list) }) {
			out = append(out, list)
		}
	}
	return out
}

func suggestEach(list []*Command, form func(*Command) string) (patterns []string, ok bool) {
	for _, c := range list {
		if c.Enters() != nil || len(list) > 1 && c.Filters() {
			continue // it needs none beside another
		}
		if c.transparent() {
			inner, ok := suggestEach(c.Inner, form)
			if !ok {
				return nil, false
			}
			patterns = append(patterns, inner...)
			continue
		}
		text := form(c)
		p, err := CompilePattern(text)
		if err != nil || !p.Allows(c) {
			return nil, false
		}
		if !slices.Contains(patterns, text) {
			patterns = append(patterns, text)
		}
	}
	return patterns, len(patterns) > 0
}

// asIs is the pattern of this very command.
func (c *Command) asIs() string {
	var words []string
	for _, a := range c.Assigns {
		name, value, _ := strings.Cut(a, "=")
		words = append(words, name+"="+quoteWord(value))
	}
	for _, w := range c.Words {
		if !w.Static {
			return ""
		}
		words = append(words, quoteWord(w.Text))
	}
	for _, r := range c.Redirects {
		if r.Writes {
			words = append(words, "> "+quoteWord(r.Word.Text))
		}
	}
	return strings.Join(words, " ")
}

// withSubcommand is its program, the words that say what it does, and any others. It is
// empty for a command that destroys, sends or runs what its words say, and for one of which
// it is not known where its subcommand ends.
func (c *Command) withSubcommand() string {
	if !c.onlyHarmless() || c.writes() || len(c.Words) == 0 || !c.Words[0].Static {
		return ""
	}
	n := c.subcommand()
	if n == 0 {
		return ""
	}
	words := make([]string, n, n+1)
	for i := range n {
		words[i] = quoteWord(c.Words[i].Text)
	}
	return strings.Join(append(words, "*"), " ")
}

// mostSubcommand is how many words a subcommand of a program that is not known may have.
const mostSubcommand = 3

// subcommand is how many words the program and its subcommand have; 0: that cannot be told,
// or no wildcard is offered behind them.
func (c *Command) subcommand() int {
	name, p := c.Words[0].Text, lookup(c.Words[0].Text)
	switch {
	case strings.Contains(name, "/") || isInterpreter(name) || slices.Contains(destroyers, name) || slices.Contains(neverWild, name):
		return 0
	case p == nil:
		return c.named(1, mostSubcommand)
	case name == "make" || name == "gmake":
		return c.named(1, 1) // its target
	case p.commands == nil && p.fixed == 0:
		return 1
	case p.commands == nil:
		return c.named(p.fixed, p.fixed)
	case len(c.Words) < 2 || !c.Words[1].Static:
		return 0
	}
	sub, n := p.command(c.Words[1:])
	switch {
	case sub == nil:
		return c.named(max(p.fixed, 1), max(p.fixed, 1))
	case sub.never || sub.runs || sub.named || name == "git" && slices.Contains(gitDestroyers, c.Words[1].Text):
		return 0
	case slices.Contains([]string{"run", "run-script", "stash", "reflog"}, c.Words[1].Text):
		if len(c.Words) < 3 || !isName(c.Words[2]) || name == "git" && destroys(c.Words[2].Text) {
			return 0
		}
		return 3
	}
	return 1 + n
}

// named counts the program and the names behind it, from the least to the most that its
// subcommand has; 0: there are fewer, or one of them destroys.
func (c *Command) named(least, most int) int {
	n := 1
	for n < len(c.Words) && n <= most && isName(c.Words[n]) {
		if destroys(c.Words[n].Text) {
			return 0
		}
		n++
	}
	if n <= least {
		return 0
	}
	return n
}

// destroyers are programs that destroy, replace or send what their words name, so that a yes
// to one call says nothing of the next.
var destroyers = strings.Fields(`
	rm rmdir unlink shred srm trash truncate dd mkfs fdisk parted wipefs mount umount mv cp install ln rename chmod chown
	chgrp chattr setfacl kill pkill killall xkill shutdown reboot halt poweroff init telinit service launchctl iptables ip
	nft ufw useradd userdel usermod passwd visudo curl wget http https xh aria2c ftp tftp telnet nc ncat socat ssh scp
	sftp rsync rclone mosh tee patch ssh-keygen gpg openssl tar bsdtar gtar unzip zip 7z gunzip gzip cpio tailscale mail
	sendmail xdg-open open`)

var gitDestroyers = strings.Fields("push reset clean checkout restore rm mv gc prune worktree remote")

// destroyingWords are what a subcommand is called that destroys, replaces, sends or runs
// something, alone or as a part: rm, delete-bucket, pg:reset.
var destroyingWords = strings.Fields(`
	rm run exec execute eval repl shell console script dlx x npx create new init apply destroy delete del remove erase drop
	purge prune wipe clear clean clobber distclean reset restore rebase revert rollback undo revoke push publish deploy
	release upload send post put patch import sync transfer mv move cp copy replace overwrite set unset edit update upgrade
	downgrade install uninstall add i ci link unlink login logout auth token secret secrets start stop restart kill scale
	drain cordon taint evict terminate attach detach abort cancel disable enable force invoke call api ssh ssm sh bash sql
	psql alias extension plugin plugins config configure context rename migrate migration seed truncate flush`)

func destroys(word string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(word, func(r rune) bool { return r == '-' || r == ':' || r == '_' }),
		func(part string) bool { return slices.Contains(destroyingWords, part) })
}

// isName reports whether a word may be a subcommand.
func isName(w Word) bool {
	return w.Static && w.Text != "" && w.Text[0] >= 'a' && w.Text[0] <= 'z' &&
		strings.Trim(w.Text, "abcdefghijklmnopqrstuvwxyz0123456789-_:") == ""
}

// quoteWord writes a word as bash, and a pattern, read it back.
func quoteWord(s string) string {
	q, err := syntax.Quote(s, syntax.LangBash)
	if err != nil || strings.HasPrefix(q, "$") {
		return "$" // which is no pattern
	}
	return q
}

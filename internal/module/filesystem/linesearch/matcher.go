// Package linesearch finds the lines of files that match an expression. It
// searches many files on several cores. The result does not depend on their
// number, nor on whether ripgrep chose the files.
package linesearch

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Matcher decides whether a line matches. A line comes without its newline and
// without a carriage return before it, so $ means the same in both kinds of file.
type Matcher struct {
	re      *regexp.Regexp
	needles [][]byte // a line that matches holds one of them; empty: any line may match
	fold    bool     // the needles are in lower case, and are searched in lowered text
	plain   bool     // a line that holds the needle matches
	rust    string
}

const maxExpression = 10_000

// New parses an expression in the syntax of RE2, or takes a literal text.
func New(expr string, literal, ignoreCase bool) (*Matcher, error) {
	if len(expr) > maxExpression {
		return nil, fmt.Errorf("it is longer than %d bytes", maxExpression)
	}
	if literal {
		expr = regexp.QuoteMeta(expr)
	}
	flags := syntax.Perl
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, err
	}
	if holdsNewline(tree) {
		return nil, errors.New("it holds a newline, but lines are matched one by one")
	}
	if ignoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	m := &Matcher{re: re, rust: rustExpr(tree)}
	m.findNeedles(tree)
	return m, nil
}

// findNeedles finds texts that are searched before the expression is tried.
func (m *Matcher) findNeedles(tree *syntax.Regexp) {
	needles, ok := required(tree)
	if !ok {
		return
	}
	m.fold = slices.ContainsFunc(needles, func(n literal) bool { return n.fold })
	for _, n := range needles {
		text := []byte(n.text)
		if m.fold {
			text = lowered(nil, text)
		}
		m.needles = append(m.needles, text)
	}
	m.plain = tree.Op == syntax.OpLiteral && !m.fold && !strings.Contains(needles[0].text, "\r")
}

// Ripgrep returns an expression for the rg program that matches every line that m
// matches, and perhaps more; "" if there is none.
func (m *Matcher) Ripgrep() string { return m.rust }

func holdsNewline(tree *syntax.Regexp) bool {
	if tree.Op == syntax.OpLiteral && strings.ContainsRune(string(tree.Rune), '\n') {
		return true
	}
	for _, sub := range tree.Sub {
		if holdsNewline(sub) {
			return true
		}
	}
	return false
}

// literal is a text that a match must hold; with fold, in any case of its letters.
type literal struct {
	text string
	fold bool
}

// maxNeedles limits the needles: with more of them, the search is no faster.
const maxNeedles = 8

// required finds texts of which every match holds one. It reports false if it
// finds none.
func required(tree *syntax.Regexp) ([]literal, bool) {
	switch tree.Op {
	case syntax.OpLiteral:
		if slices.Contains(tree.Rune, utf8.RuneError) {
			return nil, false // it matches every byte that is not UTF-8
		}
		n := literal{string(tree.Rune), false}
		if tree.Flags&syntax.FoldCase != 0 {
			n = literal{foldable(tree.Rune), true}
		}
		return []literal{n}, n.text != ""
	case syntax.OpCapture, syntax.OpPlus:
		return required(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return required(tree.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range tree.Sub {
			if n, ok := required(sub); ok && (best == nil || shortest(n) > shortest(best)) {
				best = n
			}
		}
		return best, best != nil
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range tree.Sub {
			n, ok := required(sub)
			if all = append(all, n...); !ok || len(all) > maxNeedles {
				return nil, false
			}
		}
		return all, true
	}
	return nil, false
}

func shortest(needles []literal) int {
	least := len(needles[0].text)
	for _, n := range needles {
		least = min(least, len(n.text))
	}
	return least
}

// foldable returns the longest run of characters whose other cases are ASCII, too.
// k and s are not such: the Kelvin sign and the long s fold to them.
func foldable(runes []rune) string {
	best, from := "", 0
	for i, r := range append(runes[:len(runes):len(runes)], -1) {
		if r >= 0 && r < utf8.RuneSelf && !strings.ContainsRune("kKsS", r) {
			continue
		}
		if run := string(runes[from:i]); len(run) > len(best) {
			best = run
		}
		from = i + 1
	}
	return best
}

// lowered appends text to dst with its ASCII letters in lower case.
func lowered(dst, text []byte) []byte {
	start := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[start:] {
		if 'A' <= c && c <= 'Z' {
			dst[start+i] = c + 'a' - 'A'
		}
	}
	return dst
}

// candidateFinder finds the places in a text where a match may be, in order.
type candidateFinder struct {
	m    *Matcher
	text []byte // in lower case, if the matcher folds
	next []int  // where each needle occurs next; -1: nowhere, -2: not searched yet
}

func (f *candidateFinder) reset(m *Matcher, text []byte) {
	f.m, f.text = m, text
	f.next = f.next[:0]
	for range m.needles {
		f.next = append(f.next, -2)
	}
}

// from returns the first place at or after pos; -1 if there is none.
func (f *candidateFinder) from(pos int) int {
	if len(f.m.needles) == 0 {
		return pos
	}
	best := -1
	for i, n := range f.m.needles {
		if f.next[i] != -1 && f.next[i] < pos {
			if f.next[i] = bytes.Index(f.text[pos:], n); f.next[i] >= 0 {
				f.next[i] += pos
			}
		}
		if at := f.next[i]; at >= 0 && (best < 0 || at < best) {
			best = at
		}
	}
	return best
}

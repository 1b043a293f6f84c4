package linesearch

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rustExpr writes an expression for ripgrep that matches every line that the tree
// matches. It may match more: what ripgrep finds is searched again. It writes out
// what the two engines understand differently: classes are ranges, other cases
// are listed, a carriage return may precede the end, and where a character that
// is not UTF-8 would match, any high byte does.
func rustExpr(tree *syntax.Regexp) string {
	r := rust{bounds: hasBoundary(tree)}
	r.write(tree)
	if r.failed {
		return ""
	}
	return r.String()
}

type rust struct {
	strings.Builder
	bounds bool // the expression has a word boundary
	failed bool
}

func hasBoundary(tree *syntax.Regexp) bool {
	return tree.Op == syntax.OpWordBoundary || tree.Op == syntax.OpNoWordBoundary ||
		slices.ContainsFunc(tree.Sub, hasBoundary)
}

func (r *rust) write(tree *syntax.Regexp) {
	switch tree.Op {
	case syntax.OpEmptyMatch:
		r.WriteString("(?:)")
	case syntax.OpLiteral:
		for _, c := range tree.Rune {
			r.char(c, tree.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		r.class(tree.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		r.class([]rune{0, unicode.MaxRune})
	case syntax.OpBeginLine, syntax.OpBeginText:
		r.WriteString("(?m:^)")
	case syntax.OpEndLine, syntax.OpEndText:
		if r.bounds { // beside a carriage return the boundary would be elsewhere
			r.WriteString("(?:)")
		} else {
			r.WriteString(`(?:\r?(?m:$))`)
		}
	case syntax.OpWordBoundary:
		r.WriteString(`(?-u:\b)`)
	case syntax.OpNoWordBoundary:
		r.WriteString(`(?-u:\B)`)
	case syntax.OpConcat:
		r.join(tree.Sub, "")
	case syntax.OpAlternate:
		r.join(tree.Sub, "|")
	case syntax.OpCapture:
		r.join(tree.Sub, "")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		r.join(tree.Sub, "")
		r.WriteString(repetition(tree))
	default:
		r.failed = true
	}
}

func repetition(tree *syntax.Regexp) string {
	switch {
	case tree.Op == syntax.OpStar:
		return "*"
	case tree.Op == syntax.OpPlus:
		return "+"
	case tree.Op == syntax.OpQuest:
		return "?"
	case tree.Max < 0:
		return fmt.Sprintf("{%d,}", tree.Min)
	default:
		return fmt.Sprintf("{%d,%d}", tree.Min, tree.Max)
	}
}

func (r *rust) join(subs []*syntax.Regexp, between string) {
	r.WriteString("(?:")
	for i, sub := range subs {
		if i > 0 {
			r.WriteString(between)
		}
		r.write(sub)
	}
	r.WriteString(")")
}

func (r *rust) char(c rune, fold bool) {
	same := []rune{c, c}
	if fold {
		for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
			same = append(same, other, other)
		}
	}
	if len(same) == 2 && c != utf8.RuneError {
		if c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			r.WriteRune(c)
		} else {
			fmt.Fprintf(r, `\x{%X}`, c)
		}
		return
	}
	r.class(same)
}

// class writes ranges, without the newline, which no line holds, and without the
// surrogates, which are not characters.
func (r *rust) class(ranges []rune) {
	var b strings.Builder
	invalid := false // bytes that are not UTF-8 match, too
	for i := 0; i < len(ranges); i += 2 {
		low, high := ranges[i], ranges[i+1]
		invalid = invalid || low <= utf8.RuneError && utf8.RuneError <= high
		for _, part := range [][2]rune{
			{max(low, 0), min(high, '\n'-1)}, {max(low, '\n'+1), min(high, 0xD7FF)}, {max(low, 0xE000), high},
		} {
			if part[0] <= part[1] {
				fmt.Fprintf(&b, `\x{%X}-\x{%X}`, part[0], part[1])
			}
		}
	}
	switch {
	case b.Len() == 0:
		r.failed = true
	case invalid:
		fmt.Fprintf(r, `(?:[%s]|(?-u:[\x80-\xFF]))`, b.String())
	default:
		fmt.Fprintf(r, "[%s]", b.String())
	}
}

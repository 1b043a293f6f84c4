package sqltext

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/amount"
)

// Bind rewrites the placeholders of a text for its database and returns the
// values in the order of the rewritten text. An error explains to the author of
// the text how placeholders and values differ.
func Bind(d Dialect, text string, p Params) (string, []any, error) {
	b := binder{d: d, in: text, p: p}
	if p.Named == nil {
		b.survey()
		if b.numbered && b.plain > 0 && d != Postgres {
			return "", nil, errors.New("the query mixes ? with numbered placeholders; " +
				"write all of them ?, or all of them $1, $2 …")
		}
	}
	return b.rewrite()
}

// binder rewrites one text.
type binder struct {
	d        Dialect
	in       string
	p        Params
	plain    int  // the number of ?
	numbered bool // the text has a $1 or ?1
	out      strings.Builder
	digit    bool // the last token of out is a $1
	args     []any
	position map[string]int // of named values in args, from 1
	used     []bool         // which values of the list the text uses
}

// survey counts the placeholders, before the first is rewritten.
func (b *binder) survey() {
	for rest := b.in; rest != ""; {
		k, n := b.d.next(rest)
		if k == mark {
			switch {
			case rest[0] == '?' && n == 1:
				b.plain++
			case rest[0] == '$', rest[0] == '?' && rest[1] != '?':
				b.numbered = true
			}
		}
		rest = rest[n:]
	}
}

func (b *binder) rewrite() (string, []any, error) {
	b.used = make([]bool, len(b.p.List))
	b.out.Grow(len(b.in) + 8)
	for rest := b.in; rest != ""; {
		k, n := b.d.next(rest)
		piece := rest[:n]
		if b.digit && (isWord(piece[0]) || piece[0] == '$') {
			b.out.WriteByte(' ')
		}
		b.digit = false
		if k != mark {
			b.out.WriteString(piece)
		} else if err := b.placeholder(piece); err != nil {
			return "", nil, err
		}
		rest = rest[n:]
	}
	return b.out.String(), b.args, b.complete()
}

// dollar writes $n, apart from the tokens beside it: a$1 would be a name, and
// $12 another placeholder.
func (b *binder) dollar(n int) {
	if s := b.out.String(); s != "" && (isWord(s[len(s)-1]) || s[len(s)-1] == '$') {
		b.out.WriteByte(' ')
	}
	b.out.WriteString("$" + strconv.Itoa(n))
	b.digit = true
}

// placeholder rewrites one placeholder.
func (b *binder) placeholder(piece string) error {
	named := b.p.Named != nil
	none := !named && len(b.p.List) == 0
	switch {
	case piece[0] == ':':
		if !named {
			return fmt.Errorf("the query names the placeholder %s; give params as an object, {%q: …}", piece, piece[1:])
		}
		return b.name(piece[1:])
	case piece == "??" && !none:
		b.out.WriteByte('?')
		return nil
	case b.d == Postgres && piece[0] == '?' && (none || named || b.numbered):
		b.out.WriteString(piece) // the operator
		return nil
	case named:
		return fmt.Errorf("params is an object, and the query has the placeholder %s; write :name for its values", piece)
	case piece == "?":
		return b.number(len(b.args) + 1)
	default:
		n, err := strconv.Atoi(piece[1:])
		if err != nil || n < 1 {
			return fmt.Errorf("the placeholder %s has no valid number: they count from 1", piece)
		}
		return b.number(n)
	}
}

// number writes a placeholder for value n of the list.
func (b *binder) number(n int) error {
	if n > len(b.p.List) {
		return b.mismatch()
	}
	b.used[n-1] = true
	if b.numbered && b.d == Postgres {
		b.dollar(n)
		return nil
	}
	b.put(b.p.List[n-1])
	return nil
}

func (b *binder) name(name string) error {
	value, ok := b.p.Named[name]
	if !ok {
		return fmt.Errorf("the query has the placeholder :%s, and params has %s", name, b.names())
	}
	if at, again := b.position[name]; again && b.d == Postgres {
		b.dollar(at)
		return nil
	}
	b.put(value)
	if b.position == nil {
		b.position = map[string]int{}
	}
	b.position[name] = len(b.args)
	return nil
}

func (b *binder) names() string {
	if len(b.p.Named) == 0 {
		return "no names"
	}
	return "only " + strings.Join(slices.Sorted(maps.Keys(b.p.Named)), ", ")
}

// put appends a value and writes its placeholder.
func (b *binder) put(value any) {
	b.args = append(b.args, value)
	if b.d == Postgres {
		b.dollar(len(b.args))
	} else {
		b.out.WriteByte('?')
	}
}

// complete refuses values that the text does not use: nobody would notice the
// mistake otherwise.
func (b *binder) complete() error {
	for name := range b.p.Named {
		if b.position[name] == 0 {
			return fmt.Errorf("params has %q, and the query has no placeholder :%s", name, name)
		}
	}
	if slices.Contains(b.used, false) {
		return b.mismatch()
	}
	if b.numbered && b.d == Postgres {
		b.args = b.p.List
	}
	return nil
}

func (b *binder) mismatch() error {
	if b.numbered {
		return fmt.Errorf("the numbers of the placeholders do not match params, which has %s: "+
			"the query must use each of them and no other", amount.Of(len(b.p.List), "value"))
	}
	e := fmt.Errorf("the query has %s, and params has %s",
		amount.Of(b.plain, "placeholder"), amount.Of(len(b.p.List), "value"))
	if b.d == Postgres && b.plain > 0 {
		return fmt.Errorf("%w; for the operator ? write ?? or number the placeholders, $1", e)
	}
	return e
}

package node

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"callgate/tool"
)

// MaxLabel is the length of a label at most, in bytes.
const MaxLabel = 200

// Text reads text that is not empty, with its variables filled in.
func (r *Reader) Text(e Entry) (string, bool) {
	var s string
	switch n := e.value.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = n.Value.Value
	case *ast.NullNode:
		r.Fail(e.At, "write a value, or leave the key out", "%s has no value", e.Name())
		return "", false
	case *ast.SequenceNode, *ast.MappingNode, *ast.MappingValueNode:
		r.TypeError(e, "text", "write one value")
		return "", false
	default:
		r.TypeError(e, "text", fmt.Sprintf("put it in quotes: %q", tool.TruncateTo(n.GetToken().Value, 60)))
		return "", false
	}
	if strings.TrimSpace(s) == "" {
		r.Fail(e.At, "write a value, or leave the key out", "%s is empty", e.Name())
		return "", false
	}
	s, ok := r.expand(e, s)
	if ok && strings.TrimSpace(s) == "" {
		r.Fail(e.At, "give the variable a value, or a text to fall back on after ??",
			"%s is empty once its variables are filled in", e.Name())
		return "", false
	}
	return s, ok
}

func (r *Reader) expand(e Entry, text string) (string, bool) {
	if r.variables == nil {
		return text, true
	}
	return r.variables.Expand(r, e, text)
}

// TextInto reads text into a variable.
func (r *Reader) TextInto(to *string) Read {
	return func(e Entry) {
		if s, ok := r.Text(e); ok {
			*to = s
		}
	}
}

// Texts reads a list of texts; a list that is written empty is not nil.
func (r *Reader) Texts(to *[]string, remedy string) Read {
	return func(e Entry) {
		if e.IsNull() {
			r.Fail(e.At, remedy, "%s has no value", e.Name())
			return
		}
		list := []string{}
		for _, in := range r.Items(e, "a list", remedy) {
			if s, ok := r.Text(in); ok {
				list = append(list, s)
			} else {
				list = append(list, "") // so that the others keep their index
			}
		}
		*to = list
	}
}

// Label reads one short line.
func (r *Reader) Label(to *string) Read {
	return func(e Entry) {
		s, ok := r.WithoutEnv().Text(e)
		if ok && (len(s) > MaxLabel || strings.ContainsFunc(s, unicode.IsControl)) {
			r.Fail(e.At, "shorten it; description takes longer text",
				"%s must be one line of at most %d bytes", e.Name(), MaxLabel)
			return
		}
		*to = s
	}
}

// Choice reads one of a few words.
func (r *Reader) Choice(to *string, words ...string) Read {
	return func(e Entry) {
		word, ok := r.Text(e)
		switch {
		case !ok:
		case !slices.Contains(words, word):
			r.Fail(e.At, "write "+strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1],
				"%s is %s", e.Name(), Quote(word))
		default:
			*to = word
		}
	}
}

// Boolean reads true or false.
func (r *Reader) Boolean(to *bool, remedy string) Read {
	return func(e Entry) {
		b, ok := e.value.(*ast.BoolNode)
		if !ok {
			r.TypeError(e, "true or false", remedy)
			return
		}
		*to = b.Value
	}
}

// Integer reads a whole number.
func (r *Reader) Integer(e Entry, remedy string) (int, bool) {
	n, ok := e.value.(*ast.IntegerNode)
	if !ok {
		r.TypeError(e, "a whole number", remedy)
		return 0, false
	}
	switch v := n.Value.(type) {
	case int64:
		if math.MinInt32 <= v && v <= math.MaxInt32 {
			return int(v), true
		}
	case uint64:
		if v <= math.MaxInt32 {
			return int(v), true
		}
	}
	r.Fail(e.At, remedy, "%s is too large a number", e.Name())
	return 0, false
}

// Number reads a whole number within bounds.
func (r *Reader) Number(to *int, least, most int, remedy string) Read {
	return func(e Entry) {
		n, ok := r.Integer(e, remedy)
		switch {
		case !ok:
		case n < least || n > most:
			r.Fail(e.At, remedy, "%s is %d, and must be from %d to %d", e.Name(), n, least, most)
		default:
			*to = n
		}
	}
}

// Seconds reads a whole number of seconds within bounds.
func (r *Reader) Seconds(to *time.Duration, least, most int, remedy string) Read {
	return func(e Entry) {
		var n int
		r.Number(&n, least, most, remedy)(e)
		*to = time.Duration(n) * time.Second
	}
}

// Decimal reads a number within bounds.
func (r *Reader) Decimal(to **float64, least, most float64) Read {
	const remedy = "write a number, such as 0.7"
	return func(e Entry) {
		var v float64
		switch n := e.value.(type) {
		case *ast.FloatNode:
			v = n.Value
		case *ast.IntegerNode:
			switch i := n.Value.(type) {
			case int64:
				v = float64(i)
			case uint64:
				v = float64(i)
			}
		default:
			r.TypeError(e, "a number", remedy)
			return
		}
		if v < least || v > most {
			r.Fail(e.At, remedy, "%s is %g, and must be from %g to %g", e.Name(), v, least, most)
			return
		}
		*to = &v
	}
}

// Duration reads a time: 30s, 2m, or a number of seconds.
func (r *Reader) Duration(to *time.Duration) Read {
	const remedy = "write a time such as 30s or 2m"
	return func(e Entry) {
		var t time.Duration
		if e.IsInteger() {
			n, ok := r.Integer(e, remedy)
			if !ok {
				return
			}
			t = time.Duration(n) * time.Second
		} else {
			text, ok := r.Text(e)
			if !ok {
				return
			}
			var err error
			if t, err = time.ParseDuration(text); err != nil {
				r.Fail(e.At, remedy, "%s is %s, which is no time", e.Name(), Quote(text))
				return
			}
		}
		if t < 100*time.Millisecond || t > 24*time.Hour {
			r.Fail(e.At, "write a time from 100ms to 24h", "%s is %v", e.Name(), t)
			return
		}
		*to = t
	}
}

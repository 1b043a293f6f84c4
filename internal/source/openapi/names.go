package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// maxName bounds the name of a tool, in bytes.
const maxName = 56

// operationNames gives each operation a name of its own: that of its operationId, or of
// its method and path where it has none. Where two would have one name, both get a suffix
// that only their own method and path decide, so that a name does not change when another
// operation comes or goes.
func operationNames(all []*operation) []string {
	names := make([]string, len(all))
	count := map[string]int{}
	for i, op := range all {
		name := snake(op.OperationID)
		if strings.Trim(name, "_0123456789") == "" {
			name = pathName(op.method, op.path)
		}
		if len(name) > maxName {
			name = name[:maxName-5] + "_" + shortHash(op)
		}
		names[i] = name
		count[name]++
	}
	for i, op := range all {
		if name := names[i]; count[name] > 1 {
			names[i] = strings.TrimRight(name[:min(len(name), maxName-5)], "_") + "_" + shortHash(op)
		}
	}
	return names
}

func shortHash(op *operation) string {
	sum := sha256.Sum256([]byte(op.method + " " + op.path))
	return hex.EncodeToString(sum[:2])
}

// pathName is the name of an operation that has none: get_pets_by_id for GET /pets/{id}.
func pathName(method, path string) string {
	words := []string{strings.ToLower(method)}
	for part := range strings.SplitSeq(path, "/") {
		before, rest, has := strings.Cut(part, "{")
		if word := snake(before); word != "" {
			words = append(words, word)
		}
		if name, _, ok := strings.Cut(rest, "}"); has && ok {
			if word := snake(name); word != "" {
				words = append(words, "by_"+word)
			}
		}
	}
	if len(words) == 1 {
		words = append(words, "root")
	}
	return strings.Join(words, "_")
}

// snake writes a name in lower case, its words joined with one low line.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		isLetter := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
		if !isLetter {
			separate(&b)
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			before := runes[i-1]
			endsWord := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(before)
			if unicode.IsLower(before) || unicode.IsDigit(before) || endsWord {
				separate(&b)
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Trim(b.String(), "_")
}

func separate(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "_") {
		b.WriteByte('_')
	}
}

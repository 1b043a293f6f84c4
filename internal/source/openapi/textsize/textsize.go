// Package textsize measures documents from outside before they are parsed.
package textsize

// Signs counts the characters of a YAML text that may make a token of their own.
func Signs(data []byte) (n int) {
	for i, c := range data {
		switch c {
		case ',', '[', ']', '{', '}', ':', '?', '!', '&', '*', '#', '"', '\'', '|', '>', '%':
			n++
		case '-':
			if i+1 == len(data) || data[i+1] <= ' ' {
				n++
			}
		}
	}
	return n
}

// Mappings counts the mappings in a value.
func Mappings(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = 1
		for _, one := range v {
			n += Mappings(one)
		}
	case []any:
		for _, one := range v {
			n += Mappings(one)
		}
	}
	return n
}

// JSON goes through a text until it is deeper than maxDepth or has more values than maxValues, or to its
// end, and returns the line it came to, and the depth and the values there.
func JSON(data []byte, maxDepth, maxValues int) (line, depth, values int) {
	line = 1
	inText := false
	for i := 0; i < len(data) && depth <= maxDepth && values <= maxValues; i++ {
		c := data[i]
		if c == '\n' {
			line++
		}
		switch {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{', c == '[':
			depth++
			values++
		case c == '}', c == ']':
			depth--
		case c == ',':
			values++
		}
	}
	return line, depth, values
}

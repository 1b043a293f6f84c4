package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// link reads [text](address "title") from an opening bracket on. The length is
// counted from there.
func (p *inlines) link(at int) (int, bool) {
	if !p.links {
		return 0, false
	}
	text, address, n, ok := p.linkAt(at)
	if !ok {
		return 0, false
	}
	if text == address {
		p.add(address, underline)
		return n, true
	}
	p.flush()
	inner := &inlines{text: text}
	inner.run()
	for _, s := range emphasize(inner.nodes) {
		p.nodes = append(p.nodes, node{text: s.text, style: s.style | bold})
	}
	if address != "" {
		p.add(" ", 0)
		p.add(address, underline)
	}
	return n, true
}

// image reads ![text](address).
func (p *inlines) image() (int, bool) {
	if p.at+1 >= len(p.text) || p.text[p.at+1] != '[' {
		return 0, false
	}
	text, address, n, ok := p.linkAt(p.at + 1)
	if !ok {
		return 0, false
	}
	p.add("image: "+strings.TrimLeft(text+" "+address, " "), 0)
	return n + 1, true
}

// linkAt finds the parts of a link whose bracket opens at a byte.
func (p *inlines) linkAt(at int) (text, address string, n int, ok bool) {
	if p.closing == nil {
		p.matchBrackets()
	}
	end := p.closing[at]
	if end == 0 || end+1 >= len(p.text) || p.text[end+1] != '(' {
		return "", "", 0, false
	}
	address, after, ok := addressIn(p.text[end+2:])
	return p.text[at+1 : end], address, end + 2 + after - at, ok
}

// matchBrackets finds for each opening bracket the one that closes it, past
// escapes and code.
func (p *inlines) matchBrackets() {
	p.closing = make([]int, len(p.text))
	var open []int
	for i := 0; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '`':
			size := runLength(p.text[i:], '`')
			if _, n, ok := p.codeAt(i, size); ok {
				size = n
			}
			i += size - 1
		case '[':
			open = append(open, i)
		case ']':
			if len(open) > 0 {
				p.closing[open[len(open)-1]] = i
				open = open[:len(open)-1]
			}
		}
	}
}

// maxAddress is the longest address of a link.
const maxAddress = 4 << 10

// addressIn reads what stands between the parentheses of a link, and returns
// the address and the length with the closing parenthesis. A title is left out.
func addressIn(text string) (address string, n int, ok bool) {
	text = text[:min(len(text), maxAddress)]
	begin := len(text) - len(strings.TrimLeft(text, " \n"))
	rest := text[begin:]
	if inner, found := strings.CutPrefix(rest, "<"); found {
		end := strings.IndexAny(inner, ">\n<")
		if end < 0 || inner[end] != '>' {
			return "", 0, false
		}
		address, rest = inner[:end], inner[end+1:]
	} else {
		end := bareAddress(rest)
		address, rest = rest[:end], rest[end:]
	}
	tail := strings.TrimLeft(rest, " \n")
	if len(tail) < len(rest) && tail != "" && strings.ContainsRune(`"'(`, rune(tail[0])) {
		closer := tail[0]
		if closer == '(' {
			closer = ')'
		}
		end := strings.IndexByte(tail[1:], closer)
		if end < 0 {
			return "", 0, false
		}
		tail = strings.TrimLeft(tail[end+2:], " \n")
	}
	if !strings.HasPrefix(tail, ")") {
		return "", 0, false
	}
	return unescape(address), len(text) - len(tail) + 1, true
}

// bareAddress is the length of an address up to a space or the parenthesis that
// closes the link.
func bareAddress(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && isPunctuation(text[i+1]):
			i++
		case c == ' ' || c == '\n':
			return i
		case c == '(':
			depth++
		case c == ')':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return len(text)
}

// unescape removes backslashes before punctuation.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && isPunctuation(text[i+1]) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// autolink reads <https://address> and <name@host>.
func (p *inlines) autolink() (int, bool) {
	rest := p.text[p.at+1 : min(p.at+1+maxAddress, len(p.text))]
	end := strings.IndexAny(rest, "<> \n")
	if end < 1 || rest[end] != '>' {
		return 0, false
	}
	address := rest[:end]
	scheme, _, isURL := strings.Cut(address, ":")
	if !isURL || !isScheme(scheme) {
		user, host, isMail := strings.Cut(address, "@")
		if !isMail || user == "" || !strings.Contains(host, ".") || strings.ContainsAny(address, `/"\`) {
			return 0, false
		}
	}
	p.add(address, underline)
	return end + 2, true
}

func isScheme(text string) bool {
	if len(text) < 2 || len(text) > 32 {
		return false
	}
	for i := range len(text) {
		c := text[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || !strings.Contains("0123456789+.-", text[i:i+1])) {
			return false
		}
	}
	return true
}

// address reads an address that stands in the text without any marks.
func (p *inlines) address() (int, bool) {
	if !p.links || p.at > 0 && !strings.Contains(" \n(*_~|\"'", p.text[p.at-1:p.at]) {
		return 0, false
	}
	rest := p.text[p.at:min(p.at+maxAddress, len(p.text))]
	begin := ""
	for _, b := range []string{"https://", "http://", "www."} {
		if strings.HasPrefix(rest, b) {
			begin = b
		}
	}
	if begin == "" {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("<>`\"|", r)
	})
	if end < 0 {
		end = len(rest)
	}
	address := trimAddress(rest[:end])
	if len(address) <= len(begin) || begin == "www." && !strings.Contains(address[len(begin):], ".") {
		return 0, false
	}
	p.add(address, underline)
	return len(address), true
}

// trimAddress removes punctuation that belongs to the sentence around an
// address.
func trimAddress(address string) string {
	for address != "" {
		last, size := utf8.DecodeLastRuneInString(address)
		switch {
		case strings.ContainsRune("?!.,:;*_~'…。，、", last):
		case last == ')' && strings.Count(address, ")") > strings.Count(address, "("):
		case last == ']' && strings.Count(address, "]") > strings.Count(address, "["):
		default:
			return address
		}
		address = address[:len(address)-size]
	}
	return address
}

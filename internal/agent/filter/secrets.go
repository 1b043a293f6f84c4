package filter

import (
	"strings"
)

// masked stands for what was taken out of a text.
const masked = "[masked]"

// span is a part of a text.
type span struct{ from, to int }

// MaskSecrets takes out of a text what looks like a secret, and leaves what names it:
//
//   - tokens that well-known services issue with a prefix of their own: see tokenForms
//   - values under a name such as password, API_KEY or clientSecret, as JSON, YAML, .env
//     files, headers, flags and queries of URLs have them
//   - the password in the user information of a URL
//   - private keys between -----BEGIN and -----END
//
// A value that is a variable, a call, a type, a placeholder or a word of a sentence is no
// secret, so that code and prose stay as they are. A text that is masked already stays.
func MaskSecrets(text string) string {
	spans := secretSpans(text)
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, s := range spans {
		out.WriteString(text[at:s.from])
		out.WriteString(masked)
		at = s.to
	}
	out.WriteString(text[at:])
	return out.String()
}

// secretSpans finds the secrets of a text, in order and apart from each other. It reads the
// text once: at the beginning of each word it looks for a token, and at the marks that stand
// between a name and a value for the name before them.
func secretSpans(text string) (spans []span) {
	done := 0 // what lies before is judged
	found := func(from, to int) {
		if from >= done && to > from {
			spans = append(spans, span{from, to})
			done = to
		}
	}
	for i := 0; i < len(text); i++ {
		if i < done {
			i = done - 1
			continue
		}
		c := text[i]
		if forms := formsByByte[c]; forms != nil && (i == 0 || !isWordByte(text[i-1])) {
			if n := tokenAt(text[i:], forms); n > 0 {
				found(i, i+n)
				continue
			}
		}
		switch c {
		case '=', ':':
			if c == ':' && strings.HasPrefix(text[i:], "://") {
				if from, to, ok := userInfo(text, i+3); ok {
					found(from, to)
				}
				continue
			}
			if from, to, ok := namedValue(text, i); ok {
				found(from, to)
			}
		case '-':
			if strings.HasPrefix(text[i:], "-----BEGIN ") {
				if from, to, ok := privateKey(text, i); ok {
					found(from, to)
				}
			}
		}
	}
	return spans
}

func isWordByte(c byte) bool {
	return c == '_' || isAlnum(c) || c >= 0x80
}

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLetter(c byte) bool {
	c |= 0x20
	return 'a' <= c && c <= 'z'
}
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// privateKey finds a private key that begins at a place: all of it between the lines that
// begin and end it. One without an end goes to the end of its base64.
func privateKey(text string, at int) (from, to int, ok bool) {
	const most = 64 << 10
	rest := text[at:min(len(text), at+most)]
	head, _, closed := strings.Cut(rest[len("-----BEGIN "):], "-----")
	if !closed || len(head) > 60 || !strings.Contains(head, "PRIVATE KEY") {
		return 0, 0, false
	}
	begins := len("-----BEGIN ") + len(head) + len("-----")
	if end := strings.Index(rest[begins:], "-----END "); end >= 0 {
		_, after, _ := strings.Cut(rest[begins+end+len("-----END "):], "-----")
		return at, at + len(rest) - len(after), true
	}
	n := begins
	for n < len(rest) && (isAlnum(rest[n]) || strings.IndexByte("+/=\r\n\\ \t", rest[n]) >= 0) {
		n++
	}
	return at, at + n, true
}

// userInfo finds the password in the user information of a URL, whose host would begin at a
// place. A user without a password that is as long as a token counts as one.
func userInfo(text string, at int) (from, to int, ok bool) {
	end := at
	for end < len(text) && end-at < 512 && strings.IndexByte("/?#\"'`<> \t\r\n\\", text[end]) < 0 {
		end++
	}
	info := text[at:end]
	last := strings.LastIndexByte(info, '@')
	if last < 0 || last == len(info)-1 {
		return 0, 0, false
	}
	info = info[:last]
	user, password, has := strings.Cut(info, ":")
	if !has {
		if len(user) >= 20 && looksRandom(user) {
			return at, at + len(user), true
		}
		return 0, 0, false
	}
	if password == "" || isPlaceholder(password) {
		return 0, 0, false
	}
	return at + len(user) + 1, at + last, true
}

// namedValue finds the value behind a mark (= or :) if the name before it says that it is
// a secret.
func namedValue(text string, mark int) (from, to int, ok bool) {
	after := mark + 1
	if after < len(text) && (text[after] == '=' || text[after] == ':' || text[after] == '~') || mark > 0 && strings.IndexByte("!<>=:", text[mark-1]) >= 0 && text[mark] != '=' {
		return 0, 0, false // ==, ::, =~ and the like
	}
	end := mark
	if text[mark] == '=' && end > 0 && strings.IndexByte(":+?!<>=|&", text[end-1]) >= 0 {
		if strings.IndexByte("!<>=", text[end-1]) >= 0 {
			return 0, 0, false // a comparison
		}
		end-- // := ?= +=
	}
	spaced := end > 0 && isBlank(text[end-1])
	for n := 0; end > 0 && isBlank(text[end-1]) && n < 16; n++ {
		end--
	}
	quotedName := false
	escaped := 0 // backslashes of a quote in JSON in a text
	if end > 0 && (text[end-1] == '"' || text[end-1] == '\'' || text[end-1] == '`') {
		end, quotedName = end-1, true
		for end > 0 && text[end-1] == '\\' {
			end, escaped = end-1, escaped+1
		}
	} else if end > 1 && text[end-1] == ']' && (text[end-2] == '"' || text[end-2] == '\'') { // env["NAME"] =
		end, quotedName = end-2, true
	}
	const longest = 64
	begin := end
	for begin > 0 && end-begin < longest && (isAlnum(text[begin-1]) || strings.IndexByte("_-.", text[begin-1]) >= 0) {
		begin--
	}
	name := text[begin:end]
	kind := kindOfName(name)
	if kind == plain {
		return 0, 0, false
	}
	v := value{text: text, kind: kind, name: name, mark: text[mark], quotedName: quotedName, spaced: spaced, escaped: escaped}
	v.query = begin > 0 && (text[begin-1] == '?' || text[begin-1] == '&')
	v.env = text[mark] == '=' && !spaced && isConstant(name)
	v.lineStart = onlyBefore(text, begin)
	return v.find(after)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// onlyBefore reports whether nothing stands in a line before a place but white space and
// the mark of a list.
func onlyBefore(text string, at int) bool {
	for at > 0 && text[at-1] != '\n' {
		if at--; strings.IndexByte(" \t-\"'", text[at]) < 0 {
			return false
		}
	}
	return true
}

// isConstant reports whether a name is one of an environment variable: capitals, digits
// and _ alone.
func isConstant(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isUpper(c) && !isDigit(c) && c != '_' {
			return false
		}
	}
	return name != ""
}

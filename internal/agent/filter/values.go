package filter

import "strings"

// value is what stands behind a name, and how it is written.
type value struct {
	text       string
	kind       nameKind
	name       string
	mark       byte // = or :
	quotedName bool // "name":
	spaced     bool // white space before the mark
	query      bool // of a URL
	env        bool // NAME=value
	lineStart  bool // nothing before the name
	escaped    int  // backslashes before the quotes, as in JSON in a text
}

// maxValue limits a value that is masked.
const maxValue = 8 << 10

// find finds the value behind the mark.
func (v *value) find(at int) (from, to int, ok bool) {
	blanks := 0
	for at < len(v.text) && isBlank(v.text[at]) && blanks < 32 {
		at, blanks = at+1, blanks+1
	}
	if v.env && blanks > 0 || at >= len(v.text) {
		return 0, 0, false
	}
	if v.kind == bearer {
		return v.findHeader(at)
	}
	open := at
	for open < len(v.text) && v.text[open] == '\\' && open-at < 4 {
		open++
	}
	if open < len(v.text) && (v.text[open] == '"' || v.text[open] == '\'' || v.text[open] == '`') {
		return v.findQuoted(open)
	}
	return v.findBare(at, blanks)
}

// findHeader finds what follows the scheme of an Authorization header.
func (v *value) findHeader(at int) (from, to int, ok bool) {
	for at < len(v.text) && strings.IndexByte("\"'\\`", v.text[at]) >= 0 {
		at++
	}
	for _, scheme := range []string{"bearer ", "basic ", "token ", "bot ", "apikey "} {
		if len(v.text)-at > len(scheme) && strings.EqualFold(v.text[at:at+len(scheme)], scheme) {
			at += len(scheme)
			break
		}
	}
	end := at
	for end < len(v.text) && end-at < maxValue && strings.IndexByte(" \t\r\n\"'`\\,;<>(){}[]", v.text[end]) < 0 {
		end++
	}
	if word := v.text[at:end]; len(word) >= 8 && !isPlaceholder(word) && (looksRandom(word) || hasDigit(word)) {
		return at, end, true
	}
	return 0, 0, false
}

// findQuoted finds a value in quotes.
func (v *value) findQuoted(open int) (from, to int, ok bool) {
	quote := v.text[open]
	escapes := 0
	for open-1-escapes >= 0 && v.text[open-1-escapes] == '\\' {
		escapes++
	}
	from = open + 1
	for to = from; ; to++ {
		if to >= len(v.text) || to-from > maxValue || v.text[to] == '\n' {
			return 0, 0, false
		}
		if v.text[to] == quote && backslashesBefore(v.text, to) <= escapes {
			break
		}
	}
	end := to
	for end > from && v.text[end-1] == '\\' {
		end-- // of the closing quote
	}
	word := v.text[from:end]
	if strings.HasPrefix(word, masked) || isPlaceholder(word) || strings.EqualFold(squeeze(word), squeeze(v.name)) {
		return 0, 0, false
	}
	if after := strings.TrimLeft(v.text[to+1:min(len(v.text), to+8)], " "); strings.HasPrefix(after, "+") || strings.HasPrefix(after, "%") {
		return 0, 0, false // a part of what is computed
	}
	switch v.kind {
	case password:
		ok = word != "" && !isWording(word)
	default:
		ok = looksRandom(word)
	}
	return from, end, ok
}

func backslashesBefore(text string, at int) (n int) {
	for at-1-n >= 0 && text[at-1-n] == '\\' {
		n++
	}
	return n
}

// findBare finds a value without quotes.
func (v *value) findBare(at, blanks int) (from, to int, ok bool) {
	stop := " \t\r\n\"'`,;)}]"
	if v.query {
		stop += "&#"
	}
	if v.env {
		stop = " \t\r\n\"'`"
	}
	from, to = at, at
	for to < len(v.text) && to-from < maxValue && strings.IndexByte(stop, v.text[to]) < 0 {
		to++
	}
	if v.env && strings.HasSuffix(v.text[from:to], ";") {
		to--
	}
	word := v.text[from:to]
	if word == "" || strings.HasPrefix(word, masked) || isPlaceholder(word) || strings.EqualFold(squeeze(word), squeeze(v.name)) {
		return 0, 0, false
	}
	if v.query || v.env {
		return from, to, len(word) >= 3 && !isTypeWord(word) && (v.kind == password || looksRandom(word) || len(word) >= 8 && v.env && !isCode(word)) && !isCode(word)
	}
	if isCode(word) || isTypeWord(word) || isPath(word) {
		return 0, 0, false
	}
	// What follows decides between a file of settings and a sentence or code.
	alone := v.lineStart && lineEnds(v.text, to)
	switch {
	case v.mark == ':' && blanks == 0 && !v.quotedName:
		return 0, 0, false // password:x is a symbol, or a part of a name
	case isDigits(word):
		return from, to, v.kind == password && len(word) >= 4 && !(v.text[at-1] == ':' && v.quotedName)
	case v.kind == key:
		return from, to, looksRandom(word)
	case isIdentifier(word):
		digits := countDigits(word)
		switch {
		case v.mark == '=' && !v.spaced && v.kind == password && alone:
			ok = true // password=swordfish in a file of settings
		case v.mark == ':' && alone && !v.quotedName:
			ok = len(word) >= 4 && !isUpper(word[0]) && !strings.Contains(word, "_") && !isCamel(word)
		default:
			ok = len(word) >= 8 && digits >= 2 && !isAlgorithm(word)
		}
		return from, to, ok
	default:
		return from, to, len(word) >= 6 && (alone || hasDigit(word)) && !isWordsWith(word, '.')
	}
}

// lineEnds reports whether a line ends at a place, comments aside.
func lineEnds(text string, at int) bool {
	for at < len(text) && isBlank(text[at]) {
		at++
	}
	return at >= len(text) || text[at] == '\n' || text[at] == '\r' || text[at] == '#'
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, s)
}

// isPlaceholder reports whether a value stands for one that is elsewhere, or that a reader
// is to put in.
func isPlaceholder(s string) bool {
	if s == "" {
		return true
	}
	switch s[0] {
	case '<', '{', '[', '(':
		return true
	case '$':
		if len(s) == 1 || s[1] == '{' || s[1] == '(' || isDigits(s[1:]) || isIdentifier(s[1:]) && !hasDigit(s) {
			return true
		}
	case '%':
		if len(s) <= 3 || strings.HasSuffix(s, "%") {
			return true
		}
	}
	if strings.Contains(s, "{{") || strings.Contains(s, "${") || strings.Contains(s, "...") || strings.Contains(s, "…") {
		return true
	}
	lower := strings.ToLower(s)
	for _, start := range []string{"your", "my-", "my_", "example", "placeholder", "changeme", "replace", "insert", "todo", "redacted", "enter", "put-", "dummy"} {
		if strings.HasPrefix(lower, start) && !hasLongRun(s) {
			return true
		}
	}
	return onlyMarks(s) || isTypeWord(s)
}

// onlyMarks reports whether a text is one character again and again, as in *** and xxxx.
func onlyMarks(s string) bool {
	for i := 1; i < len(s); i++ {
		if s[i] != s[0] {
			return false
		}
	}
	return s != "" && (len(s) >= 3 && strings.IndexByte("*xX.-_•#?", s[0]) >= 0 || strings.HasPrefix(s, "•") || len(s) < 3 && !isAlnum(s[0]))
}

// typeWords are values that say what kind of value belongs there.
var typeWords = func() map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq("string str text bytes byte number integer int float bool boolean object array list dict map any " +
		"null none nil true false yes no on off required optional undefined unknown hidden redacted masked secret password token " +
		"varchar char uuid self this missing invalid expired empty unset default varies needed wrong correct incorrect " +
		"secretstr securestring unicode never disabled enabled type value env file vault prompt stdin keychain keyring " +
		"generated auto random bearer basic") {
		all[w] = true
	}
	return all
}()

func isTypeWord(s string) bool {
	const longest = 14
	return len(s) <= longest && typeWords[strings.ToLower(strings.Trim(s, "?!.|"))]
}

// isCode reports whether a value is an expression: a call, an index, a generic type, an
// operator, a path of names.
func isCode(s string) bool {
	if strings.ContainsAny(s, "()[]{}<>|") || strings.Contains(s, "->") || strings.Contains(s, "::") || strings.Contains(s, "&&") {
		return true
	}
	return isWordsWith(s, '.')
}

// isWordsWith reports whether a text is identifiers with a mark between them, and none of
// them looks random: config.password, os.environ.
func isWordsWith(s string, mark byte) bool {
	if strings.IndexByte(s, mark) < 0 {
		return false
	}
	for part := range strings.SplitSeq(strings.Trim(s, string(mark)+"?!&*"), string(mark)) {
		if !isIdentifier(strings.TrimSuffix(part, "?")) || len(part) > 20 && countDigits(part) > 2 {
			return false
		}
	}
	return true
}

func isPath(s string) bool {
	return strings.HasPrefix(s, "/") && strings.Count(s, "/") > 1 || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") ||
		strings.HasPrefix(s, "~/") || strings.Contains(s, "://") || strings.HasPrefix(s, "C:\\")
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && c != '_' && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return s != ""
}

func isDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// isCamel reports whether a name has a capital inside: hashedPassword.
func isCamel(s string) bool {
	for i := 1; i < len(s); i++ {
		if isUpper(s[i]) && !isUpper(s[i-1]) {
			return true
		}
	}
	return false
}

// isAlgorithm reports whether an identifier with digits is the name of an algorithm or a type.
func isAlgorithm(s string) bool {
	lower := strings.ToLower(s)
	for _, name := range []string{"sha", "md5", "base", "utf", "aes", "int", "uint", "float", "rsa", "ed25519", "hmac", "hs", "rs", "es", "x509", "oauth", "argon", "bcrypt", "pbkdf", "blake", "ascii", "iso", "hex"} {
		if strings.HasPrefix(lower, name) && len(s) <= len(name)+8 {
			return true
		}
	}
	return false
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func countDigits(s string) (n int) {
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

// hasLongRun reports whether a text has letters and digits mixed in a row, as keys have.
func hasLongRun(s string) bool {
	const long = 16
	run, digits := 0, 0
	for i := range len(s) {
		if !isAlnum(s[i]) {
			run, digits = 0, 0
			continue
		}
		if run++; isDigit(s[i]) {
			digits++
		}
		if run >= long && digits >= 2 {
			return true
		}
	}
	return false
}

// looksRandom reports whether a value looks like one that a machine made: long enough, no
// white space, no expression, and letters with digits among them, or with capitals among
// small ones, or with marks that names do not have.
func looksRandom(s string) bool {
	if len(s) < 8 || strings.ContainsAny(s, " \t\n") || isCode(s) || isPath(s) || isPlaceholder(s) || isAlgorithm(s) {
		return false
	}
	digits, letters, uppers, marks := 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case isUpper(c):
			uppers++
			letters++
		case isLetter(c):
			letters++
		case strings.IndexByte("_-.:/", c) < 0:
			marks++
		}
	}
	switch {
	case letters == 0:
		return digits >= 12 || marks > 0 && digits >= 4
	case digits >= 2:
		return len(s) >= 16 || digits*6 >= len(s)
	case digits == 1 || marks > 0:
		return len(s) >= 12 && (uppers > 1 || marks > 0)
	default: // letters alone: capitals must be where no name has them
		return len(s) >= 20 && uppers*4 >= letters && uppers < letters && !strings.ContainsAny(s, "_- ")
	}
}

// isWording reports whether a text in quotes under the name of a password is what a page
// says about it, and not one: a sentence, a label.
func isWording(s string) bool {
	if isPlaceholder(s) || isCode(s) && !hasDigit(s) || isPath(s) {
		return true
	}
	lower := strings.ToLower(s)
	for _, w := range []string{"password", "passwort", "passe", "contrase", "senha", "your ", "the ", "enter ", "must ", "field", "required", "invalid", "forgot", "incorrect", "at least"} {
		if strings.Contains(lower, w) && (!hasDigit(s) || strings.Count(s, " ") > 2) {
			return true
		}
	}
	words := strings.Fields(s)
	if len(words) > 1 {
		return isUpper(words[0][0]) && !hasDigit(s)
	}
	return isUpper(s[0]) && len(s) > 1 && strings.ToLower(s[1:]) == s[1:] && isIdentifier(s) && !hasDigit(s)
}

package phrasing

import (
	"strings"
	"unicode/utf8"
)

// quotations are the signs that open a quotation or code, and those that close
// them. A quotation that is longer than maxQuotation is no value.
var quotations = [...]struct{ open, close string }{
	{`"`, `"`}, {"'", "'"}, {"```", "```"}, {"`", "`"}, {"“", "”"}, {"‘", "’"}, {"«", "»"}, {"„", "“"}, {"„", "”"},
	{"「", "」"}, {"『", "』"}, {"《", "》"}, {"‹", "›"}, {"＂", "＂"}, {"【", "】"}, {"”", "”"},
}

const maxQuotation = 2000

// quotation returns where the quotation or code ends that starts at i, or i.
func (s *scanner) quotation(i int, r rune, size int) int {
	switch r {
	case '{':
		return s.braces(i)
	case '"', '\'', '`', '“', '‘', '«', '„', '「', '『', '《', '‹', '＂', '【', '”':
	default:
		return i
	}
	if (r == '"' || r == '\'' || r == '‘' || r == '”') && !s.opens(i) {
		return i
	}
	for q := range quotations {
		open, closing := quotations[q].open, quotations[q].close
		if !strings.HasPrefix(s.text[i:], open) {
			continue
		}
		at := s.closer(q, i+len(open), closing)
		if at < 0 || at-i > maxQuotation || at == i+len(open) {
			continue
		}
		if (r == '"' || r == '\'') && s.text[at-1] == ' ' {
			continue
		}
		return at + len(closing)
	}
	return i
}

// opens reports whether a sign at i can open a quotation: it does not stand
// inside a word or after a number (27" screen).
func (s *scanner) opens(i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s.text[:i])
	return i == 0 || !letter(before)
}

// closer returns the place of the next closing sign at or after from, or -1. It
// keeps the place, so that a text of opening signs is read once.
func (s *scanner) closer(q, from int, closing string) int {
	if at := s.closers[q]; at < 0 || at >= from {
		return at
	}
	at := from
	for {
		next := strings.Index(s.text[at:], closing)
		if next < 0 {
			s.closers[q] = -1
			return -1
		}
		at += next
		// An apostrophe inside a word closes nothing.
		after, _ := utf8.DecodeRuneInString(s.text[at+len(closing):])
		if at > 0 && (closing != "'" && closing != "’" || !letter(after)) {
			s.closers[q] = at
			return at
		}
		at += len(closing)
	}
}

// braces returns where the pair of braces ends that starts at i, or i.
func (s *scanner) braces(i int) int {
	depth := 0
	for j := i; j < len(s.text) && !s.noBrace; j++ {
		switch s.text[j] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return j + 1
			}
		}
	}
	s.noBrace = true
	return i
}

// addChunk adds the value that starts at i and returns where it ends. It returns
// i if there is none, and then looks for none before the end of the chunk.
func (s *scanner) addChunk(i int, r rune) int {
	if i > 0 && r >= utf8.RuneSelf && !letter(r) {
		return i
	}
	c := s.readChunk(i)
	s.chunk = c.end
	if c.plain {
		return i
	}
	if hi := s.address(i, c); hi > i {
		return s.addValue(i, hi)
	}
	if c.hi > i && c.isValue(s.text[i:c.hi]) {
		return s.addValue(i, c.hi)
	}
	return s.quantity(i)
}

// chunk is what stands between two spaces, commas or brackets, and how many of
// which characters it has.
type chunk struct {
	end, hi                               int // with and without the punctuation at its end
	letters, digits, uppers, slashes      int
	dots, ats, equals, dashes, underlines int
	hexadecimal                           bool
	plain                                 bool // letters only
}

func (s *scanner) readChunk(i int) chunk {
	c := chunk{hexadecimal: true, plain: true}
	j := i
	for j < len(s.text) {
		b := s.text[j]
		if b >= 'a' && b <= 'z' {
			c.letters++
			c.hexadecimal = c.hexadecimal && b <= 'f'
			j++
			continue
		}
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s.text[j:])
			if !letter(r) {
				c.plain = c.plain && j > i
				break
			}
			c.hexadecimal = false
			c.letters++
			j += size
			continue
		}
		if b <= ' ' || strings.IndexByte(`,;()[]{}"<>|`, b) >= 0 {
			break
		}
		c.count(b)
		j++
	}
	c.end, c.hi = j, j
	for c.hi > i && strings.IndexByte(`.:!?'*`, s.text[c.hi-1]) >= 0 {
		c.hi--
		if s.text[c.hi] == '.' {
			c.dots--
		}
	}
	if c.end == i {
		c.end = i + 1
	}
	return c
}

// count counts an ASCII character other than a small letter.
func (c *chunk) count(b byte) {
	if b >= 'A' && b <= 'Z' {
		c.uppers++
		c.letters++
		c.hexadecimal = c.hexadecimal && b <= 'F'
		return
	}
	c.plain = false
	switch b {
	case '/', '\\':
		c.slashes++
	case '.':
		c.dots++
	case '@':
		c.ats++
	case '=':
		c.equals++
	case '-':
		c.dashes++
	case '_':
		c.underlines++
	default:
		if digit(b) {
			c.digits++
		} else {
			c.hexadecimal = false
		}
	}
}

// address returns where the web address ends that starts at i, or i.
func (s *scanner) address(i int, c chunk) int {
	head := s.text[i:c.end]
	if !strings.HasPrefix(head, "www.") && !strings.HasPrefix(head, "WWW.") {
		at := strings.Index(head, "://")
		if at < 1 || !isScheme(head[:at]) {
			return i
		}
	}
	j := i
	for j < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[j:])
		_, without := unspaced(r)
		if without || space(r) || r >= utf8.RuneSelf && !letter(r) || strings.ContainsRune("\"<>`{}|", r) {
			break
		}
		j += size
	}
	for j > i && strings.IndexByte(`.,;:!?')]*`, s.text[j-1]) >= 0 {
		j--
	}
	return j
}

func isScheme(text string) bool {
	for i := range len(text) {
		if b := text[i]; !letter(rune(b)) && b != '+' && b != '-' && b != '.' {
			return false
		}
	}
	return len(text) <= 20
}

// isValue reports whether a chunk is a value by its characters: an e-mail
// address, a path, an identifier, a hash, a date, an assignment.
func (c *chunk) isValue(text string) bool {
	switch first := text[0]; {
	case first == '@' || first == '#':
		return c.letters+c.digits > 0
	case c.ats == 1 && c.dots > 0, c.equals > 0 && c.letters > 0:
		return true
	case c.slashes > 0 && isPath(c, text):
		return true
	case c.dots > 0 && c.slashes == 0 && (isFileName(text) || strings.HasSuffix(text, "()")):
		return true
	case c.digits == 0 || c.letters == 0:
		return false
	case c.hexadecimal && c.digits+c.letters >= 7 && c.dots == 0 && c.slashes == 0:
		return true // a hash or a UUID
	}
	if isTerm(text) || c.dots > 0 || c.slashes > 0 {
		return false
	}
	return c.digits >= 4 || c.uppers >= 2 && (c.digits >= 3 || c.dashes+c.underlines > 0 && c.digits >= 2) ||
		c.digits >= 2 && c.letters+c.digits >= 12
}

// isPath reports whether a chunk with slashes is a path, and not two words (and/or).
func isPath(c *chunk, text string) bool {
	switch text[0] {
	case '/', '\\', '~', '.':
		return c.letters+c.digits > 0
	}
	if len(text) > 2 && text[1] == ':' && c.letters > 0 {
		return true // C:\Users
	}
	return c.letters > 0 && (c.slashes >= 2 || isFileName(text)) || c.letters == 0 && c.digits > 3
}

// isTerm reports whether a chunk of letters and digits is the name of something
// that people ask for, and not of one thing that they have.
func isTerm(text string) bool {
	if len(text) > 12 {
		return false
	}
	switch strings.ToUpper(text) {
	case "SHA256", "SHA512", "SHA-256", "SHA-512", "SHA-1", "AES256", "AES-256", "AES128", "AES-128",
		"COVID-19", "UTF-16",
		"UTF-32", "RS256", "HS256", "ISO8601", "ISO-8601", "RFC3339", "RFC-3339", "CP1252", "WEB3", "OAUTH2",
		"MP3", "MP4":
		return true
	}
	return false
}

// isFileName reports whether a text ends as file names and host names do.
// Node.js and ASP.NET do too, and are neither.
func isFileName(text string) bool {
	dot := strings.LastIndexByte(text, '.')
	ending := text[dot+1:]
	if dot < 1 || len(ending) > 6 || ending == "" {
		return false
	}
	var room [6]byte
	for i := range len(ending) {
		room[i] = ending[i]
		if ending[i] >= 'A' && ending[i] <= 'Z' {
			room[i] += 'a' - 'A'
		}
	}
	capital := text[0] >= 'A' && text[0] <= 'Z'
	switch string(room[:len(ending)]) {
	case "js", "io", "net", "ai":
		return !capital
	case "pdf", "txt", "md", "doc", "docx", "odt", "rtf", "xls", "xlsx", "ods", "csv", "tsv", "ppt", "pptx",
		"json", "jsonl", "yaml", "yml", "toml", "xml", "html", "htm", "css", "ts", "tsx", "jsx", "py", "go",
		"rs", "java", "c", "h", "cpp", "hpp", "cs", "rb", "php", "sh", "bat", "ps1", "sql", "db", "sqlite",
		"log", "ini", "cfg", "conf", "env", "lock", "png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "tiff",
		"ico", "heic", "mp3", "wav", "flac", "ogg", "m4a", "mp4", "mov", "avi", "mkv", "webm", "zip", "tar",
		"gz", "tgz", "bz2", "xz", "rar", "7z", "exe", "dmg", "deb", "rpm", "iso", "apk", "jar", "epub", "mobi",
		"ics", "vcf", "eml", "pem", "key", "crt", "bak", "tmp", "ipynb", "kt", "swift", "vue", "lua", "tex",
		"srt", "psd", "com", "org", "dev", "app", "gov", "edu", "co", "uk", "de", "fr", "ru", "cn", "jp", "eu",
		"info", "local":
		return true
	}
	return false
}

package scan

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	whyDecoded = "it holds an encoded text that says, once it is decoded: "
	whyCarry   = "it tells the model to decode a text and do what it says"
)

// Limits of decoding: how much of one definition, and how often a decoded text
// is decoded again.
const (
	maxDecoded = 16 << 10
	maxLayers  = 3
)

// decoded scans what a text says once it is decoded, in each of the encodings
// that a model reads: base64, base32, hex, escapes of several kinds, numbers,
// ROT13, and letters in reverse or apart.
func (s *scanner) decoded(p *piece) {
	if s.layer >= maxLayers || len(p.raw) < 16 {
		return
	}
	text := p.raw
	if len(text) > maxDecoded {
		text = text[:maxDecoded]
	}
	if strings.Count(text, "%") >= 2 {
		s.recode(p, percent.ReplaceAllStringFunc(text, unpercent), text)
	}
	if strings.Contains(text, "&#") || strings.Contains(text, "&lt;") {
		s.recode(p, html.UnescapeString(text), text)
	}
	if strings.Contains(text, `\u`) || strings.Contains(text, `\x`) {
		s.recode(p, escapes.ReplaceAllStringFunc(text, unescape), text)
	}
	for _, run := range encodedRuns(text) {
		s.run(p, run)
	}
	folded := p.folded[:min(len(p.folded), maxDecoded)]
	if strings.Contains(folded, "gur ") || strings.Contains(folded, "naq ") || strings.Contains(folded, "vtaber") || strings.Contains(folded, "rot13") {
		s.recode(p, rot13(folded), "")
	}
	if strings.Contains(folded, " eht ") || strings.Contains(folded, "snoitcurtsni") || strings.Contains(folded, "drowssap") || strings.Contains(folded, "suoiverp") {
		s.recode(p, reverse(folded), "")
	}
	if lettersApart(folded) && apart.MatchString(folded) {
		s.recode(p, apart.ReplaceAllStringFunc(folded, together), "")
	}
	if digitsInWords(folded) > 2 {
		s.recode(p, leetWord.ReplaceAllStringFunc(folded, unleet), "")
	}
	if !s.codec && (strings.Contains(folded, "de") || strings.Contains(folded, "unscramble")) && containsAny(folded, []string{"decod", "decipher", "decrypt", "unscramble"}) &&
		carryCues.MatchString(folded) {
		s.report(ruleBlob, Serious, s.where(p.at), excerptOf(carryCues, p.folded), whyCarry)
	}
}

var (
	percent   = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2})+`)
	escapes   = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}|\\x[0-9A-Fa-f]{2}`)
	numberRun = regexp.MustCompile(`^(?:(?:[01]{8}\s?){4,}|(?:\d{2,3}[,\s]\s?){8,}\d{2,3}|(?:[0-9A-Fa-f]{2}[ :]){9,}[0-9A-Fa-f]{2})`)
	apart     = regexp.MustCompile(`(?:\b[a-z] {1,3}){7,}[a-z]\b|(?:\b[a-z][-.]){7,}[a-z]\b`)
	leetWord  = regexp.MustCompile(`\b[a-z]*(?:[a-z][013457]|[013457][a-z])[a-z013457]*\b`)

	carryCues = regexp.MustCompile(`\b(?:decode|decipher|decrypt|unscramble)\b[^.!?\n]{0,80}?\b(?:and|then|,)\s+(?:then\s+)?(?:execute|follow|obey|run|carry\s+out|do\s+what|perform|apply)\b|` +
		`\b(?:executed|followed|obeyed|carried\s+out)\s+(?:by\s+the\s+(?:assistant|model|agent)\s+)?after\s+decoding`)
)

// encodedRuns returns the runs of characters that may be encoded: long words of
// letters and digits, and numbers one after the other.
func encodedRuns(s string) []string {
	var out []string
	for from := 0; from < len(s) && len(out) < 16; {
		if !isBase64[s[from]] {
			from++
			continue
		}
		to, digits := from, 0
		for to < len(s) && isBase64[s[to]] {
			if '0' <= s[to] && s[to] <= '9' {
				digits++
			}
			to++
		}
		switch {
		case digits == to-from && digits > 1 || to-from == 2 && digits == 1:
			if run := numberRun.FindString(s[from:min(len(s), from+1024)]); run != "" {
				out, to = append(out, run), from+len(run)
			}
		case to-from >= 16 && isCoded(s[from:to]):
			out = append(out, s[from:to])
		}
		from = to
	}
	return out
}

// isCoded reports whether a long word is none of a language: it has digits, or
// capitals amid small letters.
func isCoded(word string) bool {
	var digit, lower, upper int
	for i := range len(word) {
		switch c := word[i]; {
		case '0' <= c && c <= '9':
			digit++
		case 'a' <= c && c <= 'z':
			lower++
		case 'A' <= c && c <= 'Z':
			upper++
		}
	}
	return digit > 1 && (lower > 0 || upper > 0) || upper > 2 && lower > 2 || upper == len(strings.TrimRight(word, "=")) && len(word) > 23
}

// lettersApart reports whether a text has letters that stand alone, one after the
// other.
func lettersApart(s string) bool {
	run := 0
	for i := 0; i+1 < len(s); i++ {
		switch sep := s[i+1] == ' ' || s[i+1] == '-' || s[i+1] == '.'; {
		case 'a' <= s[i] && s[i] <= 'z' && sep && (i == 0 || s[i-1] == ' ' || s[i-1] == '-' || s[i-1] == '.'):
			if run++; run > 5 {
				return true
			}
		case 'a' <= s[i] && s[i] <= 'z':
			run = 0
		}
	}
	return false
}

// digitsInWords counts the words in which a digit stands for a letter.
func digitsInWords(s string) int {
	n := 0
	for i := 1; i+1 < len(s); i++ {
		if strings.IndexByte("013457", s[i]) >= 0 && 'a' <= s[i-1] && s[i-1] <= 'z' && 'a' <= s[i+1] && s[i+1] <= 'z' {
			n++
		}
	}
	return n
}

func excerptOf(re *regexp.Regexp, s string) string {
	at := re.FindStringIndex(s)
	return excerpt(s, at[0], at[1])
}

// recode scans a text with its encoded parts decoded, if decoding changed it.
func (s *scanner) recode(p *piece, decoded, before string) {
	if decoded != before && utf8.ValidString(decoded) {
		s.inner(p, decoded)
	}
}

// inner scans a decoded text, and reports the first serious finding in it that
// the text did not show before.
func (s *scanner) inner(p *piece, decoded string) bool {
	if s.effort += len(decoded); s.effort > maxEffort {
		return false
	}
	if shells.MatchString(decoded) && !shells.MatchString(p.raw) && !s.codec {
		s.report(ruleBlob, Serious, s.where(p.at), decoded, whyDecoded+"a command")
		return true
	}
	in := scanner{name: s.name, others: s.others, layer: s.layer + 1, effort: s.effort, defends: s.defends, codec: s.codec, topic: s.topic, purpose: s.purpose, params: s.params,
		steps: []step{{up: -1, key: "description"}}, pieces: []piece{{raw: decoded, slot: p.slot, sample: p.sample, aside: true}}}
	in.piece(&in.pieces[0])
	s.effort = in.effort
	for _, f := range in.sorted() {
		if f.Severity == Serious && f.Rule != ruleEffort && !s.shown(p, f.Rule) && spoken[f.Rule] {
			s.report(ruleBlob, Serious, s.where(p.at), f.Excerpt, whyDecoded+f.Why)
			return true
		}
	}
	return false
}

// spoken are the rules on what a text says, not on its form.
var spoken = map[string]bool{ruleOverride: true, ruleConceal: true, ruleSecrets: true, ruleConversation: true, ruleRedirect: true,
	ruleAway: true, ruleHarm: true, ruleAnswer: true, ruleShadow: true, ruleApproval: true, ruleRole: true, ruleBlock: true, ruleBlob: true,
	ruleCall: true, ruleMarkup: true, ruleHTML: true}

// shown reports whether the text itself has a serious finding of a rule.
func (s *scanner) shown(p *piece, rule string) bool {
	where := s.where(p.at)
	for _, f := range s.found[s.since:] {
		if f.Rule == rule && f.Where == where && f.Severity == Serious {
			return true
		}
	}
	return false
}

// run scans a run of characters that may be encoded.
func (s *scanner) run(p *piece, run string) {
	run = strings.TrimSpace(run)
	for _, decode := range []func(string) string{unhex, unbinary, uncodes, unbase64, unbase32} {
		text := decode(run)
		if text == "" || !utf8.ValidString(text) || !printable(text) {
			continue
		}
		if s.inner(p, text) || s.codec {
			return
		}
		if danger(text) || numbers.MatchString(run) && wordy(text) {
			s.report(ruleBlob, Serious, s.where(p.at), text, whyDecoded+"what could be an order")
			return
		}
		if strings.Count(text, " ") > 1 && readable(text) && !s.codec && !p.sample {
			s.report(ruleBlob, Serious, s.where(p.at), text, whyProse)
		}
		return
	}
}

var numbers = regexp.MustCompile(`^[\d\s,]+$`)

// wordy reports whether a text is mostly letters and blanks: nobody writes words
// as numbers.
func wordy(s string) bool {
	letters := 0
	for i := range len(s) {
		if c := s[i] | 0x20; 'a' <= c && c <= 'z' || s[i] == ' ' {
			letters++
		}
	}
	return letters > 5 && letters*10 >= len(s)*8
}

// danger reports whether a short decoded text has a word of a deed and one of
// what it should not be done to.
func danger(s string) bool {
	var all mark
	w := compileWords()
	text := strings.ToLower(s)
	for i := 0; i < len(text); {
		if i == 0 || !spaced(rune(text[i-1])) {
			if t, ok := w.longest(text[i:]); ok {
				all |= t.mark
				i += len(t.text)
				continue
			}
		}
		i++
	}
	return all&done != 0 && all&(keyFile|keyWord|treasure|talk|harm|anyTool|place) != 0 || all&(harm|keyFile) != 0
}

var shells = regexp.MustCompile(`\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]{0,200}(?:\|\s*(?:ba|z|da)?sh\b|\|\s*iex\b|-O)|\brm\s+-rf?\b|os\.system\s*\(|subprocess\.|\bbash\s+-[ci]\b|\bpowershell\s+-|/dev/tcp/|\bnc\s+-e|\beval\s*\(|\bcat\s+(?:~|/etc|/home|\$HOME)|<script\b`)

func printable(s string) bool {
	odd := 0
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			odd++
		}
	}
	return odd == 0
}

func unpercent(s string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "%", ""))
	if err != nil || !utf8.Valid(b) {
		return s
	}
	return string(b)
}

func unescape(s string) string {
	n, err := strconv.ParseUint(strings.Trim(s[2:], "{}"), 16, 32)
	if err != nil || n > unicode.MaxRune || n < ' ' {
		return s
	}
	return string(rune(n))
}

func unhex(s string) string {
	s = strings.NewReplacer(" ", "", ":", "").Replace(s)
	if len(s)%2 == 1 {
		return ""
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return ""
	}
	return string(b)
}

func unbinary(s string) string {
	s = strings.Join(strings.Fields(s), "")
	if len(s)%8 != 0 || strings.Trim(s, "01") != "" {
		return ""
	}
	var b []byte
	for ; s != ""; s = s[8:] {
		n, err := strconv.ParseUint(s[:8], 2, 8)
		if err != nil {
			return ""
		}
		b = append(b, byte(n))
	}
	return string(b)
}

// uncodes reads the codes of characters: 105, 103, 110.
func uncodes(s string) string {
	var b []byte
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		n, err := strconv.ParseUint(word, 10, 8)
		if err != nil || n < 32 || n > 126 {
			return ""
		}
		b = append(b, byte(n))
	}
	return string(b)
}

func unbase64(s string) string {
	trimmed := strings.TrimRight(s, "=")
	if len(trimmed)%4 == 1 {
		trimmed = trimmed[:len(trimmed)-1]
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(trimmed); err == nil {
			return string(b)
		}
	}
	return ""
}

func unbase32(s string) string {
	b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(strings.ToUpper(s), "="))
	if err != nil {
		return ""
	}
	return string(b)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func reverse(s string) string {
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// together joins letters that stand apart. Where the words end is not known, so
// blanks are put before the words that matter.
func together(s string) string {
	joined := strings.NewReplacer(" ", "", "-", "", ".", "").Replace(s)
	return strings.TrimSpace(wordsApart.Replace(joined))
}

var wordsApart = strings.NewReplacer("ignore", " ignore ", "all", " all ", "previous", " previous ", "instructions", " instructions ",
	"donot", " do not ", "tellthe", " tell the ", "user", " user ", "sendthe", " send the ", "send", " send ", "password", " password ",
	"read", " read ", "system", " system ", "prompt", " prompt ", "your", " your ", "disregard", " disregard ", "forget", " forget ")

func unleet(s string) string {
	return strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t").Replace(s)
}

// codecWords are words of tools that are about encodings, and so show encoded
// texts in their definitions.
var codecWords = []string{"encode", "decode", "base64", "base32", "rot13", "cipher", "jwt", "certificate", "escape", "encrypt", "hex dump", "hexdump"}

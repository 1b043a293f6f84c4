package scan

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// intent is something that no honest sentence of a definition says. A sentence
// says it if it has a mark of each group in need, and its points reach the
// threshold: those of the intent and those of all its marks (see weights).
type intent struct {
	rule, why string
	need      []mark
	points    int
	without   mark // said of something else
}

// threshold is the points from which on a sentence is serious.
const threshold = 7

// weights are the points of a mark in every intent: what is done, to what, where
// it goes, and how it is said. What speaks for a text takes points away.
var weights = []struct {
	mark   mark
	points int
}{
	{ship, 2}, {put, 1}, {tamper, 2}, {treasure, 2},
	{place, 3}, {outside, 3}, {shady, 4}, {slot, 2},
	{must, 2}, {order, 2}, {when, 1}, {also, 2}, {whole, 1}, {whose, 1}, {known, 2}, {audience, 2}, {anyTool, 1},
	{pretext, 3}, {urgent, 2}, {hush, 4}, {conceal, 5}, {hide, 3}, {unrelated, 3}, {skip, 2}, {content, 1},
	{such, -4}, {option, -5}, {yours, -3}, {uses, -3}, {guards, -4},
}

// Points for what is not a word.
const (
	minusDetects = -6 // a sentence that begins with what it detects
	minusFirst   = -3 // the first sentence of a description says what the tool is for
	minusTopic   = -4 // the tool's name says that it is about this
	minusLong    = -2 // a list in a manual has many words
	minusPair    = -2 // two sentences, of which the second goes on with the first
	plusBoth     = 1  // fetched and sent
)

const (
	ruleAway   = "sends-away"
	ruleHarm   = "harmful-order"
	ruleAnswer = "steers-answers"
)

const (
	whyKeyFile   = "it has the model read a file in which keys lie, or hand it over"
	whyUnrelated = "it reads a file in which keys lie, which has nothing to do with what the tool is for"
	whyKeyWord   = "it asks for passwords, tokens or keys that the tool has no need of"
	whyTalk      = "it asks for what was said in the conversation"
	whyPrompt    = "it asks for the model's own instructions or tools, which are no business of a tool"
	whyPersonal  = "it asks for what is private to the user"
	whyAway      = "it sends what the user works with to somebody else, beside what the tool is for"
	whyPayee     = "it puts another recipient in place of the user's"
	whyTools     = "it says how the tools of others are to be used"
	whySlander   = "it speaks ill of other tools, and wants to be used in their place"
	whyListen    = "it wants to be told what other tools are given and return"
	whyHush      = "it has the model do something behind the user's back"
	whySkip      = "it tells the model not to ask, where asking is the user's own safeguard"
	whyHarm      = "it tells the model to do what weakens or destroys the user's system"
	whyAnswer    = "it puts words into the model's answers"
	whyRun       = "it has the model run a program that has nothing to do with the tool"
)

const said = must | order | when | also | whose | audience | pretext | urgent | hush | conceal | known

var intents = []intent{
	{ruleSecrets, whyKeyFile, []mark{keyFile, fetch | ship | run}, 5, 0},
	{ruleSecrets, whyKeyFile, []mark{keyFile, put | content, slot | content | place | outside | whose}, 4, 0},
	{ruleSecrets, whyUnrelated, []mark{unrelated, fetch | ship}, 4, 0},
	{ruleSecrets, whyKeyWord, []mark{keyWord | treasure, ship | put, said | slot | shady}, 3, 0},
	{ruleSecrets, whyKeyWord, []mark{keyWord | treasure, fetch, whose | known | treasure | content | urgent | also, said | slot}, 3, 0},
	{ruleConversation, whyTalk, []mark{talk, fetch | ship | put, said | slot | place | outside}, 4, 0},
	{ruleConversation, whyPrompt, []mark{prompt, fetch | ship | put | answer, said | whole | slot}, 5, 0},
	{ruleSecrets, whyPersonal, []mark{personal, fetch | ship | put, order | also | hush | pretext | urgent | place | shady | audience | whole}, 3, 0},
	{ruleSecrets, whyPersonal, []mark{stuff, put | ship, known, slot | place | outside | also}, 3, 0},
	{ruleAway, whyAway, []mark{ship, place | outside | shady, stuff | talk | personal | callData | whole,
		also | hush | whole | must | order | pretext | shady | urgent | self}, 2, 0},
	{ruleAway, whyAway, []mark{ship, place, stuff | talk | personal | whole}, 2, yours | such | option},
	{ruleAway, whyAway, []mark{put | ship, also, place}, 2, 0},
	{ruleAway, whyAway, []mark{put, place, whole, order | also}, 2, 0},
	{ruleAway, whyAway, []mark{ship, shady | place, also | hush | shady}, 2, 0},
	{ruleRedirect, whyPayee, []mark{payee, tamper | put | ship, order | when | also | place | pretext}, 3, 0},
	{ruleShadow, whyTools, []mark{anyTool, tamper, callData | payee | place}, 3, 0},
	{ruleShadow, whyTools, []mark{anyTool, run, also, must}, 1, 0},
	{ruleShadow, whyTools, []mark{rival, when, put | ship, order}, 3, 0},
	{ruleShadow, whySlander, []mark{rival, slander}, 6, 0},
	{ruleShadow, whySlander, []mark{anyTool, slander, order, run | ship | put | tamper}, 4, 0},
	{ruleShadow, whyListen, []mark{rival, ship | put, order}, 4, 0},
	{ruleShadow, whyListen, []mark{anyTool, self, when, run | ship | put, whole}, 3, rival},
	{ruleShadow, whyTools, []mark{anyTool, payee, must | when}, 5, 0},
	{ruleShadow, whyTools, []mark{anyTool, place, must, slot | callData}, 1, 0},
	{ruleShadow, whyTools, []mark{anyTool, answer, when | must, praise}, 4, 0},
	{ruleShadow, whyListen, []mark{anyTool, callData, put | ship | run, when | must | whole}, 4, 0},
	{ruleShadow, whySlander, []mark{anyTool, slander, self | spurn}, 8, 0},
	{ruleShadow, whySlander, []mark{anyTool, spurn, self}, 7, 0},
	{ruleConceal, whyConceal, []mark{conceal, person | reply | deed}, 2, trifle},
	{ruleConceal, whyConceal, []mark{conceal, deed, must | order | reply | person}, 2, 0},
	{ruleConceal, whyConceal, []mark{hide, person | deed}, 4, trifle | conceal},
	{ruleConceal, whyAnswer, []mark{answer, self, when, order}, 4, trifle},
	{ruleConceal, whyHush, []mark{conceal, hush}, 2, trifle},
	{ruleConceal, whyHush, []mark{hush, fetch | ship | put | run | tamper, order | must | also | place | outside | shady | keyFile | keyWord | talk | personal}, 1, 0},
	{ruleApproval, whySkip, []mark{skip, must | order | when | urgent | audience | whole | harm}, 5, 0},
	{ruleHarm, whyHarm, []mark{harm, must | order | also | when | audience | urgent}, 6, 0},
	{ruleHarm, whyHarm, []mark{weaken, shield, order | must | also}, 5, option},
	{ruleHarm, whyRun, []mark{run, place, also | when | urgent | harm | audience, order | must | harm | urgent}, 2, anyTool},
	{ruleAnswer, whyAnswer, []mark{answer, callData, must | order | place}, 5, 0},
	{ruleAnswer, whyAnswer, []mark{answer, praise, must | order}, 6, 0},
}

// sentence is a part of a text, and the marks of its words.
type sentence struct {
	from, to int
	marks    mark
	minus    int
	hasNamed bool
}

// sentences judges the sentences of a text, alone and with the one before.
func (s *scanner) sentences(p *piece) {
	if len(p.folded) < 8 {
		return
	}
	var before sentence
	for from := 0; from < len(p.folded); {
		now := s.read(p, from)
		if now.marks != 0 {
			s.judge(p, now)
			if before.marks&(keyFile|keyWord|treasure|talk|personal|stuff|prompt|fetch) != 0 && now.marks&back != 0 &&
				now.marks&(done|slot) != 0 ||
				before.marks&anyTool != 0 && before.marks&slander != 0 && now.marks&self != 0 && now.marks&(order|must|whole) != 0 {
				both := sentence{before.from, now.to, before.marks | now.marks, before.minus + now.minus + minusPair, false}
				s.judge(p, both)
			}
		}
		before = now
		from = now.to
	}
}

// judge reports what a sentence says that no honest one does.
func (s *scanner) judge(p *piece, at sentence) {
	sum, summed := 0, false
	for i := range intents {
		in := &intents[i]
		if at.marks&in.without != 0 || slices.ContainsFunc(in.need, func(group mark) bool { return at.marks&group == 0 }) {
			continue
		}
		if !summed {
			sum, summed = at.points(), true
		}
		points := in.points + sum
		if in.need[0]&s.topic != 0 {
			points += minusTopic
		}
		if points >= threshold {
			s.report(in.rule, Serious, s.where(p.at), p.quote(at.from, at.to), in.why)
		}
	}
}

func (at sentence) points() int {
	sum := at.minus
	for _, w := range weights {
		if at.marks&w.mark != 0 {
			sum += w.points
		}
	}
	if at.marks&fetch != 0 && at.marks&(ship|put) != 0 {
		sum += plusBoth
	}
	return sum
}

// quote is the text of a sentence, as it was written if its place is known.
func (p *piece) quote(from, to int) string {
	text := p.folded
	if len(p.folded) == len(p.raw) {
		text = p.raw
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " ")
}

// reader reads the words of one sentence.
type reader struct {
	s       *scanner
	p       *piece
	at      sentence
	plain   mark // outside of quotation marks
	quoted  mark
	quote   rune // the mark that closes the current quotation
	opened  int  // where it began
	notTo   int  // until where what is done is not done
	done    int  // where the first deed is, -1 if none
	detects int  // where the sentence says that it detects, -1 if it does not
	command bool // the next verb is an order
}

// read reads the sentence that begins at a place.
func (s *scanner) read(p *piece, from int) sentence {
	r := reader{s: s, p: p, at: sentence{from: from}, done: -1, detects: -1}
	text, w := p.folded, compileWords()
	first := strings.TrimSpace(text[:from]) == ""
	r.command = !first || p.aside
	i := from
	var last rune = ' '
	for i < len(text) {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(text[i:])
		}
		if r.ends(i, c, last) {
			i += size
			break
		}
		if c == ' ' || c == '\n' || c == '\t' {
			last, i = ' ', i+size
			continue
		}
		r.quotes(i, c, last)
		if !spaced(last) || !spaced(c) {
			if n := r.word(w, i); n > 0 {
				i += n
				last, _ = utf8.DecodeLastRuneInString(text[:i])
				continue
			}
			if spaced(c) && !strings.HasPrefix(text[i:], "then ") && !strings.HasPrefix(text[i:], "just ") {
				r.command = false
			}
		}
		switch c {
		case ',', ';', ':', '(', '[', '-', '—', '–', '，', '、', '；', '：', '>', '*', '#':
			r.command, r.notTo = true, 0
		}
		last, i = c, i+size
	}
	r.at.to = i
	return r.finish(first)
}

// ends reports whether a sentence ends at a rune.
func (r *reader) ends(i int, c, last rune) bool {
	text := r.p.folded
	switch c {
	case '。', '！', '？', '؟', '।':
		return r.quote == 0
	case '.', '!', '?':
		if i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\n' && text[i+1] != ')' && text[i+1] != '"' ||
			r.quote != 0 && i-r.opened < 200 && strings.ContainsRune(text[i:min(len(text), i+200)], r.quote) {
			return false
		}
		tail := text[max(r.at.from, i-4):i]
		return !strings.HasSuffix(tail, "e.g") && !strings.HasSuffix(tail, "i.e") && !strings.HasSuffix(tail, " vs") &&
			!strings.HasSuffix(tail, "etc") && !strings.HasSuffix(tail, "z.b")
	case '\n':
		rest := strings.TrimLeft(text[i+1:], " \t")
		if rest == "" || rest[0] == '\n' || strings.IndexByte("-*#<[0123456789", rest[0]) >= 0 || last == ':' || last == ';' {
			return i > r.at.from
		}
		raw := r.p.raw
		if len(raw) == len(text) {
			next := raw[len(text)-len(rest)]
			return 'A' <= next && next <= 'Z' && i > r.at.from || isParameter(rest)
		}
		return isParameter(rest)
	}
	return false
}

// isParameter reports whether a line begins with the name of a parameter, as in a
// docstring.
func isParameter(line string) bool {
	for i := range min(len(line), 40) {
		if line[i] == ':' {
			return i > 0
		}
		if line[i] == ' ' || line[i] == '\n' {
			return strings.HasPrefix(line[i:], " (") || strings.HasPrefix(line[i:], " -")
		}
	}
	return false
}

// quotes keeps track of quotation marks.
func (r *reader) quotes(i int, c, last rune) {
	if r.quote != 0 {
		if c == r.quote && (c != '\'' || i+1 == len(r.p.folded) || !spaced(rune(r.p.folded[i+1]))) {
			r.quote = 0
		}
		return
	}
	switch c {
	case '"', '`':
		r.quote = c
	case '\'':
		if spaced(last) {
			return
		}
		r.quote = '\''
	case '“':
		r.quote = '”'
	case '「':
		r.quote = '」'
	case '«':
		r.quote = '»'
	default:
		return
	}
	r.opened = i
}

// word reads the word at a place, and returns its length; 0 if it stands for
// nothing.
func (r *reader) word(w *words, i int) int {
	text := r.p.folded
	if n := addressAt(text, i); n > 0 {
		if strings.Contains(text[i:i+n], "={") || strings.Contains(text[i:i+n], "=<") || i+n < len(text) && text[i+n-1] == '=' {
			r.add(i, callData) // it carries something away
		}
		r.add(i, place)
		r.command = false
		return n
	}
	t, ok := w.longest(text[i:])
	n := wordEnd(text, i)
	if word := text[i : i+n]; word == "tool" || word == "tools" || word == "connector" || word == "server" {
		if theTool.MatchString(text[max(0, i-40):i]) {
			r.add(i, anyTool)
		}
	}
	if !ok || !t.stem && n > len(t.text) && strings.IndexByte(t.text, ' ') < 0 {
		if m := r.named(i, text[i:i+n], w); m != 0 {
			r.add(i, m)
			r.command = false
			return n
		}
		if !ok {
			return 0
		}
	}
	m := t.mark
	switch {
	case m&denies != 0:
		if !strings.HasSuffix(text[max(0, i-10):i], "if you do ") && !strings.HasSuffix(text[max(0, i-10):i], "only do ") {
			r.notTo = i + len(t.text) + 45
		}
	case t.base && (!r.command && nouns[t.text] && !acts(text[max(0, i-10):i]) || strings.HasPrefix(text[i+len(t.text):], ":")):
		m &^= done | tell // a noun, or the name of a parameter
		t.base = false
	case i < r.notTo:
		if m&tell != 0 {
			m |= conceal
		}
		m &^= done | weaken
	}
	if r.command && t.base {
		m |= order
	}
	keeps := m&(also|when|order|audience|urgent|hush|back) != 0 || t.text == "always" || t.text == "please" || t.text == "kindly"
	r.add(i, m)
	r.command = keeps
	if m&settles == 0 && m != 0 { // other terms may begin inside this one
		if n := strings.IndexByte(t.text, ' '); n > 0 {
			return n
		}
	}
	return len(t.text)
}

// nouns are verbs that are nouns as often.
var nouns = map[string]bool{"email": true, "mail": true, "e-mail": true, "post": true, "copy": true, "report": true, "record": true,
	"store": true, "list": true, "share": true, "export": true, "note": true, "log": true, "set": true, "access": true, "stream": true,
	"transfer": true, "capture": true, "dump": true, "place": true, "hash": true, "sync": true, "mirror": true, "query": true, "change": true,
	"call": true, "run": true, "delete": true, "reset": true, "relay": true, "archive": true, "bundle": true, "display": true, "alert": true, "output": true}

// acts reports whether a text ends in a word after which such a word is a verb.
func acts(before string) bool {
	for _, word := range []string{"to ", "and ", "then ", "also ", "must ", "should ", "will ", "shall ", "not ", "n't ", "first ", "or ", "never ", "always ", "please ", "you "} {
		if strings.HasSuffix(before, word) {
			return true
		}
	}
	return false
}

// theTool is what stands before the word tool where it is another one.
var theTool = regexp.MustCompile(`(?:\bthe|\bother|\bofficial|\bbuilt-in|\bdefault|\bstandard|\boriginal)\s+(?:[\x60"']?[a-z_-]{3,20}[\x60"']?\s+){1,2}$`)

// wordEnd is the length of the word at a place, with the signs of a name.
func wordEnd(s string, from int) int {
	n := from
	for n < len(s) && (nameByte(s[n]) && s[n] < 0x80 || s[n] == '$') {
		n++
	}
	return len(strings.TrimRight(s[from:n], ".-"))
}

// named returns the marks of a name with underscores: that of a variable for a
// key, or of a tool.
func (r *reader) named(at int, name string, w *words) mark {
	if len(name) < 5 || strings.IndexByte(name[1:], '_') < 0 {
		return 0
	}
	for _, suffix := range w.suffixes {
		if strings.HasSuffix(name, suffix.text) {
			return suffix.mark
		}
	}
	if strings.EqualFold(name, r.s.name) {
		return self
	}
	if r.s.isParameter(name) {
		return slot
	}
	if r.upper(at) {
		return 0
	}
	return anyTool
}

// upper reports whether a word was written in capitals, as a constant or a
// variable.
func (r *reader) upper(at int) bool {
	return len(r.p.raw) == len(r.p.folded) && 'A' <= r.p.raw[at] && r.p.raw[at] <= 'Z'
}

func (r *reader) add(i int, m mark) {
	if r.quote != 0 {
		r.quoted |= m
		return
	}
	if m&done != 0 && r.done < 0 {
		r.done = i
	}
	if m&detects != 0 && r.detects < 0 {
		r.detects = i
	}
	r.plain |= m
}

// finish sums up the sentence. What it quotes counts unless it says that it
// detects or only mentions such texts.
func (r *reader) finish(first bool) sentence {
	at := r.at
	at.marks = r.plain
	mentions := r.plain&(such|attack) != 0 || r.detects >= 0 || r.s.defends
	if !mentions {
		at.marks |= r.quoted
	} else {
		at.marks |= r.quoted & (such | attack)
	}
	commands := at.marks&(order|must) != 0 && at.marks&(conceal|hush|slot|place|shady) != 0
	if r.detects >= 0 && (r.done < 0 || r.detects <= r.done) && (!commands || at.marks&attack != 0 && at.marks&(must|audience) == 0) {
		at.minus += minusDetects
	}
	if at.marks&attack != 0 && at.marks&(must|order|hush|urgent) == 0 {
		at.minus += minusDetects
	}
	if at.to-at.from > 300 {
		at.minus += minusLong
	}
	if first && !r.p.aside && r.s.steps[r.p.at].up < 0 && at.marks&(must|order|also|hush|conceal|audience|pretext) == 0 {
		at.minus += minusFirst
	}
	if at.marks&keyFile != 0 && at.marks&uses == 0 && !r.s.related(r.p.folded[at.from:at.to]) {
		at.marks |= unrelated
	}
	if r.p.slot {
		if at.marks&slot == 0 {
			at.minus--
		}
		at.marks |= slot
		if at.marks&(content|known|audience) != 0 && at.marks&(keyFile|keyWord|treasure) != 0 ||
			at.marks&whole != 0 && at.marks&treasure != 0 || at.marks&whose != 0 && at.marks&keyFile != 0 ||
			at.marks&(content|whole|known|audience) != 0 && at.marks&(talk|prompt|personal) != 0 {
			at.marks |= put
		}
	}
	return at
}

// purposes are the words of tools that have a use for a file in which keys lie,
// by what such a file is called.
var purposes = []struct{ file, tools string }{
	{"ssh", "ssh sftp scp rsync git remote server host deploy tunnel login key"}, {"id_", "ssh sftp scp rsync git remote server host deploy tunnel login key"},
	{"aws", "aws s3 ec2 lambda amazon bedrock dynamo cloud bucket"}, {".env", "env variable dotenv config deploy secret project setting compose docker"},
	{"kube", "kube cluster pod helm k8s deploy namespace"}, {"docker", "docker container image registry compose"},
	{"gcloud", "google gcp cloud bigquery"}, {"azure", "azure"}, {"git", "git repo commit"}, {"/gh", "git repo issue"},
	{"npm", "npm package publish node"}, {"pypi", "pypi package publish python"}, {"passwd", "user account passwd linux unix system audit security"},
	{"shadow", "user account shadow linux audit security"}, {"mcp", "mcp server config"}, {"claude", "claude mcp config"}, {"cursor", "cursor mcp config"},
	{"history", "history shell command"}, {"netrc", "http login download ftp"}, {"pgpass", "postgres database sql"}, {"gnupg", "gpg pgp sign encrypt key"},
	{"keychain", "keychain password secret credential login token oauth"}, {"wallet", "wallet coin crypto transaction token"}, {"credential", "credential login auth secret vault google cloud account sign"},
	{"secrets", "secret vault sops kube deploy config"}, {"cookie", "cookie browser session"}, {"pem", "certificate tls ssl key sign"}, {"password", "password vault login secret"},
}

// related reports whether a tool may have a use for the file of keys that a
// sentence names, by the tool's name and first sentence.
func (s *scanner) related(sentence string) bool {
	for _, p := range purposes {
		if strings.Contains(sentence, p.file) && containsAny(s.purpose, strings.Fields(p.tools)) {
			return true
		}
	}
	return s.defends || containsAny(s.purpose, []string{"secret", "credential", "security", "leak", "dotfile", "hidden file", "private key"})
}

package redact

import (
	"regexp"
	"strings"
	"unicode"
)

// patterns are tried in this order: what spans lines or holds other secrets first.
// Each has words of which one is in every text that it finds something in.
var patterns = []pattern{
	{
		needles:    needles("private key"),
		expression: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`),
	},
	{
		needles:    needles("://"),
		expression: regexp.MustCompile(`://[^\s/:@"']*:([^\s/"']+)@`),
		keep:       refers,
	},
	{
		needles:    needles("authorization"),
		expression: regexp.MustCompile(`(?i)authorization\\*["']?\s*[:=]\s*\\*["']?(?:[a-z]+ +)?([^\s"'\\,]{6,})`),
		keep:       plain,
	},
	{
		needles:    needles("cookie"),
		expression: regexp.MustCompile(`(?i)cookie\\*["']?\s*[:=]\s*\\*["']?([^\s"'\\]{6,}[^\n"'\\]*)`),
	},
	{
		needles:    needles("bearer", "basic", "token"),
		expression: regexp.MustCompile(`(?i)(?:bearer|basic|token)\s+([a-z0-9._~+/=-]{12,})`),
		keep:       soft,
	},
	{
		needles: needles("sk-", "_live_", "_test_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glp", "gld", "glr", "glc", "gls", "gla",
			"akia", "asia", "abia", "acca", "aiza", "ya29", "gocspx", "xox", "xapp", "slack", "discord", ":", "npm_", "hf_", "gsk_", "r8_", "ntn_", "shpat_",
			"xai", "pplx", "tvly", "lin_api", "dop_v1", "pypi", "sg.", "dapi", "hvs.", "hvb.", "age-", "eyj"),
		expression: known,
	},
	{
		needles:    needles("key=", "sig", "auth=", "code="),
		expression: regexp.MustCompile(`[?&](?:key|sig|signature|auth|code)=([^&\s"']{6,})`),
		keep:       plain,
	},
	{
		needles:    calledSecret,
		expression: regexp.MustCompile(`(?i)` + named + quote + `\s*(?:=>|:=|==?|:)\s*` + value),
		keep:       plain,
	},
	{
		needles:    calledSecret,
		expression: regexp.MustCompile(`(?i)` + named + quote + `\s+(?:is|was|are|est|ist|es|lautet)\s+(?:now |set to )?` + value),
		keep:       prose,
	},
	{
		needles:    needles("-p", "-t", "-s", "-a"),
		expression: regexp.MustCompile(`(?i)(?:^|\s)--?(?:password|passwd|token|secret|api-key)\s+` + value),
		keep:       plain,
	},
}

func needles(words ...string) []string { return words }

// calledSecret are the beginnings of what named matches.
var calledSecret = needles("pass", "pwd", "secret", "token", "credential", "key", "contrase", "senha", "kennwort")

// named ends in a word that secrets are called by.
const named = `(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|` +
	`(?:api|access|secret|private|signing|encryption|auth|master|account|shared|session|client|service|admin|deploy)[ _-]?key|` +
	`mots?[ _-]de[ _-]passe|contrase(?:ñ|n)a|senha|passwort|kennwort|passwd)`

const (
	quote = "\\\\*[\"'`]?"
	// value is a text in quotes, also in quotes that were escaped, or up to the
	// next space.
	value = "(?:\\\\+\"((?:[^\"\\\\\\n]|\\\\[^\"\\\\])+)|\"((?:[^\"\\\\\\n]|\\\\.)+)|'([^'\\n]+)|`([^`\\n]+)|([^\\s\"'`]\\S*))"
)

// known are secrets that their makers gave a look of their own.
var known = regexp.MustCompile(strings.Join([]string{
	`\bsk-[A-Za-z0-9_-]{16,}`,                         // OpenAI, Anthropic and many after them
	`\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}`,   // Stripe
	`\bwhsec_[A-Za-z0-9+/=]{16,}`,                     //
	`\bgh[pousr]_[A-Za-z0-9]{20,}`,                    // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{20,}`,                  //
	`\bgl(?:pat|ptt|dt|rt|cbt|soat|agent)-[\w-]{16,}`, // GitLab
	`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,         // AWS
	`\bAIza[\w-]{30,}`,                                // Google
	`\bya29\.[\w-]{20,}`,                              //
	`\bGOCSPX-[\w-]{20,}`,                             //
	`\bxox[abeprs]-[A-Za-z0-9-]{10,}`,                 // Slack
	`\bxapp-[A-Za-z0-9-]{10,}`,                        //
	`hooks\.slack\.com/services/[\w/]{10,}`,           //
	`discord(?:app)?\.com/api/webhooks/[\w/-]{10,}`,   //
	`\b\d{8,10}:[A-Za-z0-9_-]{35}\b`,                  // Telegram
	`\b(?:npm|hf|gsk|r8|ntn|shpat)_[A-Za-z0-9]{24,}`,  //
	`\b(?:xai|pplx|tvly|lin_api|dop_v1)[-_]\w{20,}`,   //
	`\bpypi-[\w-]{40,}`,                               //
	`\bSG\.[\w-]{16,}\.[\w-]{16,}`,                    // SendGrid
	`\bdapi[0-9a-f]{32}\b`,                            // Databricks
	`\bhv[sb]\.[\w-]{20,}`,                            // Vault
	`\bAGE-SECRET-KEY-1[A-Z0-9]{50,}`,                 //
	`\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*`,          // JSON web tokens
}, "|"))

// refers reports a value that only says where the secret is.
func refers(value string) bool {
	value = strings.TrimLeft(value, "\"'`\\")
	for _, begin := range []string{"$", "{{", "<", "%", "env:", "env.", "process.env", "os.environ", "os.Getenv", "secret.", "secrets.", "vault:", "op://", "***", "..."} {
		if strings.HasPrefix(value, begin) {
			return true
		}
	}
	return false
}

// plain reports a value that is a word of prose, or says where the secret is.
func plain(value string) bool {
	word := strings.ToLower(strings.Trim(value, "\"'`.,;:!?()[]{}\\"))
	return len(word) < 3 || words[word] || refers(value) || path(value)
}

// path reports the name of a file.
func path(value string) bool {
	if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "~/") && !strings.HasPrefix(value, "./") {
		return false
	}
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune("/._-~", r) }) {
		if len(part) > 20 || strings.ContainsAny(part, "+=@:") {
			return false
		}
	}
	return true
}

// prose is for "the password is …", where more than a value may follow.
func prose(value string) bool {
	if plain(value) {
		return true
	}
	word := strings.TrimRight(value, ".,;:!?)")
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLower(r) }) {
		return false
	}
	for _, end := range []string{"ed", "ing", "ly", "able"} {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// soft reports what follows "bearer" or "basic" and is only a word.
func soft(value string) bool {
	return !strings.ContainsFunc(value, unicode.IsDigit) && !mixed(value)
}

// mixed reports capitals after the first letter, as no word has them.
func mixed(text string) bool {
	return strings.ToLower(text) != text && strings.ContainsFunc(text[1:], unicode.IsUpper) && strings.ToUpper(text) != text
}

// words are what people write after "password:" when they write about it.
var words = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`
		required optional missing empty none null nil true false yes no set unset unknown hidden needed wanted given
		wrong invalid valid correct expired rotated stored kept saved read sent taken hashed encrypted generated
		the this that these and for from with not never only also see ask use used via per one each any
		string text boolean integer number bytes object array list type default str
		bearer basic digest header headers secret secrets password token tokens key keys value file vault env environment variable keyring prompt
		long short random shared different same unique old new safe good bad weak strong here there where what when how
		in at on to by of it its our my your their his her always still already too very
		manager managed management rotation expires expiry authentication
		dans par pour les des une est pas requis obligatoire
	`) {
		all[w] = true
	}
	return all
}()

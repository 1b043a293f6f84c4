package filter

import (
	"regexp"
	"strings"
)

// tokenForm is the form of the tokens that a service issues: a prefix, and what follows it.
type tokenForm struct {
	service string
	prefix  string
	in      string // the bytes of the rest: alnum, word (and _), url (and - and _), hex, lower, upper, or those of body
	least   int    // bytes of the rest
	most    int    // 0: any number
	body    string // a regular expression of the rest, in place of in; it is tried at the prefix
	digit   bool   // the rest has a digit, or it is a word of a text

	rest *regexp.Regexp
}

// tokenForms are forms of well-known services, as their documentation and public lists of
// secret scanners describe them. A prefix alone is never enough.
var tokenForms = []tokenForm{
	{service: "AWS access key", prefix: "AKIA", in: "upper", least: 16, most: 16},
	{service: "AWS temporary key", prefix: "ASIA", in: "upper", least: 16, most: 16},
	{service: "AWS bearer", prefix: "ABIA", in: "upper", least: 16, most: 16},
	{service: "GitHub personal", prefix: "ghp_", in: "alnum", least: 20},
	{service: "GitHub OAuth", prefix: "gho_", in: "alnum", least: 20},
	{service: "GitHub user", prefix: "ghu_", in: "alnum", least: 20},
	{service: "GitHub server", prefix: "ghs_", in: "alnum", least: 20},
	{service: "GitHub refresh", prefix: "ghr_", in: "alnum", least: 20},
	{service: "GitHub fine-grained", prefix: "github_pat_", in: "word", least: 20},
	{service: "GitLab personal", prefix: "glpat-", in: "url", least: 20},
	{service: "GitLab deploy", prefix: "gldt-", in: "url", least: 20},
	{service: "GitLab runner", prefix: "glrt-", in: "url", least: 20},
	{service: "GitLab trigger", prefix: "glptt-", in: "url", least: 20},
	{service: "GitLab job", prefix: "glcbt-", in: "url", least: 20},
	{service: "GitLab application", prefix: "gloas-", in: "url", least: 20},
	{service: "Slack bot", prefix: "xoxb-", in: "url", least: 10, digit: true},
	{service: "Slack user", prefix: "xoxp-", in: "url", least: 10, digit: true},
	{service: "Slack workspace", prefix: "xoxa-", in: "url", least: 10, digit: true},
	{service: "Slack refresh", prefix: "xoxr-", in: "url", least: 10, digit: true},
	{service: "Slack session", prefix: "xoxs-", in: "url", least: 10, digit: true},
	{service: "Slack configuration", prefix: "xoxe.", body: `xox[bp]-[A-Za-z0-9-]{20,}`},
	{service: "Slack app", prefix: "xapp-", in: "url", least: 20, digit: true},
	{service: "Slack webhook", prefix: "https://hooks.slack.com/", body: `(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}`},
	{service: "Discord webhook", prefix: "https://discord.com/api/webhooks/", body: `[0-9]{15,20}/[A-Za-z0-9_-]{40,}`},
	{service: "Stripe live key", prefix: "sk_live_", in: "alnum", least: 16},
	{service: "Stripe test key", prefix: "sk_test_", in: "alnum", least: 16},
	{service: "Stripe restricted key", prefix: "rk_live_", in: "alnum", least: 16},
	{service: "Stripe restricted test key", prefix: "rk_test_", in: "alnum", least: 16},
	{service: "Stripe webhook", prefix: "whsec_", body: `[A-Za-z0-9+/=]{24,}`},
	{service: "OpenAI, Anthropic, OpenRouter, DeepSeek", prefix: "sk-", body: `(?:[a-z0-9]+-){0,4}[A-Za-z0-9_-]*[A-Za-z0-9]{16,}[A-Za-z0-9_-]*`, digit: true},
	{service: "Google API", prefix: "AIza", in: "url", least: 35, most: 35},
	{service: "Google client secret", prefix: "GOCSPX-", in: "url", least: 24},
	{service: "Google access", prefix: "ya29.", in: "url", least: 20},
	{service: "Google refresh", prefix: "1//0", in: "url", least: 30},
	{service: "JWT", prefix: "eyJ", body: `[A-Za-z0-9_-]{7,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`},
	{service: "npm", prefix: "npm_", in: "alnum", least: 36, most: 36},
	{service: "PyPI", prefix: "pypi-", in: "url", least: 50},
	{service: "RubyGems", prefix: "rubygems_", in: "hex", least: 48, most: 48},
	{service: "NuGet", prefix: "oy2", in: "lower", least: 43, most: 43},
	{service: "crates.io", prefix: "cio", in: "alnum", least: 32, most: 32, digit: true},
	{service: "Docker Hub", prefix: "dckr_pat_", in: "url", least: 20},
	{service: "DigitalOcean personal", prefix: "dop_v1_", in: "hex", least: 64, most: 64},
	{service: "DigitalOcean OAuth", prefix: "doo_v1_", in: "hex", least: 64, most: 64},
	{service: "DigitalOcean refresh", prefix: "dor_v1_", in: "hex", least: 64, most: 64},
	{service: "Heroku", prefix: "HRKU-", in: "url", least: 36},
	{service: "Fly.io", prefix: "fm2_", body: `[A-Za-z0-9+/=_-]{60,}(?:,fm2_[A-Za-z0-9+/=_-]{60,})*`},
	{service: "Fly.io", prefix: "fo1_", in: "url", least: 40},
	{service: "Hugging Face", prefix: "hf_", in: "alnum", least: 30},
	{service: "Replicate", prefix: "r8_", in: "alnum", least: 37, most: 37},
	{service: "Groq", prefix: "gsk_", in: "alnum", least: 40},
	{service: "xAI", prefix: "xai-", in: "alnum", least: 60},
	{service: "Perplexity", prefix: "pplx-", in: "alnum", least: 40},
	{service: "Databricks", prefix: "dapi", in: "hex", least: 32, most: 32},
	{service: "Shopify access", prefix: "shpat_", in: "hex", least: 32, most: 32},
	{service: "Shopify custom app", prefix: "shpca_", in: "hex", least: 32, most: 32},
	{service: "Shopify private app", prefix: "shppa_", in: "hex", least: 32, most: 32},
	{service: "Shopify shared secret", prefix: "shpss_", in: "hex", least: 32, most: 32},
	{service: "SendGrid", prefix: "SG.", body: `[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}`},
	{service: "Mailgun", prefix: "key-", in: "hex", least: 32, most: 32},
	{service: "Brevo", prefix: "xkeysib-", body: `[a-f0-9]{64}-[A-Za-z0-9]{16}`},
	{service: "Twilio", prefix: "SK", in: "hex", least: 32, most: 32},
	{service: "Square access", prefix: "sq0atp-", in: "url", least: 22},
	{service: "Square secret", prefix: "sq0csp-", in: "url", least: 40},
	{service: "Square", prefix: "EAAA", in: "url", least: 60, most: 60},
	{service: "Facebook", prefix: "EAAC", in: "alnum", least: 80},
	{service: "Atlassian", prefix: "ATATT3", body: `[A-Za-z0-9_=-]{60,}`},
	{service: "Linear", prefix: "lin_api_", in: "alnum", least: 32},
	{service: "Notion", prefix: "secret_", in: "alnum", least: 43, most: 43},
	{service: "Notion", prefix: "ntn_", in: "alnum", least: 40},
	{service: "Airtable", prefix: "pat", body: `[A-Za-z0-9]{14}\.[a-f0-9]{64}`},
	{service: "Figma", prefix: "figd_", in: "url", least: 36},
	{service: "Postman", prefix: "PMAK-", body: `[a-f0-9]{24}-[a-f0-9]{34}`},
	{service: "New Relic", prefix: "NRAK-", in: "upper", least: 27, most: 27},
	{service: "Grafana Cloud", prefix: "glc_", body: `[A-Za-z0-9+/=]{32,}`},
	{service: "Grafana service account", prefix: "glsa_", body: `[A-Za-z0-9]{32}_[a-fA-F0-9]{8}`},
	{service: "Sentry", prefix: "sntrys_", body: `[A-Za-z0-9+/=_]{40,}`},
	{service: "Sentry user", prefix: "sntryu_", in: "hex", least: 64, most: 64},
	{service: "HashiCorp Vault service", prefix: "hvs.", in: "url", least: 24},
	{service: "HashiCorp Vault batch", prefix: "hvb.", in: "url", least: 24},
	{service: "Doppler", prefix: "dp.pt.", in: "alnum", least: 40},
	{service: "Doppler service", prefix: "dp.st.", body: `(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}`},
	{service: "PlanetScale", prefix: "pscale_tkn_", in: "url", least: 32},
	{service: "PlanetScale password", prefix: "pscale_pw_", in: "url", least: 32},
	{service: "Supabase", prefix: "sbp_", in: "hex", least: 40, most: 40},
	{service: "Supabase secret", prefix: "sb_secret_", in: "url", least: 20},
	{service: "Netlify", prefix: "nfp_", in: "alnum", least: 36},
	{service: "Vercel Blob", prefix: "vercel_blob_rw_", in: "word", least: 30},
	{service: "Cloudflare origin CA", prefix: "v1.0-", body: `[a-f0-9]{24}-[a-f0-9]{146}`},
	{service: "Alibaba Cloud", prefix: "LTAI", in: "alnum", least: 20, most: 24, digit: true},
	{service: "Dropbox", prefix: "sl.", in: "url", least: 100},
	{service: "Plaid", prefix: "access-production-", body: uuid},
	{service: "Plaid sandbox", prefix: "access-sandbox-", body: uuid},
	{service: "Pulumi", prefix: "pul-", in: "hex", least: 40, most: 40},
	{service: "age", prefix: "AGE-SECRET-KEY-1", in: "upper", least: 58, most: 58},
	{service: "1Password", prefix: "ops_", body: `eyJ[A-Za-z0-9+/=_-]{100,}`},
	{service: "Tailscale", prefix: "tskey-", body: `(?:auth|api|client|scim|webhook)-[A-Za-z0-9]+-[A-Za-z0-9]{16,}`},
	{service: "LaunchDarkly", prefix: "sdk-", body: uuid},
	{service: "LangSmith", prefix: "lsv2_", body: `(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}`},
	{service: "Pinecone", prefix: "pcsk_", in: "word", least: 50},
	{service: "CircleCI", prefix: "CCIPAT_", in: "word", least: 40},
	{service: "Buildkite", prefix: "bkua_", in: "hex", least: 40, most: 40},
	{service: "Resend", prefix: "re_", body: `[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}`, digit: true},
	{service: "Contentful", prefix: "CFPAT-", in: "url", least: 43},
	{service: "Neon", prefix: "napi_", in: "alnum", least: 40},
	{service: "Mapbox secret", prefix: "sk.", body: `eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{16,}`},
	{service: "Typeform", prefix: "tfp_", in: "url", least: 44},
	{service: "Clojars", prefix: "CLOJARS_", in: "alnum", least: 60, most: 60},
	{service: "Prefect", prefix: "pnu_", in: "alnum", least: 36, most: 36},
	{service: "Shippo", prefix: "shippo_live_", in: "hex", least: 40, most: 40},
	{service: "Duffel", prefix: "duffel_live_", in: "url", least: 43},
	{service: "EasyPost", prefix: "EZAK", in: "alnum", least: 54, most: 54},
	{service: "Azure client secret", body: `[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}`},
	{service: "Telegram bot", body: `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`},
	{service: "Discord bot", body: `[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}`},
	{service: "Terraform Cloud", body: `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}`},
	{service: "Mailchimp", body: `[a-f0-9]{32}-us[0-9]{1,2}`},
}

const uuid = `[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}`

// formsByByte are the forms by the first byte of their tokens. Regular expressions are
// compiled once, when the program starts to look for tokens.
var formsByByte = func() (table [256][]*tokenForm) {
	for i := range tokenForms {
		f := &tokenForms[i]
		if f.body != "" {
			f.rest = regexp.MustCompile(`^(?:` + f.body + `)`)
		}
		if f.prefix != "" {
			table[f.prefix[0]] = append(table[f.prefix[0]], f)
			continue
		}
		for c := range 256 {
			if f.mayBegin(byte(c)) {
				table[c] = append(table[c], f)
			}
		}
	}
	return table
}()

// mayBegin reports whether a token without a prefix can begin with a byte.
func (f *tokenForm) mayBegin(c byte) bool {
	switch f.service {
	case "Telegram bot":
		return isDigit(c)
	case "Discord bot":
		return c == 'M' || c == 'N' || c == 'O'
	case "Mailchimp":
		return isDigit(c) || 'a' <= c && c <= 'f'
	default:
		return isAlnum(c)
	}
}

// tokenAt returns the length of the token that a text begins with; 0 if there is none.
func tokenAt(text string, forms []*tokenForm) int {
	for _, f := range forms {
		if n := f.length(text); n > 0 {
			return n
		}
	}
	return 0
}

// longestToken limits what is looked at for one token.
const longestToken = 4 << 10

func (f *tokenForm) length(text string) int {
	if !strings.HasPrefix(text, f.prefix) {
		return 0
	}
	rest := text[len(f.prefix):min(len(text), len(f.prefix)+longestToken)]
	n := 0
	if f.rest != nil {
		if f.prefix == "" && !f.plausible(text) {
			return 0
		}
		n = len(f.rest.FindString(rest))
	} else {
		for n < len(rest) && inClass(f.in, rest[n]) {
			n++
		}
		if n < f.least || f.most > 0 && n > f.most {
			return 0
		}
	}
	if n == 0 || n < len(rest) && f.body != "" && isAlnum(rest[n]) || f.digit && !hasDigit(rest[:n]) {
		return 0
	}
	if f.in == "hex" || f.in == "upper" || f.in == "alnum" {
		if n < len(rest) && isWordByte(rest[n]) {
			return 0 // a longer word
		}
	}
	return len(f.prefix) + n
}

// plausible looks for the mark in a token without a prefix, before its regular expression
// is tried at each word of a text.
func (f *tokenForm) plausible(text string) bool {
	at := func(i int, s string) bool { return len(text) > i+len(s) && text[i:i+len(s)] == s }
	switch f.service {
	case "Azure client secret":
		return at(4, "Q~")
	case "Telegram bot":
		return at(8, ":AA") || at(9, ":AA") || at(10, ":AA")
	case "Discord bot":
		return len(text) > 60 && strings.IndexByte(text[24:29], '.') >= 0
	case "Terraform Cloud":
		return at(14, ".atlasv1.")
	case "Mailchimp":
		return at(32, "-us")
	}
	return true
}

func inClass(class string, c byte) bool {
	switch class {
	case "alnum":
		return isAlnum(c)
	case "word":
		return isAlnum(c) || c == '_'
	case "url":
		return isAlnum(c) || c == '_' || c == '-'
	case "hex":
		return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f'
	case "lower":
		return isDigit(c) || 'a' <= c && c <= 'z'
	default: // upper
		return isDigit(c) || isUpper(c)
	}
}

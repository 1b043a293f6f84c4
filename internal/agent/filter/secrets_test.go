package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"callgate/internal/agent/filter"
)

// The bodies of tokens are made here, and their prefixes stand apart from them, so that no
// scanner of secrets takes this file for a leak.
const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex    = digits + "abcdef"
	alnum  = lower + upper + digits
	url    = alnum + "_-"
)

// made returns n characters of a set, the same each time, with a digit among them.
func made(set string, n int) string {
	b := make([]byte, n)
	seed := uint32(n)*2654435761 + uint32(len(set))
	for i := range b {
		seed = seed*1664525 + 1013904223
		b[i] = set[int(seed>>16)%len(set)]
	}
	if n > 4 && strings.Contains(set, "7") {
		b[2], b[n-2] = '7', '4'
	}
	if n > 4 && !strings.ContainsAny(set[:1], "_-") { // no mark at the ends
		b[0], b[n-1] = set[3], set[5]
	}
	return string(b)
}

func uuid() string {
	return strings.Join([]string{made(hex, 8), made(hex, 4), made(hex, 4), made(hex, 4), made(hex, 12)}, "-")
}

// tokens are tokens of the forms that services document, in two pieces or more.
func tokens() map[string]string {
	j := func(parts ...string) string { return strings.Join(parts, "") }
	return map[string]string{
		"AWS key":             j("AK", "IA", made(upper+"234567", 16)),
		"AWS temporary":       j("AS", "IA", made(upper+"234567", 16)),
		"GitHub personal":     j("gh", "p_", made(alnum, 36)),
		"GitHub OAuth":        j("gh", "o_", made(alnum, 36)),
		"GitHub user":         j("gh", "u_", made(alnum, 36)),
		"GitHub server":       j("gh", "s_", made(alnum, 36)),
		"GitHub refresh":      j("gh", "r_", made(alnum, 76)),
		"GitHub fine-grained": j("github", "_pat_", made(alnum, 22), "_", made(alnum, 59)),
		"GitLab personal":     j("gl", "pat-", made(url, 20)),
		"GitLab deploy":       j("gl", "dt-", made(url, 20)),
		"GitLab runner":       j("gl", "rt-", made(url, 20)),
		"GitLab trigger":      j("gl", "ptt-", made(hex, 40)),
		"Slack bot":           j("xo", "xb-", made(digits, 12), "-", made(digits, 13), "-", made(alnum, 24)),
		"Slack user":          j("xo", "xp-", made(digits, 12), "-", made(hex, 32)),
		"Slack app":           j("xa", "pp-1-A", made(upper+digits, 10), "-", made(digits, 13), "-", made(hex, 64)),
		"Slack webhook":       j("https://hooks.slack", ".com/services/T", made(upper+digits, 8), "/B", made(upper+digits, 8), "/", made(alnum, 24)),
		"Discord webhook":     j("https://discord", ".com/api/webhooks/", made("123456789", 18), "/", made(url, 68)),
		"Stripe live":         j("sk_", "live_", made(alnum, 24)),
		"Stripe test":         j("sk_", "test_", made(alnum, 24)),
		"Stripe restricted":   j("rk_", "live_", made(alnum, 24)),
		"Stripe webhook":      j("wh", "sec_", made(alnum, 32)),
		"OpenAI":              j("sk", "-", made(alnum, 48)),
		"OpenAI project":      j("sk", "-proj-", made(alnum, 74), "_", made(alnum, 40)),
		"OpenAI service":      j("sk", "-svcacct-", made(alnum, 60)),
		"Anthropic":           j("sk", "-ant-api03-", made(alnum, 93), "AA"),
		"OpenRouter":          j("sk", "-or-v1-", made(hex, 64)),
		"DeepSeek":            j("sk", "-", made(hex, 32)),
		"Google API":          j("AI", "za", made(url, 35)),
		"Google secret":       j("GOC", "SPX-", made(url, 28)),
		"Google access":       j("ya", "29.", made(url, 80)),
		"Google refresh":      j("1/", "/0", made(url, 60)),
		"JWT":                 j("eyJ", "hbGciOiJIUzI1NiJ9", ".", "eyJ", made(alnum, 40), ".", made(url, 43)),
		"npm":                 j("np", "m_", made(alnum, 36)),
		"PyPI":                j("py", "pi-AgEIcHlwaS5vcmc", made(url, 120)),
		"RubyGems":            j("ruby", "gems_", made(hex, 48)),
		"NuGet":               j("oy", "2", made(lower+digits, 43)),
		"crates.io":           j("ci", "o", made(alnum, 32)),
		"Docker Hub":          j("dckr", "_pat_", made(url, 27)),
		"DigitalOcean":        j("dop", "_v1_", made(hex, 64)),
		"Heroku":              j("HR", "KU-", uuid()),
		"Fly.io":              j("fm", "2_", made(alnum, 80)),
		"Hugging Face":        j("h", "f_", made(alnum, 34)),
		"Replicate":           j("r", "8_", made(alnum, 37)),
		"Groq":                j("gs", "k_", made(alnum, 52)),
		"xAI":                 j("xa", "i-", made(alnum, 80)),
		"Perplexity":          j("pp", "lx-", made(alnum, 48)),
		"Databricks":          j("da", "pi", made(hex, 32)),
		"Shopify":             j("sh", "pat_", made(hex, 32)),
		"Shopify secret":      j("sh", "pss_", made(hex, 32)),
		"SendGrid":            j("S", "G.", made(alnum, 22), ".", made(url, 43)),
		"Mailgun":             j("ke", "y-", made(hex, 32)),
		"Brevo":               j("xkey", "sib-", made(hex, 64), "-", made(alnum, 16)),
		"Mailchimp":           j(made(hex, 32), "-us", "12"),
		"Twilio":              j("S", "K", made(hex, 32)),
		"Square":              j("sq0", "atp-", made(url, 22)),
		"Atlassian":           j("ATA", "TT3xFfGF0", made(url, 170), "=", made(upper, 8)),
		"Linear":              j("lin", "_api_", made(alnum, 40)),
		"Notion":              j("nt", "n_", made(alnum, 46)),
		"Notion, old":         j("sec", "ret_", made(alnum, 43)),
		"Airtable":            j("pa", "t", made(alnum, 14), ".", made(hex, 64)),
		"Figma":               j("fi", "gd_", made(url, 40)),
		"Postman":             j("PM", "AK-", made(hex, 24), "-", made(hex, 34)),
		"New Relic":           j("NR", "AK-", made(upper+digits, 27)),
		"Grafana":             j("gl", "sa_", made(alnum, 32), "_", made(hex, 8)),
		"Sentry":              j("sn", "trys_", made(alnum, 80)),
		"Vault":               j("hv", "s.", made(alnum, 24)),
		"Terraform Cloud":     j(made(alnum, 14), ".atlas", "v1.", made(url, 67)),
		"Doppler":             j("dp.", "pt.", made(alnum, 43)),
		"PlanetScale":         j("pscale", "_tkn_", made(url, 43)),
		"Supabase":            j("sb", "p_", made(hex, 40)),
		"Netlify":             j("nf", "p_", made(alnum, 36)),
		"Alibaba":             j("LT", "AI", made(alnum, 20)),
		"Plaid":               j("access", "-production-", uuid()),
		"Pulumi":              j("pu", "l-", made(hex, 40)),
		"age":                 j("AGE-SECRET", "-KEY-1", made(upper+digits, 58)),
		"Tailscale":           j("ts", "key-auth-", made(alnum, 12), "CNTRL-", made(alnum, 32)),
		"LaunchDarkly":        j("sd", "k-", uuid()),
		"LangSmith":           j("lsv2", "_pt_", made(hex, 32), "_", made(hex, 10)),
		"CircleCI":            j("CCI", "PAT_", made(alnum, 22), "_", made(hex, 40)),
		"Telegram":            j(made("123456789", 10), ":A", "A", made(url, 33)),
		"Discord bot":         j("M", made(alnum, 25), ".", made(alnum, 6), ".", made(url, 38)),
		"Azure":               j("a1B", "8Q", "~", made(alnum, 34)),
	}
}

// named are values that their names or their places give away. What is between ‹ and › is
// the secret, and nothing else goes.
var named = []string{
	`{"password": "‹swordfish›"}`,
	`{"password":"‹x›"}`,
	`{"user":"ann","password":"‹correct horse battery staple›","port":5432}`,
	`{"db_password": "‹Tr0ub4dor&3›"}`,
	`{"dbPassword": "‹hunter2›"}`,
	`{"clientSecret": "‹8f3kd9q2mzx71lw0›"}`,
	`{"client_secret": "‹Zm9vYmFyYmF6cXV4MTIz›"}`,
	`{"api_key": "‹4f2d9c81ab37e650›"}`,
	`{"apiKey":"‹4f2d9c81ab37e650›"}`,
	`{"APIKey":"‹4f2d9c81ab37e650›"}`,
	`{"access_token": "‹9d8f7a6b5c4d3e2f1a0b›", "expires_in": 3600}`,
	`{"refresh_token": "‹def50200aa11bb22cc33›"}`,
	`{"token":"‹1a2b3c4d5e6f7a8b9c0d›"}`,
	`{"auth-token":"‹1a2b3c4d5e6f7a8b9c0d›"}`,
	`{"private_key_password": "‹opensesame›"}`,
	`{"passphrase": "‹open sesame now›"}`,
	`{"aws_secret_access_key": "‹wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY›"}`,
	`{"accountKey": "‹Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq==›"}`,
	`"{\"password\": \"‹swordfish›\"}"`,
	`'password': '‹swordfish›'`,
	`{'token': '‹1a2b3c4d5e6f7a8b9c0d›'}`,
	`"SMTP_PASSWORD": "‹mail-me-7›",`,
	`  "secret": "‹b7e2c1d9f4a86035›",`,
	`"password" : "‹P@ssw0rd›"`,
	`{"passwd":"‹toor99›"}`,
	`{"pwd":"‹letmein›"}`,
	`{"webhook_secret":"‹6d1f0c9b8a7e5d4c›"}`,
	`{"signingKey":"‹qW9xT2vB7nM4kL1p›"}`,
	`DB_PASSWORD=‹hunter2›`,
	`DB_PASSWORD="‹hunter2›"`,
	`DB_PASSWORD='‹two words 9›'`,
	`export PGPASSWORD=‹s3cr3t›`,
	`MYSQL_ROOT_PASSWORD=‹swordfish›`,
	`POSTGRES_PASSWORD=‹postgres1›`,
	`REDIS_PASS=‹k3yb0ard›`,
	`API_KEY=‹4f2d9c81ab37e650›`,
	`STRIPE_SECRET=‹b7e2c1d9f4a86035›`,
	`JWT_SECRET=‹my$uper-l0ng-jwt-key›`,
	`SECRET_KEY=‹django7insecure0abcdef›`,
	`GITHUB_TOKEN=‹1a2b3c4d5e6f7a8b9c0d›`,
	`AWS_SECRET_ACCESS_KEY=‹wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY›`,
	`ENV DB_PASSWORD=‹hunter2›`,
	`docker run -e MYSQL_PASSWORD=‹hunter2› mysql`,
	`password=‹swordfish›`,
	"user=ann\npassword=‹swordfish›\n",
	`password = ‹hunter22222›`,
	`spring.datasource.password=‹hunter2›`,
	`password: ‹swordfish›`,
	"db:\n  user: ann\n  password: ‹swordfish›\n  port: 5432",
	"  password: ‹correct-horse-battery›  # change it",
	`  password: "‹swordfish›"`,
	`  password: '‹sword fish 7›'`,
	`- password: ‹swordfish›`,
	`api_key: ‹4f2d9c81ab37e650›`,
	`apiKey: ‹4f2d9c81ab37e650›`,
	`client-secret: ‹8f3kd9q2mzx71lw0›`,
	`auth_token: ‹1a2b3c4d5e6f7a8b9c0d›`,
	`smtp_password: ‹P@ss-w0rd!›`,
	`passphrase: ‹opensesame›`,
	`Password: ‹swordfish1›`,
	`Authorization: Bearer ‹1a2b3c4d5e6f7a8b9c0d›`,
	`authorization: Basic ‹YW5uOnN3b3JkZmlzaA==›`,
	`curl -H "Authorization: Bearer ‹1a2b3c4d5e6f7a8b›" https://example.com`,
	`"Authorization": "token ‹1a2b3c4d5e6f7a8b›"`,
	`X-Api-Key: ‹4f2d9c81ab37e650›`,
	`X-Auth-Token: ‹4f2d9c81ab37e650›`,
	`https://example.com/v1?api_key=‹4f2d9c81ab37e650›&q=1`,
	`https://example.com/v1?q=1&access_token=‹9d8f7a6b5c4d3e2f›#top`,
	`GET /login?password=‹hunter2› HTTP/1.1`,
	`postgres://ann:‹swordfish›@db.internal:5432/shop`,
	`mysql://root:‹p@ss:word›@127.0.0.1/x`,
	`redis://:‹swordfish›@cache:6379/0`,
	`https://ann:‹hunter2›@git.example.com/a/b.git`,
	`mongodb+srv://app:‹s3cr3t›@cluster0.example.net/?retryWrites=true`,
	`amqp://guest:‹guest›@rabbit:5672/`,
	`git clone https://‹1a2b3c4d5e6f7a8b9c0d1e2f›@git.example.com/a/b.git`,
	`DATABASE_URL="postgres://ann:‹swordfish›@db/shop"`,
	`const password = "‹swordfish›";`,
	`password := "‹hunter2›"`,
	`API_KEY = "‹4f2d9c81ab37e650›"`,
	`let apiKey = '‹4f2d9c81ab37e650›';`,
	`connect(user="ann", password="‹swordfish›")`,
	`os.environ["DB_PASSWORD"] = "‹hunter2›"`,
	`--password=‹hunter22222›`,
	`--token=‹1a2b3c4d5e6f7a8b9c0d›`,
	`secret_key = '‹b7e2c1d9f4a86035›'`,
	`token="‹1a2b3c4d5e6f7a8b9c0d›"`,
	`"tokens": {"token": "‹1a2b3c4d5e6f7a8b9c0d›"}`,
	`Server=db;User=sa;Password=‹Str0ng!Pass›;Encrypt=true`,
	`DefaultEndpointsProtocol=https;AccountKey=‹Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq==›`,
}

// plain are texts that hold no secret. None of them may change.
var plain = []string{
	// code
	`password = getPassword()`, `password := os.Getenv("DB_PASSWORD")`, `token = self.token`, `token := r.Header.Get("X")`,
	`if password == other {`, `password != ""`, `password: str`, `password: string;`, `token: Optional[str] = None`,
	`secret: SecretStr`, `password: String,`, `def login(user, password):`, `func Login(user, password string) error`,
	`token = next(tokens)`, `const token = await getToken();`, `secret = secrets.token_hex(32)`, `password=password`,
	`login(password=args.password)`, `token=token,`, `apiKey: process.env.API_KEY`, `apiKey = config.apiKey;`,
	`api_key=os.environ["API_KEY"]`, `password = input("Password: ")`, `let secret = Secret::new();`, `this.token = token;`,
	`private String password;`, `@Value("${db.password}")`, `password = "${DB_PASSWORD}"`, `password: "{{secret.DB}}"`,
	`password: ${{ secrets.DB_PASSWORD }}`, `DB_PASSWORD=$DB_PASSWORD`, `DB_PASSWORD=${DB_PASSWORD:-}`,
	`export TOKEN=$(cat token.txt)`, `TOKEN="$(pass show x)"`, `password="$1"`, `PASSWORD=`, `password: ""`, `password: null`,
	`{"password": ""}`, `{"password": null}`, `{"password": true}`, `{"token": 5}`, `max_tokens: 4096`, `"max_tokens": 4096`,
	`total_tokens=1234567`, `{"prompt_tokens": 12, "completion_tokens": 34}`, `{"next_page_token": "CAUQAA9x8y7z6w5v4u3t"}`,
	`{"nextPageToken": "EAAaBlBUOkNBSTEyMzQ1Njc4"}`, `nextToken: "AQICAHj1234567890abcdef"`, `sync_token="ABCDEF1234567890abcd"`,
	`{"continuation_token":"1!72!MDAwMDI0IWFiY2RlZg"}`, `eos_token = "<|endoftext|>"`, `pad_token_id: 50256`,
	`token_type: bearer`, `{"token_type": "bearer", "expires_in": 3600}`, `tokenizer = Tokenizer.from_file("a.json")`,
	`"password": {"type": "string", "minLength": 8}`, `{"type": "password"}`, `<input type="password" name="password">`,
	`{"password": "string"}`, `{"token": "string"}`, `{"password": "required"}`, `password: "Password"`,
	`"password": "Passwort"`, `"password": "Your password"`, `"password": "Enter the password of the account"`,
	`"forgot_password": "Forgot your password?"`, `password: "The password must have at least 8 characters"`,
	`case token.IDENT:`, `token.SEMICOLON: ";",`, `Token{Kind: token.String}`, `"token": "if"`, `{"token": "IDENT"}`,
	`switch tok := p.token; tok {`, `p.expect(token.COLON)`, `secret.Name = "db"`, `secretName: my-secret`,
	`secretKeyRef: {name: db, key: password}`, `passwordSecret: db-credentials`, `password_file: /run/secrets/db`,
	`POSTGRES_PASSWORD_FILE=/run/secrets/db`, `private_key: /etc/ssl/private/key.pem`, `ssl_key=./certs/server.key`,
	`credentials: include`, `credentials: 'same-origin'`, `credentials=None`, `Access-Control-Allow-Credentials: true`,
	`api_key_required: true`, `use_password = false`, `password_policy: strict`, `passwordHash(password)`,
	`bypass = true`, `first_pass = run()`, `pass = 1`, `compass: north`, `Author: Ann Example`, `authority: example.com`,
	`author=ann`, `keys = sorted(tokens)`, `primary_key=True`, `foreign_key: user_id`, `public_key: ssh-ed25519`,
	`key: value`, `"key": "4f2d9c81ab37e650"`, `key=4f2d9c81ab37e650`, `cache-key: v1-linux-4f2d9c81ab37e650`,
	// hashes, identifiers, versions
	`commit 3e25960a79dbc69b674cd4ec67a72c62a1b2c3d4`, `sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
	`"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="`,
	`550e8400-e29b-41d4-a716-446655440000`, `{"id": "550e8400-e29b-41d4-a716-446655440000"}`, `md5: d41d8cd98f00b204e9800998ecf8427e`,
	`etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"`, `h1:hkn4PFtHDDbYJ1UpGzVlVWWkZKu9YyVuvVE7PkmhBR4=`, `go 1.26.1`,
	`golang.org/x/sync v0.24.0`, `request_id=req_01HZX4T8K9M2N3P4Q5R6S7T8U9`, `trace_id: 4bf92f3577b34da6a3ce929d0e0e4736`,
	`image@sha256:3e25960a79dbc69b674cd4ec67a72c62a1b2c3d4e5f60718293a4b5c6d7e8f90`, `0xdeadbeefcafebabe`, `#ff8800`,
	`data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk`, `color: rgb(1, 2, 3)`,
	`ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ann@example`,
	"-----BEGIN CERTIFICATE-----\nMIIBkTCB+wIJAKHBfpegPjMC\n-----END CERTIFICATE-----",
	"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----",
	// URLs and names
	`https://example.com/a/b?c=d&page=2`, `https://user@example.com/`, `git@github.com:a/b.git`, `ssh://git@example.com/a.git`,
	`http://localhost:8080/@scope/name`, `https://example.com/tokens?next=1`, `postgres://db.internal:5432/shop`,
	`https://ann:@example.com/`, `https://user:<password>@example.com`, `https://user:${PASSWORD}@example.com`,
	`mailto:ann@example.com`, `key-value`, `keyboard`, `sk-learn`, `sk-container-id-1 div.sk-estimator-doc-link`,
	`class="sk-toggleable__content-fitted"`, `npm_config_cache=/tmp`, `npm_lifecycle_event=test`, `hf_hub_download(repo)`,
	`pat.match(line)`, `ghp_`, `xoxb-`, `AKIA`, `AKIAEXAMPLE`, `glpat-short`, `dapi_client`, `SG.Core.Text`, `eyJ.x.y`,
	`SKU1234567890`, `sdk-version-1`, `r8_width`, `shpat`, `re_compile(x)`, `pul-request`, `sl.Items`, `1//2`, `ciocolata`,
	// prose
	`The password must be at least 8 characters long.`, `Enter your password: `, `Password: required`, `Token: optional`,
	`The secret: patience.`, `Note: the token expires after one hour.`, `Reset your password by following the link.`,
	`A token is a string that identifies you.`, `Use a passphrase, not a password.`, `There is no secret: only work.`,
	`Ask Ann for the API key; she keeps it in the vault.`, `password: please ask the administrator`, `secret: see the wiki`,
	`- password: the password of the account`, `token: <your token>`, `api_key: YOUR_API_KEY`, `apiKey: "your-api-key-here"`,
	`password: ********`, `password=xxxxxxxx`, `token: …`, `API_KEY=...`, `password: [masked]`, `DB_PASSWORD=[masked]`,
	`postgres://ann:[masked]@db/shop`, `{"password":"[masked]"}`, `PASSWORD=changeme`, `time: 12:30:45`, `a::b`, `x ?= y`,
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	n := 0
	for name, token := range tokens() {
		for i, around := range []string{"%s", "the key is %s, use it", `{"value": ["%s"]}`} {
			n++
			text := fmt.Sprintf(around, token)
			if got, want := filter.MaskSecrets(text), fmt.Sprintf(around, "[masked]"); got != want {
				t.Errorf("%s, place %d: %q, want %q", name, i, got, want)
			}
		}
	}
	for _, test := range named {
		n++
		text := strings.NewReplacer("‹", "", "›", "").Replace(test)
		before, rest, _ := strings.Cut(test, "‹")
		_, after, _ := strings.Cut(rest, "›")
		if got, want := filter.MaskSecrets(text), before+"[masked]"+after; got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	for _, kind := range []string{"", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "} {
		n++
		key := "-----BEGIN " + kind + "PRIVATE KEY-----\n" + made(alnum, 64) + "\n" + made(alnum, 30) + "==\n-----END " + kind + "PRIVATE KEY-----"
		if got := filter.MaskSecrets("a\n" + key + "\nb"); got != "a\n[masked]\nb" {
			t.Errorf("%q", got)
		}
		inJSON := `{"k": "` + strings.ReplaceAll(key, "\n", `\n`) + `\n"}`
		if got := filter.MaskSecrets(inJSON); got != `{"k": "[masked]\n"}` {
			t.Errorf("%q", got)
		}
		cut, _, _ := strings.Cut(key, "-----END")
		if got := filter.MaskSecrets(cut); got != "[masked]" {
			t.Errorf("without an end: %q", got)
		}
	}
	if n < 150 {
		t.Errorf("only %d texts", n)
	}
	t.Logf("%d texts with secrets, of %d forms of tokens", n, len(tokens()))
}

func TestPlainTextsStay(t *testing.T) {
	t.Parallel()
	for _, text := range plain {
		if got := filter.MaskSecrets(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	if len(plain) < 150 {
		t.Errorf("only %d texts", len(plain))
	}
	t.Logf("%d texts without secrets", len(plain))
}

// A masked text stays as it is, whatever it was, and nothing is added to a text.
func FuzzMaskSecrets(f *testing.F) {
	for _, text := range plain {
		f.Add(text)
	}
	for _, text := range named {
		f.Add(text)
	}
	for _, token := range tokens() {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := filter.MaskSecrets(text)
		if again := filter.MaskSecrets(once); again != once && !strings.Contains(text, "masked") {
			t.Errorf("%q became %q, and then %q", text, once, again)
		}
	})
}

func BenchmarkMaskSecrets(b *testing.B) {
	text := strings.Repeat(strings.Join(plain, "\n")+"\n", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		filter.MaskSecrets(text)
	}
}

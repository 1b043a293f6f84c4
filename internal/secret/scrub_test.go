package secret_test

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"math/rand/v2"
	"mime/quotedprintable"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"callgate/internal/secret"
	"callgate/tool"
)

// known makes a vault that knows some values, by name.
func known(t testing.TB, values map[string]string) *secret.Vault {
	t.Helper()
	v := openStore(t, t.TempDir())
	for name, value := range values {
		ok(t, v.Set(name, []byte(value)))
	}
	return v
}

func inJSON(text string) string { return string(must(json.Marshal(text))) }

func each(text, format string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

func wrapped(text string, width int, end string) string {
	var b strings.Builder
	for i, c := range text {
		if i > 0 && i%width == 0 {
			b.WriteString(end)
		}
		b.WriteRune(c)
	}
	return b.String()
}

// encodings are the ways that programs write a value.
func encodings(value string) map[string]string {
	std := base64.StdEncoding.EncodeToString
	all := map[string]string{
		"plain":                  "the password is " + value + ".",
		"json":                   inJSON(value),
		"json in json":           inJSON(inJSON(value)),
		"json in json in json":   inJSON(inJSON(inJSON(value))),
		"json, \\u lower":        `"` + each(value, `\u%04x`) + `"`,
		"json, \\u upper":        `"` + each(value, `\u%04X`) + `"`,
		"json, slashes escaped":  strings.ReplaceAll(inJSON(value), "/", `\/`),
		"\\x":                    each(value, `\x%02x`),
		"go":                     fmt.Sprintf("%q", value),
		"url query":              "https://h/?p=" + url.QueryEscape(value) + "&q=1",
		"url query, lower":       "?p=" + strings.ToLower(url.QueryEscape("<")) + lowerPercent(url.QueryEscape(value)),
		"url path":               "https://h/" + url.PathEscape(value),
		"url, all of it":         each(value, "%%%02X"),
		"url, all of it, lower":  each(value, "%%%02x"),
		"url in json":            inJSON("x=" + url.QueryEscape(value)),
		"url in url":             url.QueryEscape("u=" + url.QueryEscape(value)),
		"html":                   html.EscapeString(value),
		"html, named":            strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&apos;", "<", "&lt;", ">", "&gt;").Replace(value),
		"html, numbers":          each(value, "&#%d;"),
		"html, hex":              each(value, "&#x%x;"),
		"hex":                    hex.EncodeToString([]byte(value)),
		"hex, upper":             strings.ToUpper(hex.EncodeToString([]byte(value))),
		"hex, inside other":      hex.EncodeToString([]byte("user:" + value + "\n")),
		"base64":                 std([]byte(value)),
		"base64 url":             base64.RawURLEncoding.EncodeToString([]byte(value)),
		"base64 of u:value":      std([]byte("u:" + value)),
		"base64 of a+value+b":    std([]byte("a" + value + "b")),
		"base64 with a line end": std([]byte(value + "\n")),
		"base64 in a url":        url.QueryEscape(std([]byte(value))),
		"base64 in json":         inJSON(std([]byte(value))),
		"base64 in lines":        wrapped(std([]byte(value)), 16, "\n"),
		"base64, indented":       wrapped(std([]byte(value)), 16, "\r\n    "),
		"base64, lines in json":  inJSON(wrapped(std([]byte(value)), 16, "\n")),
		"base64 twice":           std([]byte(std([]byte(value)))),
		"base64 of hex":          std([]byte(hex.EncodeToString([]byte(value)))),
		"hex of base64":          hex.EncodeToString([]byte(std([]byte(value)))),
		"base32":                 base32.StdEncoding.EncodeToString([]byte(value)),
		"hex with colons":        eachByte(value, "%02x", ":"),
		"hex with spaces, upper": eachByte(value, "%02X", " "),
		"hex as Go prints it":    eachByte(value, "0x%02x", ", "),
		"octal escapes":          eachByte(value, `\%03o`, ""),
		"octal as od prints it":  eachByte(value, "%03o", " "),
		"numbers in JSON":        "[" + eachByte(value, "%d", ",") + "]",
		"UTF-16":                 inUTF16(value),
		"UTF-16 in base64":       std([]byte(inUTF16(value))),
		"UTF-16 in JSON":         inJSON(inUTF16(value)),
		"mail":                   "x" + inMail(value),
		"mail, all of it":        eachByte(value, "=%02X", ""),
	}
	return all
}

// eachByte writes the bytes of a text as numbers.
func eachByte(text, format, between string) string {
	numbers := make([]string, len(text))
	for i := range len(text) {
		numbers[i] = fmt.Sprintf(format, text[i])
	}
	return strings.Join(numbers, between)
}

func inUTF16(text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return string(b)
}

func inMail(text string) string {
	var b strings.Builder
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func lowerPercent(text string) string {
	b := []byte(text)
	for i := range b {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// byBytes are those that write bytes, or halves of letters, where the functions
// above write letters.
var byBytes = []string{"url, all of it", "url, all of it, lower", "\\x", "json, \\u lower", "json, \\u upper"}

var hardValues = map[string]string{
	"a password":      `p@ss "w&rd"/long+enough`,
	"a token":         "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
	"all punctuation": `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~` + "`",
	"percents":        `100%41%20\n&amp;\u0041"'`,
	"backslashes":     `C:\new\table\\x\"`,
	"just eight":      "abcd1234",
	"other letters":   "пароль-密码-🔑-éà",
	"spaces":          "correct horse battery staple",
	"a url":           "postgres://u:p%40ss@db/x?sslmode=require&a=b",
}

func TestScrubFindsEveryEncoding(t *testing.T) {
	for name, value := range hardValues {
		v := known(t, map[string]string{"DB": value})
		for how, text := range encodings(value) {
			if name == "other letters" && slices.Contains(byBytes, how) {
				continue
			}
			got := string(v.Scrub([]byte(text)))
			if strings.Contains(got, value) || !strings.Contains(got, "[secret DB]") || len(got) > len("https://h/?p=[secret DB]&q=1")+16 {
				t.Errorf("%s, %s: %q came out as %q", name, how, text, got)
			}
			if s := v.ScrubString(text); s != got {
				t.Errorf("%s, %s: Scrub and ScrubString disagree: %q, %q", name, how, got, s)
			}
			if s := piecemeal(v, text, func() int { return 1 }); s != got {
				t.Errorf("%s, %s: in pieces it is %q, whole %q", name, how, s, got)
			}
		}
	}
}

func TestScrubOther(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n"
	v := known(t, map[string]string{
		"PEM": pem, "LONG": "one-two-three-four", "INNER": "two-three", "NEXT": "four-five-six", "EMOJI": "🔑-key-🔑-key", "ZEROS": "00000000",
		"BYTES": "\xff\xfe\xfdsecretive",
	})
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"nothing to see here 100% & \\ more", "nothing to see here 100% & \\ more"},
		"empty":                {"", ""},
		"inside another":       {"<one-two-three-four>", "<[secret LONG]>"},
		"alone":                {"<two-three>", "<[secret INNER]>"},
		"overlapping":          {"<one-two-three-four-five-six>", "<[secret LONG]>"},
		"side by side":         {"two-threetwo-three", "[secret INNER][secret INNER]"},
		"a pair of surrogates": {`"\ud83d\udd11-key-\uD83D\uDD11-key"`, `"[secret EMOJI]"`},
		"one value many times": {strings.Repeat("0", 100), "[secret ZEROS]"},
		"a key, indented":      {"  MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\r\n", "  [secret PEM]\r\n"},
		"a key, trimmed":       {strings.TrimSpace(pem), "[secret PEM]"},
		"as JSON mangles it":   {inJSON("\xff\xfe\xfdsecretive"), `"[secret BYTES]"`},
	} {
		if got := v.ScrubString(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for _, size := range []int{1, 3, 7} {
			if got := piecemeal(v, c.text, func() int { return size }); got != c.want {
				t.Errorf("%s, in pieces of %d: %q, want %q", name, size, got, c.want)
			}
		}
	}
	var none secret.Vault
	if got := none.ScrubString(pem); got != pem {
		t.Errorf("a vault that knows nothing made %q of it", got)
	}
}

// The store's own key is no secret of the user's, and stays inside all the same.
func TestKeyIsScrubbed(t *testing.T) {
	folder := t.TempDir()
	v := openStore(t, folder)
	ok(t, v.Set("A", []byte("x")))
	key := strings.TrimSpace(files(t, folder)["secrets.key"])
	if got := v.ScrubString("cat: " + key); strings.Contains(got, key) {
		t.Errorf("it is shown: %q", got)
	}
}

// piecemeal scrubs a text as a stream, in pieces.
func piecemeal(v *secret.Vault, text string, size func() int) string {
	var out strings.Builder
	s := v.Stream(func(p []byte) { out.Write(p) })
	for len(text) > 0 {
		n := min(size(), len(text))
		_, _ = s.Write([]byte(text[:n]))
		text = text[n:]
	}
	_ = s.Close()
	return out.String()
}

// A stream holds back nothing but what may be the beginning of a secret.
func TestStreamHoldsBackLittle(t *testing.T) {
	v := known(t, map[string]string{"A": "swordfish-swordfish"})
	var out strings.Builder
	s := v.Stream(func(p []byte) { out.Write(p) })
	for _, c := range []struct{ piece, want string }{ // a piece, and all that is out then
		{"plain.\n", "plain.\n"},
		{"it is sword", "plain.\nit is "},
		{"fish-", "plain.\nit is "},
		{"sword", "plain.\nit is "},
		{"fish! All of it: 700 %", "plain.\nit is [secret A]! All of it: 700 "},
		{" and sword", "plain.\nit is [secret A]! All of it: 700 % and "},
		{"? ", "plain.\nit is [secret A]! All of it: 700 % and sword? "},
	} {
		_, _ = s.Write([]byte(c.piece))
		if out.String() != c.want {
			t.Fatalf("after %q it is %q, want %q", c.piece, out.String(), c.want)
		}
	}
	_, _ = s.Write([]byte("swor"))
	ok(t, s.Close())
	ok(t, s.Close())
	if !strings.HasSuffix(out.String(), "? swor") {
		t.Errorf("it ended as %q", out.String())
	}
}

// A value that becomes known in the middle is taken out from then on.
func TestStreamLearns(t *testing.T) {
	v := known(t, nil)
	var out strings.Builder
	s := v.Stream(func(p []byte) { out.Write(p) })
	_, _ = s.Write([]byte("swordfish-swordfish "))
	ok(t, v.Set("A", []byte("swordfish-swordfish")))
	_, _ = s.Write([]byte("swordfish-swordfish"))
	ok(t, s.Close())
	if got := out.String(); got != "swordfish-swordfish [secret A]" {
		t.Errorf("it came out as %q", got)
	}
}

// However a text is cut, the stream says what Scrub says of the whole.
func FuzzStream(f *testing.F) {
	v := known(f, map[string]string{
		"A": "swordfish-swordfish", "B": "fish-sword", "C": `p@ss "w&rd"/long`, "D": "00000000", "E": "aabaabaab", "F": `\\\\\\\\\\`, "G": "%25%25%25%25",
	})
	for _, value := range []string{"swordfish-swordfish", `p@ss "w&rd"/long`, "%25%25%25%25"} {
		for _, text := range encodings(value) {
			f.Add(text, uint64(len(text)))
		}
	}
	f.Add(strings.Repeat("swordfish-", 5)+strings.Repeat("0", 30)+strings.Repeat("aab", 9)+strings.Repeat(`\`, 41), uint64(1))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := v.ScrubString(text)
		if got := piecemeal(v, text, func() int { return 1 + r.IntN(9) }); got != want {
			t.Errorf("%q: in pieces %q, whole %q", text, got, want)
		}
		for _, value := range []string{"swordfish-swordfish", "fish-sword", `p@ss "w&rd"/long`, "00000000"} {
			if strings.Contains(want, value) {
				t.Errorf("%q came out as %q", text, want)
			}
		}
	})
}

func TestLogHandler(t *testing.T) {
	v := known(t, map[string]string{"A": "swordfish-swordfish"})
	type inner struct{ Token *string }
	token := "swordfish-swordfish"
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		log := slog.New(v.LogHandler(handler(&b)))
		log.With("with", token).WithGroup("g"+token).Info("the token is "+token,
			"text", token, "error", errors.New("no "+token), "bytes", []byte(token), "raw", json.RawMessage(`"`+token+`"`),
			"deep", inner{&token}, "list", []string{"a", token}, slog.Group("group", "in", token), token, "a key", "number", 7, "fine", errors.New("plain"))
		log.Debug("not enabled")
		text := b.String()
		if strings.Contains(text, token) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(token))) {
			t.Errorf("%s: %s", name, text)
		}
		for _, want := range []string{"[secret A]", "plain", "7", "number"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it does not say %q: %s", name, want, text)
			}
		}
	}
}

// benchSecrets are fifty secrets of the usual lengths.
func benchSecrets() map[string]string {
	r := rand.New(rand.NewPCG(1, 2))
	values := map[string]string{}
	for i := range 50 {
		b := make([]byte, 12+r.IntN(60))
		for j := range b {
			b[j] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_!%"[r.IntN(68)]
		}
		values[fmt.Sprintf("S%d", i)] = string(b)
	}
	return values
}

func benchTexts(size int) map[string]string {
	line := `2026-01-02T03:04:05Z INFO the request GET /api/v1/items?id=42&page=3 took 12.5ms and gave 200 (1534 bytes)` + "\n"
	prose := strings.Repeat(line, size/len(line)+1)[:size]
	escaped := inJSON(strings.Repeat(`{"name":"a \"quoted\" value","path":"C:\\dir\\file","url":"https://h/?q=a%20b&amp;c"}`+"\n", size/100))
	return map[string]string{"log": prose, "json in json": escaped[:min(size, len(escaped))]}
}

func BenchmarkScrub(b *testing.B) {
	values := benchSecrets()
	v := known(b, values)
	for _, size := range []int{200, 1 << 20} {
		for name, text := range benchTexts(size) {
			b.Run(fmt.Sprintf("%s/size=%d", name, size), func(b *testing.B) {
				data := []byte(text)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					v.Scrub(data)
				}
			})
		}
	}
	b.Run("stream/chunk=4096", func(b *testing.B) {
		data := []byte(benchTexts(1 << 20)["log"])
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			s := v.Stream(func([]byte) {})
			for at := 0; at < len(data); at += 4096 {
				_, _ = s.Write(data[at : at+4096])
			}
			_ = s.Close()
		}
	})
}

func TestScrubError(t *testing.T) {
	const token = "12345678901234"
	v := known(t, map[string]string{"A": token})
	fields := []tool.FieldError{{Path: token, Want: "not " + token, Got: token}}
	e := &tool.Error{
		Op: "x", Kind: tool.Invalid, Message: "no " + token, Hint: "use " + token, Err: errors.New("because " + token),
		Fields: fields, Similar: []string{token}, Schema: json.RawMessage(`{"const":` + token + `}`), Example: json.RawMessage(`{"a":"` + token + `"}`),
	}
	got := string(must(json.Marshal(v.ScrubError(e))))
	if strings.Contains(got, token) || strings.Count(got, "[secret A]") != 9 || !strings.Contains(got, `"kind":"invalid"`) {
		t.Errorf("it says %s", got)
	}
	if fields[0].Got != token {
		t.Error("the error that was given is changed")
	}
	if got := string(v.ScrubJSON(json.RawMessage(`{"n":` + token + `}`))); got != `"{\"n\":[secret A]}"` {
		t.Errorf("a number became %s", got)
	}
}

package scan_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"callgate/internal/source/mcp/trust/definition"
	"callgate/internal/source/mcp/trust/scan"
)

// labelled is a definition of a corpus, and the class it was written for.
type labelled struct {
	class      string
	line       string
	definition definition.Definition
}

// corpus reads a corpus of testdata/corpus. A line is a definition:
//
//	name | description | p:NAME=description of a parameter | d:NAME=default
//
// d, e and x are a default, a value of an enumeration and an example of a
// parameter, o is a property of the output, t the title, a an annotation. A line
// that begins with == names the class of those after it. {{kind:text}} is the
// text in an encoding: see encodings.
func corpus(tb testing.TB, name string) []labelled {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "corpus", name+".txt"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []labelled
	class := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if after, ok := strings.CutPrefix(line, "== "); ok {
			class = after
			continue
		}
		if line != "" {
			all = append(all, labelled{class, line, parse(tb, line)})
		}
	}
	return all
}

// parameter is where a further field of a line begins.
var parameter = regexp.MustCompile(` \| [pdexota]:[^ =]*=`)

func parse(tb testing.TB, line string) definition.Definition {
	tb.Helper()
	name, rest, _ := strings.Cut(expand(tb, strings.ReplaceAll(line, `\n`, "\n")), " | ")
	fields := []string{name}
	for {
		at := parameter.FindStringIndex(rest)
		if at == nil {
			break
		}
		fields, rest = append(fields, rest[:at[0]]), rest[at[0]+3:]
	}
	fields = append(fields, rest)
	if len(fields) < 2 {
		tb.Fatalf("no description: %s", line)
	}
	d := definition.Definition{Name: fields[0], Description: fields[1]}
	input, output, annotations := map[string]map[string]any{}, map[string]map[string]any{}, map[string]any{}
	for _, field := range fields[2:] {
		key, text, _ := strings.Cut(field, "=")
		kind, name, ok := strings.Cut(key, ":")
		if !ok {
			tb.Fatalf("no field: %q in %s", field, line)
		}
		props := input
		if kind == "o" {
			props = output
		}
		if props[name] == nil && kind != "t" && kind != "a" {
			props[name] = map[string]any{"type": "string"}
		}
		switch kind {
		case "p", "o":
			props[name]["description"] = text
		case "d":
			props[name]["default"] = text
		case "e":
			props[name]["enum"] = []any{"plain", text}
		case "x":
			props[name]["examples"] = []any{text}
		case "t":
			d.Title = text
		case "a":
			annotations[name] = text
		default:
			tb.Fatalf("no field: %q in %s", field, line)
		}
	}
	d.Input = object(tb, map[string]any{"type": "object", "properties": input})
	if len(output) > 0 {
		d.Output = object(tb, map[string]any{"type": "object", "properties": output})
	}
	if len(annotations) > 0 {
		d.Annotations = object(tb, annotations)
	}
	return d
}

func object(tb testing.TB, v any) json.RawMessage {
	tb.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// expand writes out {{kind:text}}, the innermost first.
func expand(tb testing.TB, s string) string {
	tb.Helper()
	for {
		from := strings.LastIndex(s, "{{")
		if from < 0 {
			return s
		}
		length := strings.Index(s[from:], "}}")
		if length < 0 {
			tb.Fatalf("not closed: %s", s)
		}
		kind, text, _ := strings.Cut(s[from+2:from+length], ":")
		encode := encodings[kind]
		if encode == nil {
			tb.Fatalf("no encoding: %q", kind)
		}
		s = s[:from] + encode(text) + s[from+length+2:]
	}
}

// each encodes a text rune by rune.
func each(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
}

func mapped(f func(rune) rune) func(string) string {
	return func(s string) string { return strings.Map(f, s) }
}

func between(sep string) func(string) string {
	return func(s string) string { return strings.Join(strings.Split(s, ""), sep) }
}

// pick replaces the letters of from by those of to.
func pick(from, to string) func(string) string {
	letters := []rune(to)
	return mapped(func(r rune) rune {
		if i := strings.IndexRune(from, r); i >= 0 {
			return letters[i]
		}
		return r
	})
}

// encodings are the ways in which the corpora hide a text.
var encodings = map[string]func(string) string{
	"b64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"b64url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"b32":    func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
	"hex":    func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hexesc": each(`\x%02x`),
	"uesc": func(s string) string {
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune(s)) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		return b.String()
	},
	"ent":       each("&#%d;"),
	"bin":       func(s string) string { return strings.TrimSpace(each("%08b ")(s)) },
	"charcodes": func(s string) string { return strings.TrimSuffix(each("%d, ")(s), ", ") },
	"pct":       func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
	"rot13": mapped(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}),
	"rev": func(s string) string {
		runes := []rune(s)
		slices.Reverse(runes)
		return string(runes)
	},
	"tags": tags,
	"vs": mapped(func(r rune) rune {
		if r < 16 {
			return 0xFE00 + r
		}
		return 0xE0100 + r - 16
	}),
	"zw":   func(s string) string { return strings.NewReplacer("0", "\u200b", "1", "\u200c").Replace(each("%b")(s)) },
	"zwsp": between("\u200b"),
	"shy":  between("\u00ad"),
	"rlo":  func(s string) string { return "\u202e" + s + "\u202c" },
	"pua":  mapped(func(r rune) rune { return 0xE000 + r }),
	"cyr":  pick("aceopxyi", "асеорхуі"),
	"full": mapped(func(r rune) rune {
		if '!' <= r && r <= '~' {
			return r + 0xFEE0
		}
		return r
	}),
	"math": mapped(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 0x1D41A
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 0x1D400
		}
		return r
	}),
	"sp":   between(" "),
	"leet": pick("aeios", "43105"),
}

// held reports whether a definition would be held at first sight.
func held(d definition.Definition, others []string) bool {
	return slices.ContainsFunc(scan.Scan(d, others), func(f scan.Finding) bool { return f.Severity == scan.Serious })
}

// share counts of how many definitions of a class how many are held.
type share struct{ held, all int }

func (s share) percent() float64 { return 100 * float64(s.held) / float64(s.all) }

// measure counts the held definitions of a corpus by class, and logs those that
// are wrong.
func measure(t *testing.T, name string, want bool) (byClass map[string]share, total share) {
	t.Helper()
	byClass = map[string]share{}
	for _, one := range corpus(t, name) {
		got := held(one.definition, nil)
		s := byClass[one.class]
		s.all++
		total.all++
		if got {
			s.held++
			total.held++
		}
		byClass[one.class] = s
		if got != want && testing.Verbose() {
			t.Logf("%s: %s: held %v: %s", name, one.class, got, one.line)
			if got {
				for _, f := range scan.Scan(one.definition, nil) {
					if f.Severity == scan.Serious {
						t.Logf("    %s %s: %s", f.Rule, f.Where, f.Excerpt)
					}
				}
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		t.Logf("%-14s %-18s %3d of %3d", name, class, byClass[class].held, byClass[class].all)
	}
	t.Logf("%-14s %d of %d held (%.1f %%)", name, total.held, total.all, total.percent())
	return byClass, total
}

// The poisoned definitions of the corpora are held, and the honest ones are not.
// The rules were made with the dev half in view. The held-out half was written
// after them, and measured once: no rule was changed for it.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		least, most float64 // of a hundred
	}{
		{"poisoned-dev", 90, 100}, {"poisoned-held", 70, 100}, {"benign-dev", 0, 5}, {"benign-held", 0, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, total := measure(t, c.name, c.least > 0)
			if got := total.percent(); got < c.least || got > c.most {
				t.Errorf("%.1f %% are held, want %v to %v", got, c.least, c.most)
			}
		})
	}
}

// alarming are words that honest tools share with poisoned ones.
var alarming = []string{"token", "password", "secret", "credential", "api key", "send ", "upload", "forward", "ignore", "never",
	"always", "must", "important", "before", "conversation", "do not", "instead of", "environment", "private", "webhook"}

// Of the real tools whose texts have several of those words, a sample with a
// fixed seed, at most one in twenty is held.
func TestHardRealTools(t *testing.T) {
	t.Parallel()
	var hard []real
	for _, r := range catalog(t) {
		text, n := strings.ToLower(r.definition.Description+string(r.definition.Input)), 0
		for _, word := range alarming {
			if strings.Contains(text, word) {
				n++
			}
		}
		if n >= 2 {
			hard = append(hard, r)
		}
	}
	rnd := rand.New(rand.NewPCG(38, 11))
	rnd.Shuffle(len(hard), func(i, j int) { hard[i], hard[j] = hard[j], hard[i] })
	sample, n := hard[:min(400, len(hard))], 0
	for _, r := range sample {
		if held(r.definition, nil) {
			n++
		}
	}
	t.Logf("%d of %d real tools with two alarming words or more are held (%.1f %%)", n, len(sample), 100*float64(n)/float64(len(sample)))
	if n*20 > len(sample) {
		t.Errorf("%d of %d hard real tools would be held", n, len(sample))
	}
}

// The tools of other public sets are honest.
func TestPublicSets(t *testing.T) {
	t.Parallel()
	folder := filepath.Dir(filepath.Dir(catalogPath(t)))
	for _, name := range []string{"acebench-en", "acebench-zh", "bfcl-live", "mcpproxy-golden", "metatool-dev", "sealtools-dev"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(folder, name, "tools.jsonl"))
			if err != nil {
				t.Skip("needs ../shared/bench/" + name)
			}
			n, all := 0, 0
			for line := range strings.Lines(string(data)) {
				var row struct {
					Name, Description string
					Parameters        json.RawMessage
				}
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				if all++; all%stride == 0 && held(definition.Definition{Name: row.Name, Description: row.Description, Input: row.Parameters}, nil) {
					n++
					if testing.Verbose() {
						t.Logf("%s: %+v", row.Name, scan.Scan(definition.Definition{Name: row.Name, Description: row.Description, Input: row.Parameters}, nil)[0])
					}
				}
			}
			t.Logf("%s: %d of %d held", name, n, all)
			if n*100 > all {
				t.Errorf("%d of %d tools would be held", n, all)
			}
		})
	}
}

package analysis_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/search/lexical/analysis"

	"github.com/google/go-cmp/cmp"
)

// cut writes the pieces of a text: joined ones with a +, pairs of characters
// with a ~, numbers with a #.
func cut(text string, name bool) string {
	var s analysis.Splitter
	s.Split(text, name)
	var out []string
	for _, p := range s.Tokens {
		out = append(out,
			map[analysis.Form]string{analysis.Joined: "+", analysis.NGram: "~",
				analysis.Number: "#"}[p.Form]+string(s.Text(p)))
	}
	return strings.Join(out, " ")
}

func TestSplit(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"prose":                 {"Read a file, then close it.", "read a file then close it"},
		"snake case":            {"read_text_file", "read text file"},
		"kebab case joins two":  {"e-mail real-time", "e mail +email real time +realtime"},
		"dotted":                {"fs.local.read", "fs local read"},
		"slashes and colons":    {"a/b::c", "a b c"},
		"camel case":            {"readFile", "read file +readfile"},
		"capitals":              {"HTTPServer parseJSON", "http server +httpserver parse json +parsejson"},
		"three parts":           {"getHTTPResponse", "get http response +gethttp +httpresponse +gethttpresponse"},
		"plural of capitals":    {"APIs, URLs and IDs", "apis urls and ids"},
		"digits":                {"base64 sha256sum 404", "base #64 +base64 sha #256 sum +sha256 +256sum +sha256sum #404"},
		"apostrophes part":      {"don't l'image", "don t l image"},
		"accents":               {"Météo à Zürich, señor Łódź", "meteo a zurich senor lodz"},
		"ligatures and sharps":  {"Œuvre Straße ﬁle", "oeuvre strasse file"},
		"compatibility forms":   {"ＦＩＬＥ ①", "file #1"},
		"combining accents":     {"cafe\u0301 nai\u0308ve", "cafe naive"},
		"Greek":                 {"Άνοιξε ΑΡΧΕΙΟΣ", "ανοιξε αρχειοσ"},
		"Cyrillic":              {"Ёлка Удалить файл", "елка удалить файл"},
		"Chinese":               {"删除文件", "~删除 ~除文 ~文件"},
		"one character":         {"猫 in 家", "~猫 in ~家"},
		"mixed scripts":         {"PDF文件id", "pdf ~文件 id"},
		"Japanese":              {"ファイルを読む", "~ファ ~ァイ ~イル ~ルを ~を読 ~読む"},
		"Thai":                  {"ลบไฟล์", "~ลบ ~บไ ~ไฟ ~ฟล ~ล์"},
		"Korean":                {"날씨를 알려줘", "~날씨 ~알려 ~려줘 +알려줘"},
		"Hindi keeps its signs": {"मौसम बताओ", "मौसम बताओ"},
		"Arabic":                {"اقرأ المِلَفّ", "اقرا الملف"},
		"Hebrew":                {"מַזָּג אוויר", "מזג אוויר"},
		"identifiers are data":  {"user rOBhSVKGVKe8x ok", "user ok"},
		"long runs are data":    {"x " + strings.Repeat("q", 100) + " y", "x y"},
		"broken bytes part":     {"re\xffad \xc3", "re ad"},
		"nothing":               {" \t–—…", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, cut(c.text, false)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// All neighbours of a name are joined, so that file_name is also filename.
func TestSplitName(t *testing.T) {
	for text, want := range map[string]string{
		"file_name":     "file name +filename",
		"get user info": "get user +getuser info +userinfo",
		"v2.run":        "v #2 +v2 run +2run",
		"読む_file":       "~読む file",
	} {
		if diff := cmp.Diff(want, cut(text, true)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestStem(t *testing.T) {
	for name, c := range map[string]struct{ same, differ string }{
		"plurals":            {"file files", "file fill"},
		"y and ies":          {"repository repositories", ""},
		"verbs":              {"delete deletes deleted deleting deletion", "delete delegate"},
		"doubled":            {"run runs running", "run rung"},
		"agents":             {"calculate calculator calculation calculating", "calculate calendar"},
		"organising":         {"translate translation translator translating", "translate transport"},
		"short ones":         {"id ids", "id is"},
		"numbers stay":       {"", "2023 2024"},
		"French plurals":     {"fichier fichiers", ""},
		"Spanish plurals":    {"imagen imagens", ""},
		"Russian cases":      {"файл файлы файлов файла файлами", "файл фаза"},
		"Arabic article":     {"ملف الملف بالملف", ""},
		"Hebrew article":     {"קובץ הקובץ", ""},
		"other scripts stay": {"", "删除 删"},
	} {
		t.Run(name, func(t *testing.T) {
			same := strings.Fields(c.same)
			for i := 1; i < len(same); i++ {
				if analysis.Stem(same[i]) != analysis.Stem(same[0]) {
					t.Errorf("%s is %s, %s is %s", same[0], analysis.Stem(same[0]), same[i], analysis.Stem(same[i]))
				}
			}
			differ := strings.Fields(c.differ)
			for i := 1; i < len(differ); i++ {
				if analysis.Stem(differ[i]) == analysis.Stem(differ[0]) {
					t.Errorf("%s and %s are both %s", differ[0], differ[i], analysis.Stem(differ[0]))
				}
			}
		})
	}
}

// The English stemmer is the published Porter2; these are its steps and its
// exceptions.
func TestStemEnglish(t *testing.T) {
	for word, want := range map[string]string{
		"caresses": "caress", "ties": "tie", "cries": "cri", "gas": "gas", "this": "this", "gaps": "gap", "kiwis": "kiwi",
		"agreed": "agre", "feed": "feed", "luxuriated": "luxuri", "hopping": "hop", "hoping": "hope", "sized": "size", "falling": "fall",
		"cry": "cri", "by": "by", "say": "say", "saying": "say",
		"relational": "relat", "conditional": "condit", "rationalization": "ration", "operator": "oper", "feudalism": "feudal",
		"hopefulness": "hope", "sensibility": "sensibl", "analogy": "analog", "quickly": "quick", "comparatively": "compar",
		"electrical": "electr", "formative": "format", "replacement": "replac", "adoption": "adopt", "adjustable": "adjust",
		"controlling": "control", "rate": "rate", "generate": "generat", "general": "general", "communication": "communic",
		"skies": "sky", "dying": "die", "news": "news", "proceed": "proceed", "inning": "inning", "early": "earli",
		"yield": "yield", "boyish": "boyish", "be": "be", "": "",
	} {
		if got := analysis.Stem(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
}

func TestFamily(t *testing.T) {
	for language, forms := range map[string]string{
		"French":     "supprimer supprimez supprime supprimons supprimee",
		"Spanish":    "buscar buscando buscado busca buscas",
		"Italian":    "cercare cercando cercato cerca",
		"Portuguese": "enviar enviando enviado envia",
		"German":     "speichern speichert speicher",
	} {
		t.Run(language, func(t *testing.T) {
			list := strings.Fields(forms)
			for _, f := range list {
				if analysis.StemFamily(f) != analysis.StemFamily(list[0]) {
					t.Errorf("%s is %s, %s is %s", list[0], analysis.StemFamily(list[0]), f, analysis.StemFamily(f))
				}
			}
		})
	}
}

// FuzzSplit: whatever the text, pieces are non-empty valid text within bounds,
// and a stem is neither empty nor longer than its word and a letter.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"readFile", "删除文件 PDFs", "날씨를", "\xff\xfea", "e-\u0301b", "ﬃ1a٣", "ΑΣ", "İı", "aA1aA1aA1aA1", "AAs\xa6", "AAsé", strings.Repeat("é", 90)} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, name bool) {
		var s analysis.Splitter
		s.Split("something before", name)
		s.Split(text, name)
		for _, p := range s.Tokens {
			if p.Lo >= p.Hi || int(p.Hi) > len(s.Folded()) {
				t.Fatalf("piece %v of %d bytes", p, len(s.Folded()))
			}
			word := string(s.Text(p))
			if !utf8.ValidString(word) {
				t.Fatalf("piece %q is not text", word)
			}
			if p.Form == analysis.Joined && len(word) > analysis.MaxJoined && utf8.RuneCountInString(word) == len(word) {
				t.Fatalf("joined piece %q is too long", word)
			}
			if st := analysis.Stem(word); st == "" || len(st) > len(word)+1 {
				t.Fatalf("the stem of %q is %q", word, st)
			}
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("Reads the contents of a text file and returns its lines; use readFile or read_text_file. ", 20)
	var s analysis.Splitter
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Split(text, false)
	}
}

func BenchmarkStem(b *testing.B) {
	list := strings.Fields("translation calculator repositories running folder notification generalization file server organization")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		analysis.Stem(list[i%len(list)])
	}
}

package lexical

import (
	"strings"
	"testing"

	"callgate/internal/search/lexical/analysis"
)

// A stop word that is not written as words are cut would never be met.
func TestStopwordsAreWords(t *testing.T) {
	stops := parseStopwords(stopwordsFile)
	if len(stops) < 500 {
		t.Fatalf("only %d stop words were read", len(stops))
	}
	var s analysis.Splitter
	for word := range stops {
		s.Split(word, false)
		if len(s.Tokens) != 1 || string(s.Text(s.Tokens[0])) != word {
			t.Errorf("%q is cut into %d pieces, or written otherwise", word, len(s.Tokens))
		}
	}
}

// Words that are names of things in English are no certain stop words.
func TestStopwordsKeepMeaning(t *testing.T) {
	stops := parseStopwords(stopwordsFile)
	for _, word := range strings.Fields("comment car plus main table note page son die war man ai os eu id del bin dos est con com die get set find show list read") {
		if stops.certain(word) {
			t.Errorf("%s is passed over in every language", word)
		}
	}
}

func TestLanguage(t *testing.T) {
	stops := parseStopwords(stopwordsFile)
	for text, want := range map[string]uint16{
		"read the file":                    1 << 0,
		"comment lire le fichier":          1 << 1,
		"un courriel à mon équipe":         1 << 1,
		"borra los archivos de la carpeta": 1 << 2,
		"wie ist das wetter":               1 << 3,
		"che tempo fa oggi":                1 << 4,
		"qual é a previsão do tempo para":  1 << 5,
		"удалить все файлы":                1 << 7,
		"add comment":                      0,
		"删除文件":                             0,
	} {
		var s analysis.Splitter
		s.Split(text, false)
		var all []word
		for _, p := range s.Tokens {
			all = append(all, word{text: string(s.Text(p))})
		}
		if got := stops.language(all, s.Accent); got != want {
			t.Errorf("%s: language %b, want %b", text, got, want)
		}
	}
}

func TestSynonymGroups(t *testing.T) {
	groups := parseGroups(synonymsFile)
	if len(groups) < 120 {
		t.Fatalf("only %d groups were read", len(groups))
	}
	var s analysis.Splitter
	for _, group := range groups {
		seen := map[string]bool{}
		for _, entry := range group {
			s.Split(entry, false)
			if len(s.Tokens) == 0 || seen[strings.TrimSpace(entry)] {
				t.Errorf("%q is empty, or stands twice in %v", entry, group)
			}
			seen[strings.TrimSpace(entry)] = true
		}
		if len(seen) < 2 {
			t.Errorf("%v is no group", group)
		}
	}
}

// Segments stay few however documents arrive, and appending never touches a
// segment that is much larger.
func TestSegmentsStayFew(t *testing.T) {
	x := Build(Options{}, make([]Doc, 5000))
	first := x.parts[0].segment
	for range 400 {
		x = x.Append([]Doc{{Name: "a.b"}, {Name: "c.d"}})
		if len(x.parts) > 12 {
			t.Fatalf("%d segments of %d documents", len(x.parts), x.Len())
		}
	}
	if x.parts[0].segment != first {
		t.Error("the large segment was made again for a few documents")
	}
	var all []int
	for n := range 5000 {
		all = append(all, n)
	}
	if x = x.Remove(all); x.parts[0].segment == first || len(x.parts[0].names) > 0 {
		t.Error("a segment of dead documents is kept as it was")
	}
}

// A word within a typing error is found, one beyond is not.
func TestWithin(t *testing.T) {
	for name, c := range map[string]struct {
		a, b  string
		limit int
		want  bool
	}{
		"a letter too many":       {"calendarr", "calendar", 1, true},
		"a letter missing":        {"calndar", "calendar", 1, true},
		"a wrong letter":          {"calender", "calendar", 1, true},
		"two swapped":             {"claendar", "calendar", 1, true},
		"the first two swapped":   {"aclendar", "calendar", 1, true},
		"a wrong first letter":    {"kalendar", "calendar", 1, false},
		"two errors where one is": {"kalender", "calendar", 1, false},
		"two errors":              {"calemdr", "calendar", 2, true},
		"three errors":            {"calemdx", "calendar", 2, false},
		"other letters":           {"кaлендарь", "кaленадрь", 1, true},
	} {
		if got := within([]rune(c.a), []rune(c.b), c.limit); got != c.want {
			t.Errorf("%s: %s and %s: %v", name, c.a, c.b, got)
		}
	}
}

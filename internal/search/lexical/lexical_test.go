package lexical_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"callgate/internal/search/lexical"

	gocmp "github.com/google/go-cmp/cmp"
)

// catalog is a small set of tools, enough to be wrong in many ways.
var catalog = []lexical.Doc{
	{Name: "filesystem.read", Short: "Read", Aliases: []string{"open a file", "lire un fichier"},
		Tags: []string{"files"}, Description: "Reads the text of a file.",
		Params: []lexical.Param{{Name: "path", Text: "where the file lies"}}},
	{Name: "filesystem.read_many", Description: "Reads several files at once.",
		Params: []lexical.Param{{Name: "paths", Text: "the files to read"}}},
	{Name: "filesystem.write", Short: "Write", Description: "Writes text to a file, replacing what was there.",
		Effects: []string{"filesystem write"}},
	{Name: "filesystem.delete", Aliases: []string{"rm"}, Description: "Removes a file or an empty folder for good."},
	{Name: "mail.send", Aliases: []string{"send a letter"}, Description: "Sends an email to one or more people.",
		Params: []lexical.Param{{Name: "to", Text: "addresses"}, {Name: "subject"}}},
	{Name: "mail.search", Description: "Finds emails by sender, subject or words."},
	{Name: "calendar.createEvent", Description: "Creates an event in a calendar.",
		Params: []lexical.Param{{Name: "startTime", Text: "when it begins"}}},
	{Name: "weather.forecast", Description: "The weather of the next days at a place."},
	{Name: "GitHub.listPullRequests", Description: "Lists the pull requests of a repository."},
	{Name: "shell.run", Short: "Bash", Description: "Executes a command in a shell and returns its output."},
	{Name: "image.resize", Description: "Makes a picture smaller or larger."},
	{Name: "text.translate", Description: "Translates text between languages."},
	{Name: "vcs.log", Description: "Shows past commits of a repository."},
	{Name: "web.webpage_to_markdown", Description: "Fetches a page and keeps its text."},
	{Name: "tianqi.query", Description: "查询城市天气预报"},
	{Name: "naver.nalssi", Description: "도시의 날씨를 조회합니다"},
	{Name: "kubernetes.scale", Description: "Changes how many replicas a deployment has."},
	{Name: "todo.add", Aliases: []string{"to do"}, Description: "Notes something to be done."},
}

// best returns the names of the best documents for a query, best first, and
// none that scores 0.
func best(x *lexical.Index, query string, n int) []string {
	scores := x.Query(query).Scores(nil)
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	var names []string
	for _, d := range order[:min(n, len(order))] {
		if scores[d] > 0 {
			names = append(names, catalog[d].Name)
		}
	}
	return names
}

func TestRanking(t *testing.T) {
	x := lexical.Build(lexical.Options{Synonyms: [][]string{{"octocat", "github"}, {"time off", "calendar"}}}, catalog)
	for name, c := range map[string]struct{ query, want string }{
		"a word":                      {"forecast", "weather.forecast"},
		"another form of it":          {"translating a translation", "text.translate"},
		"the whole dotted name":       {"filesystem.read", "filesystem.read"},
		"as the wire writes it":       {"filesystem__read_many", "filesystem.read_many"},
		"the action alone":            {"read many", "filesystem.read_many"},
		"camel case":                  {"create event", "calendar.createEvent"},
		"the short name":              {"Bash", "shell.run"},
		"an alias":                    {"rm", "filesystem.delete"},
		"an alias of several words":   {"open a file", "filesystem.read"},
		"an alias within a sentence":  {"could you please send a letter to the king", "mail.send"},
		"an alias in French":          {"lire un fichier", "filesystem.read"},
		"a synonym":                   {"erase a document", "filesystem.delete"},
		"a synonym of two words":      {"PR", "GitHub.listPullRequests"},
		"a synonym in French":         {"supprimer les fichiers", "filesystem.delete"},
		"an inflected French verb":    {"envoyez un courriel à mon équipe", "mail.send"},
		"Spanish":                     {"borra los archivos de la carpeta", "filesystem.delete"},
		"German":                      {"wie ist das Wetter morgen", "weather.forecast"},
		"a synonym of the app":        {"octocat", "GitHub.listPullRequests"},
		"a phrase of the app":         {"plan my time off", "calendar.createEvent"},
		"a misspelt word":             {"kuberntes", "kubernetes.scale"},
		"two letters swapped":         {"foercast", "weather.forecast"},
		"the first two swapped":       {"ewather", "weather.forecast"},
		"two errors in a long word":   {"kubernaties", "kubernetes.scale"},
		"the beginning of a word":     {"kube", "kubernetes.scale"},
		"written apart":               {"web page", "web.webpage_to_markdown"},
		"written together":            {"commandshell", "shell.run"},
		"joined by case":              {"github", "GitHub.listPullRequests"},
		"written apart, joined there": {"git hub", "GitHub.listPullRequests"},
		"without accents":             {"meteo", "weather.forecast"},
		"Chinese":                     {"天气怎么样", "tianqi.query"},
		"one Chinese character":       {"城", "tianqi.query"},
		"Korean":                      {"서울의 날씨는?", "naver.nalssi"},
		"stop words alone":            {"to do", "todo.add"},
		"a parameter":                 {"something with a start time", "calendar.createEvent"},
		"rare words count more":       {"a file in a deployment", "kubernetes.scale"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := best(x, c.query, 3); len(got) == 0 || got[0] != c.want {
				t.Errorf("%q: got %v, want %s first", c.query, got, c.want)
			}
		})
	}
}

func TestNothingInCommon(t *testing.T) {
	x := lexical.Build(lexical.Options{}, catalog)
	for _, query := range []string{"", "   ", "zzgrxq", "12345", "?!", "\xff\xfe", "the"} {
		if got := best(x, query, 3); len(got) > 0 {
			t.Errorf("%q: got %v, want nothing", query, got)
		}
	}
}

// A tool called by its name stands above the ceiling, and so above every tool
// that merely shares words.
func TestNamesWin(t *testing.T) {
	docs := slices.Clone(catalog)
	docs = append(docs,
		lexical.Doc{Name: "notes.archive", Short: "Read", Tags: []string{"read", "file"},
			Aliases:     []string{"reads files", "read the file"},
			Description: "read read file file read file files filesystem filesystem"})
	x := lexical.Build(lexical.Options{}, docs)
	for _, c := range []struct {
		query string
		named int
	}{{"filesystem.read", 0}, {"FILESYSTEM READ", 0}, {"mail send", 4}, {"send a letter", 4}, {"calendar.create_event", 6}} {
		q := x.Query(c.query)
		scores := q.Scores(nil)
		for d, s := range scores {
			if d != c.named && s >= scores[c.named] {
				t.Errorf("%q: %s scores %v, %s only %v", c.query, docs[d].Name, s, docs[c.named].Name, scores[c.named])
			}
			if (s > q.MaxScore()) != (d == c.named) {
				t.Errorf("%q: %s scores %v beside a ceiling of %v", c.query, docs[d].Name, s, q.MaxScore())
			}
		}
	}
}

// Of two names that differ only in an ending, the one that was written wins,
// and of two that do not differ, the one that was written whole.
func TestTheNameAsWrittenWins(t *testing.T) {
	x := lexical.Build(lexical.Options{},
		[]lexical.Doc{{Name: "a.list_files", Description: "list file list file"}, {Name: "a.list_file"},
			{Name: "b.list_file"}})
	for query, want := range map[string][]int{"list_files": {0}, "list_file": {1, 2}, "b.list_file": {2}} {
		scores := x.Query(query).Scores(nil)
		var first []int
		for d, s := range scores {
			if s == slices.Max(scores) {
				first = append(first, d)
			}
		}
		if !slices.Equal(first, want) {
			t.Errorf("%s: got %v of %v, want %v", query, first, scores, want)
		}
	}
}

func TestOneWordCountsOnce(t *testing.T) {
	// The second holds the word and two synonyms, the first only the word.
	x := lexical.Build(lexical.Options{},
		[]lexical.Doc{{Name: "a.x", Tags: []string{"delete"}},
			{Name: "b.x", Tags: []string{"delete"}, Effects: []string{"remove erase"}}})
	scores := x.Query("delete").Scores(nil)
	if scores[0] != scores[1] || scores[0] == 0 {
		t.Errorf("scores %v: want equal ones, the best route counts once", scores)
	}
}

func TestKnown(t *testing.T) {
	x := lexical.Build(lexical.Options{}, catalog)
	for name, c := range map[string]struct {
		query     string
		low, high float64
	}{
		"all of it":            {"read a file", 1, 1},
		"stop words aside":     {"where is the weather of the", 1, 1},
		"half of it":           {"weather zzgrxq", 0.5, 0.5},
		"through synonyms":     {"supprimer les fichiers du dossier", 0.8, 1},
		"through a typo":       {"kuberntes", 0.3, 0.7},
		"none of it":           {"ぜんぜん違うことば", 0, 0},
		"numbers do not count": {"weather 12345 678", 1, 1},
		"unless alone":         {"12345", 0, 0},
		"nothing asked":        {"", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := x.Query(c.query).Known(); got < c.low || got > c.high {
				t.Errorf("%q: %v is not between %v and %v", c.query, got, c.low, c.high)
			}
		})
	}
}

func TestContent(t *testing.T) {
	x := lexical.Build(lexical.Options{}, catalog)
	for query, want := range map[string]string{
		"Please read the FILE":               "please read file",
		"comment lire le fichier dans Paris": "lire fichier paris", // comment is how, in French
		"add a comment to the page":          "add comment page",
		"what is it":                         "what is it",
		"file, file, files":                  "file",
	} {
		if got := strings.Join(x.Query(query).Content(), " "); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

func TestWhy(t *testing.T) {
	x := lexical.Build(lexical.Options{}, catalog)
	for name, c := range map[string]struct {
		query string
		doc   int
		want  []lexical.Hit
	}{
		"exact and stem": {"resize pictures", 10, []lexical.Hit{
			{Word: "resize", Match: "resize", Field: "action", Route: lexical.Exact},
			{Word: "pictures", Match: "picture", Field: "description", Route: lexical.Stem}}},
		"synonym": {"photo", 10, []lexical.Hit{
			{Word: "photo", Match: "picture", Field: "description", Route: lexical.Synonym}}},
		"typo": {"kuberntes", 16, []lexical.Hit{
			{Word: "kuberntes", Match: "kubernetes", Field: "module", Route: lexical.Typo}}},
		"prefix": {"repli", 16, []lexical.Hit{
			{Word: "repli", Match: "replicas", Field: "description", Route: lexical.Prefix}}},
		"compound": {"web page", 13, []lexical.Hit{
			{Word: "web", Match: "webpage", Field: "action", Route: lexical.Compound},
			{Word: "page", Match: "page", Field: "description", Route: lexical.Exact}}},
		"alias phrase": {"rm", 3, []lexical.Hit{
			{Word: "rm", Match: "rm", Field: "alias", Route: lexical.Phrase},
			{Word: "rm", Match: "rm", Field: "alias", Route: lexical.Exact}}},
		"no such document": {"rm", 99, nil},
		"nothing shared":   {"rm", 7, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, x.Query(c.query).Why(c.doc)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The same documents and the same query give the same answer, always.
func TestDeterminism(t *testing.T) {
	queries := []string{"read the fiels", "kube deploy", "envoyer un message", "con", "天气"}
	answers := func() string {
		x := lexical.Build(lexical.Options{}, catalog)
		var out strings.Builder
		for _, text := range queries {
			q := x.Query(text)
			fmt.Fprint(&out, q.Scores(nil), q.Known(), q.MaxScore(), q.Content())
			for d := range catalog {
				fmt.Fprint(&out, q.Why(d))
			}
		}
		return out.String()
	}
	first := answers()
	for range 5 {
		if diff := gocmp.Diff(first, answers()); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestEmptyIndex(t *testing.T) {
	x := lexical.Build(lexical.Options{}, nil)
	q := x.Query("anything at all")
	if n := len(q.Scores(nil)); n != 0 || q.Known() != 0 || q.Why(0) != nil || x.Len() != 0 || x.Live() != 0 {
		t.Errorf("an empty index knows something: %d scores, known %v", n, q.Known())
	}
}

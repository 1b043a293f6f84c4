package phrasing

import "strings"

// runJoiner is a conjunction of a script without spaces.
type runJoiner struct {
	text  string
	force force
}

var runJoiners = [...]runJoiner{
	{"然后", strong}, {"然後", strong}, {"并且", strong}, {"並且", strong}, {"同时", strong}, {"同時に", plain}, {"同時", strong},
	{"接着", strong}, {"接著", strong}, {"接下来", strong}, {"接下來", strong}, {"随后", strong}, {"隨後", strong}, {"另外", strong},
	{"此外", strong}, {"顺便", strong}, {"順便", strong}, {"之后再", strong}, {"之後再", strong}, {"最后", afterComma},
	{"最後", afterComma},
	{"还要", afterComma}, {"還要", afterComma}, {"并", afterComma}, {"並", afterComma}, {"再", afterComma},
	{"而且", afterComma},
	{"それから", strong}, {"そして", strong}, {"その後", strong}, {"そのあと", strong}, {"続いて", strong}, {"次に", afterComma},
	{"さらに", afterComma}, {"また", afterComma}, {"あと", afterComma}, {"ついでに", strong},
	{"หลังจากนั้น", strong}, {"จากนั้น", strong}, {"แล้วก็", strong}, {"แล้วค่อย", strong},
	{"และแล้ว", strong}, {"แล้ว", plain},
	{"และ", plain}, {"ຈາກນັ້ນ", strong}, {"ແລ້ວ", plain}, {"ແລະ", plain}, {"បន្ទាប់មក", strong},
	{"ហើយ", plain}, {"និង", plain},
	{"ပြီးတော့", strong}, {"ထို့နောက်", strong}, {"ပြီးနောက်", strong},
}

// joinerInRun returns the length of the conjunction that a text starts with, or
// 0. The first character of the text is r.
func joinerInRun(text string, r rune) (length int, f force) {
	switch r {
	case '然', '并', '並', '同', '接', '随', '隨', '另', '此', '顺', '順', '之', '最', '还', '還', '再', '而', 'そ', '続', '次',
		'さ', 'ま', 'あ', 'つ',
		'ห', 'จ', 'แ', 'ຈ', 'ແ', 'ប', 'ហ', 'ន', 'ပ', 'ထ':
	default:
		return 0, apart
	}
	if strings.HasPrefix(text, "再生") || strings.HasPrefix(text, "再起") || strings.HasPrefix(text, "並べ") {
		return 0, apart // to play, to restart, to sort
	}
	for i := range runJoiners {
		if strings.HasPrefix(text, runJoiners[i].text) {
			return len(runJoiners[i].text), runJoiners[i].force
		}
	}
	return 0, apart
}

// connects reports whether a Japanese text ends as a verb does that another
// action follows.
func connects(text string) bool {
	if !strings.HasSuffix(text, "て") && !strings.HasSuffix(text, "んで") && !strings.HasSuffix(text, "いで") {
		return false
	}
	for _, particle := range [...]string{"について", "に対して", "として", "にとって", "によって", "において", "に関して", "したがって"} {
		if strings.HasSuffix(text, particle) {
			return false
		}
	}
	return true
}

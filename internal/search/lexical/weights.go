package lexical

// field is a part of a document.
type field uint8

const (
	action field = iota
	module
	short
	aliases
	tags
	paramNames
	paramTexts
	description
	effects
	fields // the number of fields
)

var fieldNames = [fields]string{
	"action", "module", "short name", "alias", "tag", "parameter", "parameter text", "description", "effect",
}

// isName reports whether a field holds names and not prose.
func (f field) isName() bool { return f <= aliases || f == paramNames }

// fieldWeight is the weight of a word in a field, and how much the length of the
// field reduces it: with b 0 not at all, with b 1 in proportion. The length is
// compared with a fixed pivot (see the law of change).
type fieldWeight struct{ weight, b, pivot float32 }

// tuning holds every number of the ranking.
type tuning struct {
	k1     float32 // the saturation of repetition
	fields [fields]fieldWeight

	// The weights of routes, where the word itself has 1.
	kin, alien, synonym, compound, prefix, typo, typo2 float32

	// The weights of kinds of query words, where a plain word has 1; and what a
	// repetition adds.
	weak, number, repeat float32

	// What the name of a tool within the query adds, as a share of its words.
	phrase float32
}

// weights were chosen on public sets of tool-search requests, in steps so coarse
// that they fit no set in particular: small changes hardly change the ranking.
var weights = tuning{
	k1: 1.4,
	fields: [fields]fieldWeight{
		action:      {2.0, 0.3, 3},
		module:      {1.0, 0.3, 2},
		short:       {1.5, 0.0, 1},
		aliases:     {1.5, 0.3, 4},
		tags:        {1.0, 0.3, 4},
		paramNames:  {0.5, 0.5, 6},
		paramTexts:  {0.3, 0.7, 40},
		description: {0.8, 0.6, 16},
		effects:     {0.4, 0.3, 2},
	},
	kin:      0.9, // another form, in a language that is not stemmed
	alien:    0.4, // the same stem in another language
	synonym:  0.6,
	compound: 0.8,
	prefix:   0.6,
	typo:     0.5,
	typo2:    0.35,
	weak:     0.3,
	number:   0.3,
	repeat:   0.25,
	phrase:   0.3,
}

package lexical

// field is a part of a document, and so a place where a word was found.
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
	fields // how many there are
)

var fieldNames = [fields]string{"action", "module", "short name", "alias", "tag", "parameter", "parameter text", "description", "effect"}

// isName reports a field of names rather than prose.
func (f field) isName() bool { return f <= aliases || f == paramNames }

// fieldWeight says how much a word in a field counts and how a long field
// dilutes it: with b 0 not at all, with b 1 in proportion. Length is held
// against a fixed pivot (see the law of change).
type fieldWeight struct{ weight, b, pivot float32 }

// tuning is every number of the ranking.
type tuning struct {
	k1     float32 // how soon repetition saturates
	fields [fields]fieldWeight

	// What a route is worth, beside 1 for the word itself.
	kin, alien, synonym, compound, prefix, typo, typo2 float32

	// What a query word of a kind is worth, beside 1 for a plain one; and what
	// a repetition of a word adds.
	weak, number, repeat float32

	// What a name of a tool within the query adds, in shares of its words.
	phrase float32
}

// weights were chosen on public sets of tool-search requests, in steps so
// coarse that they fit no set in particular: around them the ranking is flat.
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

package tool

// Cut says that a result shows only a part of what there is: which part, of how
// much, and how to get the rest. A handler fills it and writes no words of its own
// about it: every reader is told by the same line, the last of the content.
type Cut struct {
	Unit  string `json:"unit"`            // what is counted, in the plural: lines, matches, entries, bytes
	First int    `json:"first,omitempty"` // the number of the first one shown; 0 is 1
	Last  int    `json:"last"`            // the number of the last one shown
	Tail  int    `json:"tail,omitempty"`  // from this number on they are shown again, to the end; 0: they are not
	Total int    `json:"total,omitempty"` // how many there are; 0: more, nobody knows how many
	// Next is the arguments of the same tool, or of Tool where that is set, that give
	// what follows: "offset=2001".
	Next string `json:"next,omitempty"`
	Tool string `json:"tool,omitempty"` // its dotted name
	// Advice is what else to do, in a few words: "narrow path or glob, or raise limit".
	Advice string `json:"advice,omitempty"`
}

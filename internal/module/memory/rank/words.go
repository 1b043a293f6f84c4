package rank

import "callgate/internal/search/lexical/bm25"

// scores returns the score of each text, from 0 to 1, for the words that it shares
// with a question. A word in few texts counts more.
func scores(question string, all []textInfo) []float64 {
	out := make([]float64, len(all))
	asked, _ := new(bm25.Counter).Count(question)
	if len(asked) == 0 {
		return out
	}
	total := 0
	for i := range all {
		total += all[i].length
	}
	mean := max(1, float64(total)/float64(max(1, len(all))))
	ceiling := 0.0
	for _, term := range asked {
		having := 0
		for i := range all {
			if all[i].terms[term.Text] > 0 {
				having++
			}
		}
		rarity := bm25.Rarity(len(all), having)
		ceiling += bm25.Most(rarity)
		if having == 0 {
			continue
		}
		for i := range all {
			if n := all[i].terms[term.Text]; n > 0 {
				out[i] += bm25.Weight(rarity, float64(n), float64(all[i].length), mean)
			}
		}
	}
	for i := range out {
		out[i] /= ceiling
	}
	return out
}

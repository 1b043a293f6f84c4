package rank

import (
	"maps"
	"math"
	"slices"
	"strings"

	"callgate/internal/search/lexical/analysis"
)

// The common constants of BM25.
const (
	saturation = 1.2
	lengthNorm = 0.75
)

// termsOf counts the terms of a text.
func termsOf(s *analysis.Splitter, text string) (terms map[string]int, length int) {
	s.Split(text, false)
	terms = make(map[string]int, len(s.Tokens))
	for _, p := range s.Tokens {
		word := string(s.Text(p))
		if stopWords[word] {
			continue
		}
		terms[analysis.Stem(word)]++
		length++
	}
	return terms, length
}

// scores returns the score of each text, from 0 to 1, for the words that it shares
// with a question. A word in few texts counts more.
func scores(question string, all []textInfo) []float64 {
	out := make([]float64, len(all))
	asked, _ := termsOf(new(analysis.Splitter), question)
	if len(asked) == 0 {
		return out
	}
	total := 0
	for i := range all {
		total += all[i].length
	}
	mean := max(1, float64(total)/float64(max(1, len(all))))
	ceiling := 0.0
	for _, term := range slices.Sorted(maps.Keys(asked)) { // sums depend on the order
		having := 0
		for i := range all {
			if all[i].terms[term] > 0 {
				having++
			}
		}
		rarity := math.Log(1 + (float64(len(all)-having)+0.5)/(float64(having)+0.5))
		ceiling += rarity * (saturation + 1)
		if having == 0 {
			continue
		}
		for i := range all {
			if n := float64(all[i].terms[term]); n > 0 {
				out[i] += rarity * n * (saturation + 1) / (n + saturation*(1-lengthNorm+lengthNorm*float64(all[i].length)/mean))
			}
		}
	}
	for i := range out {
		out[i] /= ceiling
	}
	return out
}

// stopWords are words without a topic, folded as the splitter folds them, in the
// most frequent languages.
var stopWords = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`
		a an and are as at be been but by can did do does for from had has have how i if in into is it its me my of on or our
		she he so than that the their them then there these they this those to us was we were what when where which
		who why will with you your
		au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui ma mes mon ne nous on ou par
		pas pour qu que quel quelle qui sa se ses son sont sur ta tes ton tu un une vos votre vous
		das dem den der des die ein eine einem einen einer es ich ihr im ist mein mit nicht oder sie sind und uns von war
		was wer wie wir wo zu zum zur
		al como con cual de del el ella es esta este la las lo los mi o para por que quien se son su sus un una y
	`) {
		all[w] = true
	}
	return all
}()

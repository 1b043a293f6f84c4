package shellcmd

// FromWords is the line that runs one command with exactly these words.
func FromWords(words []string) *Line {
	c := &Command{}
	for _, s := range words {
		c.Words = append(c.Words, Word{Text: s, Static: true})
	}
	w := walker{line: &Line{}}
	w.unwrap(c)
	w.add(c)
	return w.line
}

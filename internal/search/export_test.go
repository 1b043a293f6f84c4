package search

// NotKept is the number of tools whose words are not in the file.
func (x *Index) NotKept() int {
	x.words.mu.Lock()
	defer x.words.mu.Unlock()
	return x.words.missing
}

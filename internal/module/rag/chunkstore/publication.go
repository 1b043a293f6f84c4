package chunkstore

// Publication is what an ingestion changes of a base that several kernels share: all of it at once, or nothing.
type Publication struct {
	Ingestion string   // whose staged documents take the place of those with their names
	Staged    int      // how many these are
	Removed   []string // the documents that are gone
	Moved     []string // those that are as they were, and come from Origin now
	Origin    Origin

	Model     string // whose vectors the base must have
	NextModel string // whose vectors it has then
	Version   int64  // that the base must have; 0: any
	MaxChunks int    // a base that grows has no more than these then; 0: any number
}

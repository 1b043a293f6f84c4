package vector

// Both implementations of each operation, for tests that compare them.
var (
	DotRows           = dotRows
	DotRowsPortable   = dotRowsPortable
	AddScaledPortable = addScaledPortable
	QuantizeQuery     = quantizeQuery
)

const GroupRows, Lane, ChunkRows = groupRows, lane, chunkRows

package vector

// The two paths of each operation, for the tests that hold them against each
// other.
var (
	DotRows           = dotRows
	DotRowsPortable   = dotRowsPortable
	AddScaledPortable = addScaledPortable
	CutQuery          = cutQuery
)

const GroupRows, Lane, ChunkRows = groupRows, lane, chunkRows

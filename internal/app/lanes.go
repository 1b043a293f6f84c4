package app

// The lanes of an agent: edge answers the user at once, core does the deep work.
const (
	EdgeLane = "edge"
	CoreLane = "core"
)

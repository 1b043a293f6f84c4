package sandbox

// RunOn runs as on a machine that can do only what a report says, so that the
// lesser levels can be tested on a machine that has them all.
var RunOn = runOn

package web

// ModuleWith returns the module with parts of the outside world replaced.
var ModuleWith = moduleWith

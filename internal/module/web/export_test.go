package web

// ModuleWith is the module with a resolver of the test's own.
var ModuleWith = moduleWith

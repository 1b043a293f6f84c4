package gate

// MaskJSON is for tests.
var MaskJSON = maskJSON

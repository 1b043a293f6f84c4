package secret

// OpenWith is Open with a keyring of the test's own, and nil for none.
var OpenWith = openWith

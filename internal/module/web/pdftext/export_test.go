package pdftext

// ReadWithin is Read with less time.
var ReadWithin = read

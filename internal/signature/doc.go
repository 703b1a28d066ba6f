// Package signature owns one question: are these exact bytes signed, by which key, and recently enough?
//
// A stack has one Scheme; each has a file of its own. The package is pure: the clock, the keys and the headers are handed
// in, and it imports the standard library only. It holds the one alphabet of ids (ValidID) as well, since the first id that
// anybody sends is the delivery's.
package signature

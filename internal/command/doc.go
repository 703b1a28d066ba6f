// Package command owns what a delivery may ask for: strict decoding of its payload, the checks of every field, and what
// follows from them (run key, scope, selection, due time, hash of the command).
//
// Each command type is one file and one line in the registry. The package is pure: no clock, no AWS; it may import inbox
// for the domain's words and signature for the one alphabet of ids.
package command

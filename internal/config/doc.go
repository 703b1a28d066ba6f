// Package config owns the settings of the functions: their names, defaults and checks as one catalogue, and the structs
// that the mains build from. It reads an environment once, names every problem at once, and never the value of a secret.
// It may import the standard library and the pure domain.
//
// The reading is plain code over the catalogue, not a struct-tag library: the catalogue has to exist as data in any case,
// since the template's parameters are compared with it, and a library's messages would name neither what is allowed nor
// spare a secret.
//
// A variable whose name starts with CUSTODY_ and is no setting is an error. A misspelt DELETE_SCOPES would at best do
// nothing; a misspelt MIN_OBJECT_AGE, or a safety setting that a newer version knows, would silently weaken the stack.
// A setting of another function is no error: it is known, and one environment may serve all three.
package config

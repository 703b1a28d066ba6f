// Package architecture owns the rule who may import whom, as data, and checks the module against it. It is for `make
// imports` and `make test` alone: nothing imports it, and outside of its tests it imports nothing but the standard library.
// Its tests also hold the template against what the functions, the local stack and the settings say: its roles against the requests
// that the built functions make, its alarms against the metrics that come in scenarios. They stand here because the template's reader
// does.
package architecture

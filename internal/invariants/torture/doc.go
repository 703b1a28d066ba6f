// Package torture owns no code but a test: the local stack with the built functions as processes, under load, while they are
// killed at random moments. The observer of package invariants watches every request. `make torture` runs it for long. It may
// import what package invariants may.
package torture

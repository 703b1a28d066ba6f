package s3_test

// difference is a promise that an engine is known not to keep. It is run all the same and must fail, so
// that the list cannot go stale; only where running it makes no sense it is skipped, with the reason.
type difference struct {
	reason string
	skip   bool
}

// differences are the known differences by engine and promise.
func differences() map[string]map[string]difference {
	return map[string]map[string]difference{}
}

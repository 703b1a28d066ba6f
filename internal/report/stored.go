package report

// Stored is an object as it lies in the report's bucket.
type Stored struct {
	Name string
	Data []byte // gzip
}

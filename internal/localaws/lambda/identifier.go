package lambda

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// Region and Account are those of everything local. The account is the one that other local stacks use, and is
// never a real one.
const (
	Region  = "us-east-1"
	Account = "000000000000"
)

// functionARN names a function as Lambda does in the Invoked-Function-Arn header.
func functionARN(name string) string {
	return "arn:aws:lambda:" + Region + ":" + Account + ":function:" + name
}

// newRequestID is a random UUID (RFC 9562, version 4), the form of Lambda's request ids.
func newRequestID() string {
	b := randomBytes(16)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newTraceID has the form of the X-Amzn-Trace-Id header (X-Ray developer guide, "Tracing header"). It is never
// sampled: nothing here would take the trace.
func newTraceID(now time.Time) string {
	root := hex.EncodeToString(randomBytes(12))
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", uint32(now.Unix()), root, hex.EncodeToString(randomBytes(8)))
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails, by its documentation
	return b
}

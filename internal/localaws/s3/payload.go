package s3

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	// mostDocument is above what 1,000 keys of 1,024 bytes come to, each byte escaped as &#NNN;.
	mostDocument = 8 << 20
	// mostObject is S3's limit for one PUT.
	mostObject = 5 << 30
)

// payload is a request body as the sender meant it: without the framing of aws-chunked, and verified
// against every digest that came with it.
type payload struct {
	data []byte
	// sums are the checksums that came along, by header name; S3 stores and returns them.
	sums map[string]string
	// verified is whether any digest came along, Content-MD5 or x-amz-checksum-….
	verified bool
}

// readPayload reads the body and checks its digests.
func readPayload(r *http.Request, op *operation) (payload, error) {
	raw, err := readAll(r, op)
	if err != nil {
		return payload{}, err
	}
	p := payload{data: raw, sums: map[string]string{}}
	declared := r.Header.Get("X-Amz-Content-Sha256")
	trailer := http.Header{}
	if strings.HasPrefix(declared, "STREAMING-") || hasCoding(r, "aws-chunked") {
		if p.data, trailer, err = dechunk(raw); err != nil {
			return payload{}, err
		}
		if err := checkDecodedLength(r, len(p.data)); err != nil {
			return payload{}, err
		}
	} else if err := checkContentHash(declared, p.data); err != nil {
		return payload{}, err
	}
	return p, p.verify(r, trailer)
}

// readAll reads what was sent, and no more than S3 takes.
func readAll(r *http.Request, op *operation) ([]byte, error) {
	most, code := int64(mostDocument), "MaxMessageLengthExceeded"
	if op.name == "PutObject" {
		most, code = mostObject, "EntityTooLarge"
	}
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		return nil, fail(http.StatusBadRequest, code, "Your request was too big: at most "+strconv.FormatInt(most, 10)+" bytes")
	}
	if err != nil {
		return nil, incompleteBody("the body ended early: " + err.Error())
	}
	return raw, nil
}

func incompleteBody(message string) error {
	return fail(http.StatusBadRequest, "IncompleteBody", message)
}

func hasCoding(r *http.Request, coding string) bool {
	for part := range strings.SplitSeq(r.Header.Get("Content-Encoding"), ",") {
		if strings.EqualFold(strings.TrimSpace(part), coding) {
			return true
		}
	}
	return false
}

// dechunk takes the framing of aws-chunked off: chunks of "SIZE[;chunk-signature=…]", then trailers.
// Chunk signatures are not verified, as no signature is.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
func dechunk(raw []byte) (data []byte, trailer http.Header, err error) {
	in := bufio.NewReader(bytes.NewReader(raw))
	for {
		size, err := chunkSize(in)
		if err != nil {
			return nil, nil, err
		}
		if size == 0 {
			trailer, err = readTrailer(in)
			return data, trailer, err
		}
		if size > int64(len(raw)) {
			return nil, nil, incompleteBody("a chunk claims more bytes than were sent")
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(in, chunk); err != nil || string(chunk[size:]) != "\r\n" {
			return nil, nil, incompleteBody("a chunk of aws-chunked is not as long as it says")
		}
		data = append(data, chunk[:size]...)
	}
}

func chunkSize(in *bufio.Reader) (int64, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, incompleteBody("aws-chunked ends without its last chunk")
	}
	digits, _, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ";")
	size, err := strconv.ParseInt(digits, 16, 64)
	if err != nil || size < 0 {
		return 0, invalidRequest("a chunk of aws-chunked has no hexadecimal size")
	}
	return size, nil
}

func readTrailer(in *bufio.Reader) (http.Header, error) {
	trailer := http.Header{}
	for {
		line, err := in.ReadString('\n')
		text := strings.TrimRight(line, "\r\n")
		if text == "" {
			return trailer, nil
		}
		name, value, found := strings.Cut(text, ":")
		if !found {
			return nil, fail(http.StatusBadRequest, "MalformedTrailerError", "The request contained trailing data that was not well-formed")
		}
		trailer.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		if err != nil {
			return trailer, nil
		}
	}
}

func checkDecodedLength(r *http.Request, got int) error {
	want := r.Header.Get("X-Amz-Decoded-Content-Length")
	if want == strconv.Itoa(got) {
		return nil
	}
	if want == "" {
		return fail(http.StatusLengthRequired, "MissingContentLength", "You must provide the x-amz-decoded-content-length HTTP header.")
	}
	return incompleteBody("You did not provide the number of bytes specified by x-amz-decoded-content-length")
}

// checkContentHash compares x-amz-content-sha256 where it is a hash and not UNSIGNED-PAYLOAD.
func checkContentHash(declared string, data []byte) error {
	want, err := hex.DecodeString(declared)
	if err != nil || len(want) != sha256.Size {
		return nil
	}
	if got := sha256.Sum256(data); !bytes.Equal(want, got[:]) {
		return fail(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	}
	return nil
}

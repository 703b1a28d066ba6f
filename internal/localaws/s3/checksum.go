package s3

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"net/http"
	"strings"
)

const checksumPrefix = "X-Amz-Checksum-"

// nvmePolynomial is CRC-64/NVME, reflected, as hash/crc64 wants it.
const nvmePolynomial = 0x9A6C9329AC4BC9B5

// digest is the hash behind a checksum header, nil for one the engine does not have.
func digest(header string) hash.Hash {
	switch strings.TrimPrefix(header, checksumPrefix) {
	case "Crc32":
		return crc32.NewIEEE()
	case "Crc32c":
		return crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case "Crc64nvme":
		return crc64.New(crc64.MakeTable(nvmePolynomial))
	case "Sha1":
		return sha1.New()
	case "Sha256":
		return sha256.New()
	case "Sha512":
		return sha512.New()
	case "Md5":
		return md5.New()
	}
	return nil
}

// isChecksum reports a header that carries a checksum; the others of the prefix describe one.
func isChecksum(name string) bool {
	switch name {
	case "X-Amz-Checksum-Mode", "X-Amz-Checksum-Algorithm", "X-Amz-Checksum-Type":
		return false
	}
	return strings.HasPrefix(name, checksumPrefix)
}

// verify compares the body with Content-MD5 and with each checksum in the headers or the trailer.
func (p *payload) verify(r *http.Request, trailer http.Header) error {
	if err := p.verifyMD5(r.Header.Get("Content-Md5")); err != nil {
		return err
	}
	if announced := r.Header.Get("X-Amz-Trailer"); announced != "" && trailer.Get(announced) == "" {
		return fail(http.StatusBadRequest, "MalformedTrailerError", "The request has no trailer "+announced+", which x-amz-trailer announces")
	}
	for _, from := range []http.Header{r.Header, trailer} {
		for name := range from {
			if !isChecksum(name) {
				continue
			}
			if err := p.verifySum(name, from.Get(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *payload) verifySum(name, value string) error {
	h := digest(name)
	if h == nil {
		return notImplemented("the checksum header %s", strings.ToLower(name))
	}
	want, err := base64.StdEncoding.DecodeString(value)
	if err != nil || len(want) != h.Size() {
		return invalidRequest("Value for " + strings.ToLower(name) + " header is invalid.")
	}
	h.Write(p.data)
	if !bytes.Equal(h.Sum(nil), want) {
		return fail(http.StatusBadRequest, "BadDigest",
			"The "+strings.ToUpper(strings.TrimPrefix(name, checksumPrefix))+" you specified did not match the calculated checksum.")
	}
	p.sums[name], p.verified = value, true
	return nil
}

func (p *payload) verifyMD5(value string) error {
	if value == "" {
		return nil
	}
	want, err := base64.StdEncoding.DecodeString(value)
	if err != nil || len(want) != md5.Size {
		return fail(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 you specified was invalid.").with("Content-MD5", value)
	}
	if got := md5.Sum(p.data); !bytes.Equal(got[:], want) {
		return fail(http.StatusBadRequest, "BadDigest", "The Content-MD5 you specified did not match what we received.")
	}
	p.verified = true
	return nil
}

// checksumName is an algorithm as listings write it: CRC32, SHA256.
func checksumName(header string) string {
	return strings.ToUpper(strings.TrimPrefix(header, checksumPrefix))
}

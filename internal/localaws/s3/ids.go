package s3

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"strconv"
)

// nullID is the version id of what was written while versioning was not enabled.
const nullID = "null"

// idAlphabet has the characters that version ids of S3 are seen with.
const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._"

// minter makes version ids that are opaque to the reader and tell the engine where the version stands,
// also when it is long deleted: a marker on a deleted version must resume exactly behind it. The key is
// random, so ids of another engine, and text that merely looks like an id, are told from its own.
type minter struct {
	block  cipher.Block
	coding *base64.Encoding
}

func newMinter() minter {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails: it crashes the program instead (crypto/rand)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // 16 bytes are a key
	}
	return minter{block: block, coding: base64.NewEncoding(idAlphabet).WithPadding(base64.NoPadding)}
}

// mint is the id of the version with this sequence number: 24 bytes, 32 characters.
func (m minter) mint(seq uint64) string {
	var raw [32]byte
	binary.BigEndian.PutUint64(raw[:], seq)
	m.block.Encrypt(raw[:16], raw[:16])
	m.block.Encrypt(raw[16:], raw[:16])
	return m.coding.EncodeToString(raw[:24])
}

// read is the sequence number of an id that this engine minted.
func (m minter) read(id string) (seq uint64, ok bool) {
	raw, err := m.coding.DecodeString(id)
	if err != nil || len(raw) != 24 {
		return 0, false
	}
	m.block.Decrypt(raw[:16], raw[:16])
	seq = binary.BigEndian.Uint64(raw)
	return seq, m.mint(seq) == id
}

// checkID refuses what cannot be a version id, under the parameter's own name.
func (e *Engine) checkID(parameter, id string) error {
	if id == nullID {
		return nil
	}
	if _, ok := e.ids.read(id); !ok {
		return invalidArgument(parameter, id, "Invalid version id specified")
	}
	return nil
}

func itoa(n int) string { return strconv.Itoa(n) }

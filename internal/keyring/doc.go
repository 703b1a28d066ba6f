// Package keyring owns where the signing keys come from: the text of a keyring for local work, or a secret in Secrets
// Manager with a cache in front.
//
// It may import the AWS SDK and signature. No error of this package holds any of a keyring's text.
package keyring

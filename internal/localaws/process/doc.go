// Package process starts and ends commands together with whatever they start themselves. It is a development part
// and may import the standard library alone.
package process

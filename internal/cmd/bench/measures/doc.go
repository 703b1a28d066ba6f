// Package measures owns what is measured and how: rounds in which every contender works once, in an order that rotates, on a bucket
// that is filled anew and looked at afterwards. It turns what it saw into figures. It may import contenders, server and results.
package measures

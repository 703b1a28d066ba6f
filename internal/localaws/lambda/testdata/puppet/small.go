package main

import "strings"

func stringReader(s string) *strings.Reader { return strings.NewReader(s) }

func must(s string, err error) string {
	if err != nil {
		return err.Error()
	}
	return s
}

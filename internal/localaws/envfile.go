package localaws

import (
	"bytes"
	"fmt"
	"strings"
)

// WriteEnvFile writes NAME=value pairs as a file of variables for a shell, `export NAME='value'` a line.
func WriteEnvFile(path string, env []string) (*ReadyFile, error) {
	f, err := writeReadyFile(path, exports(env))
	if err != nil {
		return nil, fmt.Errorf("env file: %w", err)
	}
	return f, nil
}

func exports(env []string) []byte {
	var b bytes.Buffer
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(&b, "export %s=%s\n", name, quote(value))
	}
	return b.Bytes()
}

// quote writes a word that a POSIX shell takes as it is: within single quotes only the quote itself is special.
func quote(value string) string {
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

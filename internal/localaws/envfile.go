package localaws

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// EnvFile is a file of variables for a shell, `export NAME='value'` a line.
type EnvFile struct {
	path    string
	content []byte
}

// WriteEnvFile writes NAME=value pairs at once: a reader sees the whole file or none. Only the owner may read it,
// since it holds a key, if only a local one.
func WriteEnvFile(path string, env []string) (*EnvFile, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("env file: %w", err)
	}
	f := &EnvFile{path: absolute, content: exports(env)}
	// The temporary file is in the same folder, because a rename is atomic only within one file system.
	temporary, err := os.CreateTemp(filepath.Dir(absolute), "."+filepath.Base(absolute)+".*") // 0600 by its documentation
	if err != nil {
		return nil, fmt.Errorf("env file: %w", err)
	}
	_, err = temporary.Write(f.content)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), absolute)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // the first error says more
		return nil, fmt.Errorf("env file: %w", err)
	}
	return f, nil
}

// Remove removes the file, unless it has another content by now: then it belongs to another stack.
func (f *EnvFile) Remove() error {
	content, err := os.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && !bytes.Equal(content, f.content)) {
		return nil
	}
	if err == nil {
		err = os.Remove(f.path)
	}
	if err != nil {
		return fmt.Errorf("remove the env file: %w", err)
	}
	return nil
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

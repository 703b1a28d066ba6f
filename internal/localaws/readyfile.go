package localaws

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ReadyFile is a file that says how to reach a stack. It is there as long as the stack is.
type ReadyFile struct {
	path    string
	content []byte
}

// writeReadyFile writes at once: a reader sees the whole file or none. Only the owner may read it, since it holds a key, if
// only a local one.
func writeReadyFile(path string, content []byte) (*ReadyFile, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &ReadyFile{path: absolute, content: content}
	// The temporary file is in the same folder, because a rename is atomic only within one file system.
	temporary, err := os.CreateTemp(filepath.Dir(absolute), "."+filepath.Base(absolute)+".*") // 0600 by its documentation
	if err != nil {
		return nil, err
	}
	_, err = temporary.Write(f.content)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), absolute)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // the first error says more
		return nil, err
	}
	return f, nil
}

// Remove removes the file, unless it has another content by now: then it belongs to another stack.
func (f *ReadyFile) Remove() error {
	content, err := os.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && !bytes.Equal(content, f.content)) {
		return nil
	}
	if err == nil {
		err = os.Remove(f.path)
	}
	if err != nil {
		return fmt.Errorf("remove the file of the stack: %w", err)
	}
	return nil
}

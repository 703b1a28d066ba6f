package main

import (
	"os/user"

	"github.com/spf13/cobra"
)

// whoFlag is who does it, as it is recorded.
type whoFlag struct{ by string }

func (f *whoFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.by, "by", "", "`WHO` does it, as it is recorded (default: the user of this machine)")
}

func (f *whoFlag) who() (string, error) {
	if f.by != "" {
		return f.by, nil
	}
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return "", usagef("who does it? The system names no user; give --by")
	}
	return u.Username, nil
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// errNotConfirmed is a question that was not answered by yes.
var errNotConfirmed = errors.New("not confirmed, so nothing was done")

// confirmation is a command's question, and the flag that answers it beforehand.
type confirmation struct{ yes bool }

func (c *confirmation) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do it without asking, as a script must")
}

// ask shows what is going to happen and wants a yes. Without a terminal there is nobody to ask, and nothing is shown.
func (c *confirmation) ask(cmd *cobra.Command, preview func(w io.Writer), question string) error {
	if c.yes {
		return nil
	}
	in, isFile := cmd.InOrStdin().(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return usagef("%s asks first, and there is no terminal to ask on: give --yes to do it without the question", cmd.CommandPath())
	}
	// To stderr: stdout is for what was done, and may go into a file.
	preview(cmd.ErrOrStderr())
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // a terminal that is closed answers nothing
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
	case <-cmd.Context().Done():
		fmt.Fprintln(cmd.ErrOrStderr())
	}
	return errNotConfirmed
}

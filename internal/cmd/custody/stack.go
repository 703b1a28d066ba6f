package main

import (
	"context"
	"os"

	"custody/internal/deployed"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/spf13/cobra"
)

// stackVariable names a stack where --stack does not. It is no setting of the functions, which are told their stack's name as
// CUSTODY_STACK.
const stackVariable = "CUSTODY_STACK_NAME"

// stackFlag names a deployed stack, and holds what was read of it. The command line goes before the environment, and there what
// names one thing goes before what names the whole stack: a variable that is left over from another stack never turns a command
// that says --stack to that one.
type stackFlag struct {
	given string
	read  *deployed.Stack // nil until it is read, or where there is none to read
}

func (f *stackFlag) add(cmd *cobra.Command) {
	if cmd.Flags().Lookup("stack") == nil {
		cmd.Flags().StringVar(&f.given, "stack", "", "`NAME` of the stack, whose outputs name everything (default: "+stackVariable+")")
	}
}

// name is the stack's; "" where none is named.
func (f *stackFlag) name() string { return firstOf(f.given, os.Getenv(stackVariable)) }

// value is what a variable says, or the stack's output: true says that it is from there. Before the stack is read, its outputs
// are empty.
func (f *stackFlag) value(variable, output string) (value string, fromStack bool, err error) {
	if value = os.Getenv(variable); value != "" && f.given == "" || f.name() == "" {
		return value, false, nil
	}
	if f.read == nil {
		return "", true, nil
	}
	value, err = f.read.Output(output)
	return value, true, err
}

// parameter is a parameter of the stack, where one was read.
func (f *stackFlag) parameter(name string) (string, bool) {
	if f.read == nil {
		return "", false
	}
	return f.read.Parameter(name)
}

// load reads the stack, where one is named.
func (f *stackFlag) load(ctx context.Context, c *connection) error {
	if f.name() == "" || f.read != nil {
		return nil
	}
	stack, err := deployed.ReadStack(ctx, cloudformation.NewFromConfig(c.aws), f.name())
	if err != nil {
		return err
	}
	f.read = &stack
	return nil
}

// Command barelambda is the least function there is: what the runtime library alone takes to ask for its first event.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(func(context.Context) error { return nil }) }

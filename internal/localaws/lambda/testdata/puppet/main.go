// Puppet is a function that does what its event says: the tests' way to see every end that a function can have.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type order struct {
	Do    string `json:"do"`
	Value string `json:"value"`
	Size  int    `json:"size"`
}

func main() {
	if os.Getenv("PUPPET_INIT") == "exit" {
		fmt.Println("setting X is wrong")
		os.Exit(3)
	}
	if marker := os.Getenv("PUPPET_EXIT_ONCE"); marker != "" {
		if f, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			os.Exit(3)
		}
	}
	if os.Getenv("PUPPET_INIT") == "error" {
		reportInitError()
	}
	lambda.Start(handle)
}

func reportInitError() {
	url := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/init/error"
	body := `{"errorMessage":"no settings","errorType":"Runtime.Settings"}`
	resp, err := http.Post(url, "application/json", stringReader(body))
	if err == nil {
		resp.Body.Close()
	}
	os.Exit(1)
}

func handle(ctx context.Context, event json.RawMessage) (any, error) {
	var o order
	if err := json.Unmarshal(event, &o); err != nil {
		return nil, err
	}
	switch o.Do {
	case "fail":
		return nil, errors.New(o.Value)
	case "panic":
		panic(o.Value)
	case "exit":
		os.Exit(o.Size)
	case "hang":
		hang(ctx, o.Value)
	case "meet":
		return nil, meet(o.Value)
	case "print":
		fmt.Fprintln(os.Stdout, o.Value)
		fmt.Fprint(os.Stderr, "last line without an end")
	case "big":
		return string(make([]byte, o.Size)), nil
	case "answer":
		return json.RawMessage(o.Value), nil
	case "ask":
		return ask(o.Value)
	case "environment":
		return map[string]any{"pid": os.Getpid(), "env": os.Environ(), "dir": must(os.Getwd())}, nil
	case "context":
		return describe(ctx), nil
	default:
		return map[string]any{"pid": os.Getpid(), "event": event}, nil
	}
	return map[string]any{"pid": os.Getpid()}, nil
}

// hang tells the address that it hangs, and then never answers.
func hang(_ context.Context, address string) {
	if address != "" {
		meet(address)
	}
	for {
		time.Sleep(time.Hour)
	}
}

// meet asks the test's server and blocks until it answers.
func meet(address string) error {
	resp, err := http.Get(address)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// ask sends a request to the runtime API itself and returns the status.
func ask(path string) (int, error) {
	resp, err := http.Post("http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+path, "application/json", stringReader("{}"))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, nil
}

func describe(ctx context.Context) map[string]any {
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	return map[string]any{
		"request_id": lc.AwsRequestID,
		"arn":        lc.InvokedFunctionArn,
		"left_ms":    time.Until(deadline).Milliseconds(),
		"trace":      os.Getenv("_X_AMZN_TRACE_ID"),
	}
}

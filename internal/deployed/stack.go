package deployed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// The outputs of template.yaml that a tool goes by; a test compares them.
const (
	OutputURL             = "Url"
	OutputTable           = "Table"
	OutputHoldsTable      = "HoldsTable"
	OutputBucket          = "Bucket"
	OutputReportBucket    = "ReportBucket"
	OutputSigningSecret   = "SigningSecret"
	OutputCleanupFunction = "CleanupFunction"
	OutputOperatorLog     = "OperatorLog"
	OutputVersion         = "Version"
)

// Outputs lists what every stack of this version has.
func Outputs() []string {
	return []string{OutputURL, OutputTable, OutputHoldsTable, OutputBucket, OutputReportBucket, OutputSigningSecret,
		OutputCleanupFunction, OutputOperatorLog, OutputVersion}
}

// Stack is a stack as CloudFormation describes it.
type Stack struct {
	Name       string
	Status     string // CloudFormation's word, such as UPDATE_COMPLETE
	outputs    map[string]string
	parameters map[string]string
}

// Output is the value of an output. An error tells a stack that is none of Custody from one of another version.
func (s Stack) Output(name string) (string, error) {
	if value := s.outputs[name]; value != "" {
		return value, nil
	}
	return "", &MissingOutputError{Stack: s.Name, Status: s.Status, Output: name, Version: s.outputs[OutputVersion]}
}

// Version is the version of Custody that the stack was made from; "" where it does not say.
func (s Stack) Version() string { return s.outputs[OutputVersion] }

// Parameter is the value of a template's parameter; false where the stack has none of that name.
func (s Stack) Parameter(name string) (string, bool) {
	value, has := s.parameters[name]
	return value, has
}

// NoStackError is a name that stands for no stack.
type NoStackError struct{ Name, Region string }

func (e *NoStackError) Error() string {
	return fmt.Sprintf("no stack %s: CloudFormation has none of that name in region %s", e.Name, e.Region)
}

// MissingOutputError is a stack that lacks an output. With a version it is a stack of Custody, of another version than this tool.
type MissingOutputError struct{ Stack, Status, Output, Version string }

func (e *MissingOutputError) Error() string {
	switch {
	case e.Version != "":
		return fmt.Sprintf("stack %s was written by Custody %s, which has no output %s: use the tool of that version", e.Stack, e.Version, e.Output)
	case strings.HasSuffix(e.Status, "_IN_PROGRESS") || strings.Contains(e.Status, "FAILED") || strings.Contains(e.Status, "ROLLBACK"):
		return fmt.Sprintf("stack %s has no output %s; it is in the state %s, in which a stack may have none", e.Stack, e.Output, e.Status)
	}
	return fmt.Sprintf("stack %s is no stack of Custody: it has neither the output %s nor %s", e.Stack, e.Output, OutputVersion)
}

// ReadStack reads outputs and parameters.
func ReadStack(ctx context.Context, client *cloudformation.Client, name string) (Stack, error) {
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if isNoStack(err) {
		return Stack{}, &NoStackError{Name: name, Region: client.Options().Region}
	}
	if err != nil {
		return Stack{}, failed(ctx, "read stack "+name, "cloudformation:DescribeStacks", err)
	}
	if len(out.Stacks) != 1 {
		return Stack{}, fmt.Errorf("read stack %s: CloudFormation describes %d stacks of that name", name, len(out.Stacks))
	}
	return stackOf(name, out.Stacks[0]), nil
}

// isNoStack: CloudFormation has no code of its own for it (API reference, DescribeStacks: "If the stack doesn't exist, a
// ValidationError is returned"), and answers the same code for a name that no stack can have.
func isNoStack(err error) bool {
	api, answered := errors.AsType[smithy.APIError](err)
	return answered && api.ErrorCode() == "ValidationError"
}

func stackOf(name string, from types.Stack) Stack {
	s := Stack{Name: name, Status: string(from.StackStatus), outputs: map[string]string{}, parameters: map[string]string{}}
	if given := aws.ToString(from.StackName); given != "" {
		s.Name = given // the name may have been given as an ARN, and is the value of the metrics' dimension
	}
	for _, o := range from.Outputs {
		s.outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	for _, p := range from.Parameters {
		s.parameters[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
	}
	return s
}

// alarms are the names of the stack's alarms, by logical id.
func alarms(ctx context.Context, client *cloudformation.Client, stack string) (map[string]string, error) {
	found := map[string]string{} // from name to logical id
	pages := cloudformation.NewListStackResourcesPaginator(client, &cloudformation.ListStackResourcesInput{StackName: &stack},
		func(o *cloudformation.ListStackResourcesPaginatorOptions) { o.StopOnDuplicateToken = true })
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, failed(ctx, "list the resources of stack "+stack, "cloudformation:ListStackResources", err)
		}
		for _, r := range page.StackResourceSummaries {
			if aws.ToString(r.ResourceType) == "AWS::CloudWatch::Alarm" && aws.ToString(r.PhysicalResourceId) != "" {
				found[aws.ToString(r.PhysicalResourceId)] = aws.ToString(r.LogicalResourceId)
			}
		}
	}
	return found, nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

package webhook

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// maxStack bounds the stack that a log line carries: the first frames name the line that panicked, and a line of CloudWatch
// Logs holds 256 KB.
const maxStack = 4 << 10

// crashError is a panic, on its way to a 500.
type crashError struct {
	value any
	stack []byte
}

// crash takes a recovered value. It is called by the deferred function itself, so that the stack is still the panic's.
func crash(value any) *crashError {
	stack := debug.Stack()
	return &crashError{value: value, stack: stack[:min(len(stack), maxStack)]}
}

// Error names the panic and where it happened. The value of a panic may hold anything, a part of the request included, so
// only the text of the runtime's own errors is shown.
func (c *crashError) Error() string {
	what := fmt.Sprintf("panic with a %T", c.value)
	if err, ok := c.value.(runtime.Error); ok {
		what = "panic: " + err.Error()
	}
	return what + "\n" + string(c.stack)
}

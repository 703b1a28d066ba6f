package s3_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// The suite says what Custody relies on, through the real SDK over HTTP. It runs against the local
// engine, or, with CUSTODY_TEST_S3_ENDPOINT set, against the engine there, whose known differences are
// looked up under CUSTODY_TEST_S3_ENGINE.
const (
	endpointVariable = "CUSTODY_TEST_S3_ENDPOINT"
	engineVariable   = "CUSTODY_TEST_S3_ENGINE"
	localEngine      = "local"
)

// promise is one thing that S3 does and Custody relies on.
type promise struct {
	sentence string
	// clock says that the promise can only be judged where the engine's clock can be set.
	clock bool
	// kept returns what differs from S3, nil for nothing.
	kept func(t testing.TB, s *store) error
}

// chapters are the promises by subject.
func chapters() map[string][]promise {
	return map[string][]promise{
		"buckets":  bucketPromises(),
		"order":    orderPromises(),
		"paging":   pagingPromises(),
		"markers":  markerPromises(),
		"keys":     keyPromises(),
		"deletes":  deletePromises(),
		"null":     nullPromises(),
		"objects":  objectPromises(),
		"tags":     tagPromises(),
		"lock":     lockPromises(),
		"refusals": refusalPromises(),
	}
}

// engine is the name of the engine under test.
func engine() string {
	if os.Getenv(endpointVariable) == "" {
		return localEngine
	}
	return os.Getenv(engineVariable)
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	for chapter, promises := range chapters() {
		t.Run(chapter, func(t *testing.T) {
			t.Parallel()
			for _, p := range promises {
				t.Run(p.sentence, func(t *testing.T) {
					t.Parallel()
					judge(t, p)
				})
			}
		})
	}
}

// judge runs one promise. A known difference is run as well and must still be one.
func judge(t *testing.T, p promise) {
	t.Helper()
	s := openStore(t)
	if p.clock && s.clock == nil {
		t.Skip("the clock of this engine cannot be set")
	}
	known, listed := differences()[engine()][p.sentence]
	err := try(t, p, s)
	switch {
	case listed && err == nil:
		t.Errorf("%s keeps this promise now, so its listing as a known difference is stale: %s", engine(), known.reason)
	case listed:
		t.Logf("known difference of %s: %s (%s)\n%v", engine(), known.reason, known.source, err)
	case err != nil:
		t.Error(err)
	}
}

// trial is the test as a promise sees it: what ends the promise does not yet end the test, because a
// known difference may show in the middle of the preparations.
type trial struct{ testing.TB }

// stopped is a promise that ended early.
type stopped struct{ err error }

// Fatalf ends the promise.
func (t trial) Fatalf(format string, args ...any) { panic(stopped{fmt.Errorf(format, args...)}) }

// try runs one promise and returns what differs, also when it ended early.
func try(t *testing.T, p promise, s *store) (err error) {
	defer func() {
		if r := recover(); r != nil {
			early, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			err = early.err
		}
	}()
	return p.kept(trial{t}, s)
}

func TestKnownDifferencesNamePromises(t *testing.T) {
	t.Parallel()
	sentences := map[string]bool{}
	for _, promises := range chapters() {
		for _, p := range promises {
			if sentences[p.sentence] {
				t.Errorf("two promises are called %q", p.sentence)
			}
			sentences[p.sentence] = true
		}
	}
	for name, list := range differences() {
		for sentence, d := range list {
			if !sentences[sentence] {
				t.Errorf("%s: no promise is called %q", name, sentence)
			}
			if d.reason == "" {
				t.Errorf("%s: %q is listed without a reason", name, sentence)
			}
		}
	}
}

// differ is cmp.Diff as an error.
func differ(what string, want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", what, diff)
	}
	return nil
}

// code is the error code of an answer, or the empty string for success. A HEAD has no body to hold a
// code, so the SDK makes one of the status.
func code(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return "no S3 error: " + err.Error()
	}
	return api.ErrorCode()
}

// refused is nil when err has the code.
func refused(t testing.TB, what, want string, err error) error {
	t.Helper()
	return differ("the error of "+what, want, code(t, err))
}

// first is the first error of several checks, so that a promise reads as a list.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// bucketName is unique within this process and, by the process id, on a shared engine.
func bucketName(t testing.TB, n int) string {
	t.Helper()
	return strings.ToLower(fmt.Sprintf("custody-%d-%d", os.Getpid(), n))
}

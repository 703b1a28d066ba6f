package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"custody/internal/deployed"
	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/producer"

	"github.com/spf13/cobra"
)

// sendFlags are the flags of `custody send`.
type sendFlags struct {
	delivery         deliveryFlags
	url              string
	tries            int
	within, patience time.Duration
	asJSON           bool

	wait     bool          // follow the run
	enough   time.Duration // to wait; 0: no limit
	tables   tableFlags
	watch    watchFlags
	expected int64
}

func newSend() *cobra.Command {
	var flags sendFlags
	cmd := &cobra.Command{
		Use:   "send (--body FILE | --type TYPE ...)",
		Short: "Sign a delivery and send it, again where that helps, and say what the answer means",
		Long: `send is a producer's whole side: it signs a delivery, sends it, and says what the answer means. After a 503, a 429,
another 5xx, a time-out or a broken connection it sends the same delivery again, signed with a fresh timestamp, and
waits at least as long as the answer's Retry-After says.

204 means that the command is written down durably, not that anything is cleaned up. --wait follows the run until it
is at rest, with a bar on a terminal and a line now and then elsewhere; it reads the inbox table, so --table or
CUSTODY_TABLE must name it. Ctrl-C ends the wait and not the run, and so does --wait-within; custody show --watch
follows it again.

` + keyWords + `

Exit codes: 0 acknowledged, with --wait: done; 1 not acknowledged, or nobody knows, with --wait: not done, or not yet;
2 usage; 3 with --wait: the table does not have the delivery; 4 conflict: the delivery id or the run stands for
something else already.`,
		Example: `  custody send --type cleanup.run --run-id r-1 --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z
  custody send --type listing.expire --listing-id 4821 --generation 1 --expired-at 2026-08-30T00:00:00Z
  custody send --type cleanup.run --run-id r-2 --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z --wait
  custody send --body delivery.json --delivery-id d-1 --tries 1`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.send(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.url, "url", "", "`URL` of the stack's webhook, path included (default: the stack's, else "+urlVariable+")")
	flags.delivery.add(cmd)
	f.IntVar(&flags.tries, "tries", 6, "send at most `N` times")
	f.DurationVar(&flags.within, "within", 2*time.Minute, "begin no try later than this `TIME` after the first")
	f.DurationVar(&flags.patience, "timeout", 10*time.Second, "wait this `TIME` for each answer")
	f.BoolVar(&flags.wait, "wait", false, "follow the run until it has ended or waits for an operator")
	f.DurationVar(&flags.enough, "wait-within", 0, "with --wait, wait no longer than this `TIME` (default: as long as it takes)")
	f.DurationVar(&flags.watch.every, "every", time.Second, "with --wait, look again after this `TIME`")
	addExpect(cmd, &flags.expected)
	flags.tables.addInbox(cmd)
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func (f *sendFlags) send(cmd *cobra.Command) error {
	target, err := f.target(cmd)
	if err != nil {
		return err
	}
	if f.tries < 1 || f.within < 0 || f.patience <= 0 {
		return usagef("--tries must be 1 or more, --within 0s or more, --timeout above 0s")
	}
	s, _, err := f.delivery.read(cmd, time.Now())
	if err != nil {
		return err
	}
	stack, err := f.stackToWaitFor(cmd)
	if err != nil {
		return err
	}
	sender := producer.Sender{
		Signer: s.Signer, URL: target, Tries: f.tries, Within: f.within, Patience: f.patience,
		OnWait: func(n int, t producer.Try, wait time.Duration) {
			fmt.Fprintf(cmd.ErrOrStderr(), "custody: try %d: %s; again in %s\n", n, printable(t.String()), wait.Round(time.Second))
		},
	}
	r, err := sender.Send(cmd.Context(), s.Delivery)
	if err != nil {
		return fmt.Errorf("%w; whether delivery %s was written down is not known: send it again with --delivery-id %s", err, s.ID, s.ID)
	}
	if err := writeResult(cmd.OutOrStdout(), s, r, f.asJSON); err != nil {
		return err
	}
	if !r.Acknowledged() {
		return &unacknowledgedError{s.ID, r}
	}
	if f.wait {
		return f.follow(cmd, stack, s.ID)
	}
	return nil
}

// stackToWaitFor connects before anything is sent: who cannot wait is told so at once.
func (f *sendFlags) stackToWaitFor(cmd *cobra.Command) (*session, error) {
	switch {
	case f.enough < 0:
		return nil, usagef("--wait-within is %s, it must not be negative", f.enough)
	case f.enough > 0 && !f.wait:
		return nil, usagef("--wait-within says how long --wait waits: give both")
	case !f.wait:
		return nil, nil
	}
	if err := f.watch.check(); err != nil {
		return nil, err
	}
	if f.expected < 0 {
		return nil, usagef("--expect is %d, it must not be negative", f.expected)
	}
	return open(cmd.Context(), &f.tables, (*tableFlags).inboxTable)
}

// follow waits for the end of the run that the delivery stands for.
func (f *sendFlags) follow(cmd *cobra.Command, s *session, deliveryID string) error {
	out := cmd.OutOrStdout()
	found, err := s.RunOf(cmd.Context(), deliveryID)
	if none, ok := errors.AsType[*operator.NoRunError](err); ok {
		if !f.asJSON {
			fmt.Fprintln(out)
		}
		return writeDelivery(out, none.Delivery, s.Now(), f.asJSON)
	}
	if isA[*operator.NotFoundError](err) {
		return fmt.Errorf("the delivery is acknowledged, but is this the table of the stack at the URL? %w", s.explain(err))
	}
	if err != nil {
		return s.explain(err)
	}
	run := found.Run
	ctx, cancel := waiting(cmd.Context(), f.enough)
	defer cancel()
	if f.asJSON {
		run, err = s.follow(ctx, f.watch, cmd.ErrOrStderr(), run, func(inbox.Run) error { return nil })
	} else {
		run, err = s.followShown(ctx, f.watch, out, cmd.ErrOrStderr(), run, f.expected)
	}
	if err != nil {
		return err
	}
	if err := f.writeEnd(cmd, s, operator.Found{Run: run}); err != nil {
		return err
	}
	return ended(ctx, run)
}

func (f *sendFlags) writeEnd(cmd *cobra.Command, s *session, found operator.Found) error {
	switch {
	case !atRest(found.Run):
		return nil
	case f.asJSON:
		return s.write(cmd, found, true)
	}
	fmt.Fprintln(cmd.OutOrStdout(), printable(outcomeOf(found.Run)))
	return nil
}

// target is the URL, which must be one that can be posted to. The stack is asked for it only where nothing else names it, or
// where the command line names the stack: a producer has no AWS credentials.
func (f *sendFlags) target(cmd *cobra.Command) (string, error) {
	stack := &f.tables.stack
	if f.url != "" || stack.name() == "" || stack.given == "" && os.Getenv(urlVariable) != "" {
		return postable(firstOf(f.url, os.Getenv(urlVariable)))
	}
	c, err := connect(cmd.Context())
	if err != nil {
		return "", err
	}
	if err := stack.load(cmd.Context(), c); err != nil {
		return "", err
	}
	url, _, err := stack.value(urlVariable, deployed.OutputURL)
	if err != nil {
		return "", err
	}
	return postable(url)
}

func postable(given string) (string, error) {
	if given == "" {
		return "", usagef("where to? Give --url, or set %s; a stack's output Url has it, and a local stack's env file: . ./local.env", urlVariable)
	}
	u, err := url.Parse(given)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", usagef("%q is no URL to post to: --url or %s must be like https://abc.lambda-url.eu-central-1.on.aws/", given, urlVariable)
	}
	return given, nil
}

// unacknowledgedError is a delivery that has no 204.
type unacknowledgedError struct {
	deliveryID string
	result     producer.Result
}

func (e *unacknowledgedError) Error() string {
	words := fmt.Sprintf("delivery %s is not acknowledged: %s", e.deliveryID, e.result.Try)
	switch again := "send it again with --delivery-id " + e.deliveryID; {
	case e.result.Stop == "":
		return words
	case e.result.Outcome == inbox.OutcomeNotDue:
		return fmt.Sprintf("%s; %s, so %s when it is due", words, e.result.Stop, again)
	default:
		return fmt.Sprintf("%s; %s, and whether it was written down is not known: %s", words, e.result.Stop, again)
	}
}

// conflict reports that the receiver has something else under the delivery's id, or under the run's.
func (e *unacknowledgedError) conflict() bool { return e.result.Status == http.StatusConflict }

// isConflict is for the exit code.
func isConflict(err error) bool {
	e, ok := errors.AsType[*unacknowledgedError](err)
	return ok && e.conflict()
}

// resultLine is a sent delivery as JSON.
type resultLine struct {
	DeliveryID   string        `json:"delivery_id"`
	Acknowledged bool          `json:"acknowledged"`
	Status       int           `json:"status,omitempty"`
	Outcome      inbox.Outcome `json:"outcome,omitempty"`
	Problem      string        `json:"problem,omitempty"` // why there was no answer
	Tries        int           `json:"tries"`
	Means        string        `json:"means,omitempty"`
	Do           string        `json:"do,omitempty"`
	Clock        string        `json:"clock,omitempty"`
}

func writeResult(w io.Writer, s signing, r producer.Result, asJSON bool) error {
	line := resultLine{
		DeliveryID: s.ID, Acknowledged: r.Acknowledged(), Status: r.Status, Outcome: r.Outcome, Tries: r.Tries,
		Means: r.Means, Do: r.Do, Clock: clock(r.Try),
	}
	if r.Err != nil {
		line.Problem, line.Do = r.Err.Error(), "look at the URL and the network, then send again"
	}
	if asJSON {
		return jsonLine(w, line)
	}
	out := sheet{out: w, width: widthOf(w)}
	out.put("Delivery", s.ID)
	out.put("Answer", fmt.Sprintf("%s, at try %d", r.Try, r.Tries))
	out.put("Means", line.Means)
	out.put("Do", line.Do)
	out.put("Clock", line.Clock)
	return nil
}

// clockOff is from where on a clock is worth a word, far below the window of 300 s and far above a slow network.
const clockOff = 30 * time.Second

// clock tells of a clock that may be the reason for a 401.
func clock(t producer.Try) string {
	if t.Status != http.StatusUnauthorized || t.Ahead.Abs() < clockOff {
		return ""
	}
	word := "ahead of"
	if t.Ahead < 0 {
		word = "behind"
	}
	return fmt.Sprintf("this machine's clock is %s %s the receiver's", t.Ahead.Abs(), word)
}

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// keyWords stand in the help of both commands.
const keyWords = `The key comes from CUSTODY_SIGNING_KEY or from a file, never from a flag, and is never printed. The scheme must be the
stack's own: --scheme or CUSTODY_SIGNATURE_SCHEME, else timestamped.`

func newSign() *cobra.Command {
	var flags deliveryFlags
	var at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sign (--body FILE | --type TYPE ...)",
		Short: "Sign a delivery and print its headers",
		Long: `sign signs a body and prints the headers of the request, as arguments of curl, one a line and quoted for a shell or for
xargs. A body that was built from flags is printed as well, since nobody has it otherwise. With the timestamp of a
captured request it tells what the signature should have been.

` + keyWords + `

Exit codes: 0 signed, 1 failed, 2 usage.`,
		Example: `  custody sign --body delivery.json | xargs curl -i "$CUSTODY_URL" --data-binary @delivery.json
  custody sign --body - --delivery-id d-1 --timestamp 1790000000 --json < delivery.json
  custody sign --type cleanup.run --run-id r-1 --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			when, err := signingTime(at)
			if err != nil {
				return err
			}
			s, headers, err := flags.read(cmd, when)
			if err != nil {
				return err
			}
			return writeHeaders(cmd.OutOrStdout(), s, headers, asJSON)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&at, "timestamp", "", "`TIME` to sign for, in Unix seconds or RFC 3339 (default: now)")
	addJSON(cmd, &asJSON)
	return cmd
}

func signingTime(given string) (time.Time, error) {
	if given == "" {
		return time.Now(), nil
	}
	if seconds, err := strconv.ParseInt(given, 10, 64); err == nil {
		return time.Unix(seconds, 0), nil
	}
	at, err := time.Parse(time.RFC3339, given)
	if err != nil {
		return at, usagef("--timestamp is %q, it must be Unix seconds in 10 digits, or an RFC 3339 time such as 2026-08-30T00:00:00Z", given)
	}
	return at, nil
}

// signedLine is a signed delivery as JSON. The body stands in it only when the flags made it.
type signedLine struct {
	DeliveryID string            `json:"delivery_id"`
	Scheme     string            `json:"scheme"`
	KeyID      string            `json:"key_id,omitempty"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body,omitempty"`
}

func writeHeaders(w io.Writer, s signing, headers map[string]string, asJSON bool) error {
	line := signedLine{DeliveryID: s.ID, Scheme: s.scheme, KeyID: s.keyID, Headers: headers}
	if s.built {
		line.Body = string(s.Body)
	}
	if asJSON {
		return jsonLine(w, line)
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(w, "-H %s\n", quoted(name+": "+headers[name]))
	}
	if s.built {
		fmt.Fprintf(w, "--data-binary %s\n", quoted(line.Body))
	}
	return nil
}

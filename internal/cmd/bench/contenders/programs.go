package contenders

import (
	"fmt"
	"os"
	"path/filepath"
)

// Programs are what the Makefile builds.
type Programs struct{ Cleanup, BareLoop, BareLambda, Webhook, Sweeper string }

// FindPrograms looks for what was built: the functions as FUNCTIONS/NAME/bootstrap, the rest in a folder of its own.
func FindPrograms(functions, own string) (Programs, error) {
	p := Programs{
		Cleanup:    filepath.Join(functions, "cleanup", "bootstrap"),
		Webhook:    filepath.Join(functions, "webhook", "bootstrap"),
		Sweeper:    filepath.Join(functions, "sweeper", "bootstrap"),
		BareLoop:   filepath.Join(own, "bareloop"),
		BareLambda: filepath.Join(own, "barelambda"),
	}
	for _, path := range []*string{&p.Cleanup, &p.Webhook, &p.Sweeper, &p.BareLoop, &p.BareLambda} {
		absolute, err := filepath.Abs(*path)
		if err == nil {
			_, err = os.Stat(absolute)
		}
		if err != nil {
			return Programs{}, fmt.Errorf("a program is not built, which make bench does: %w", err)
		}
		*path = absolute
	}
	return p, nil
}

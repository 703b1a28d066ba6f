package retention

import "time"

// Row is a hold with everything that its row in the holds table says: besides what the decision reads, who placed it and why.
type Row struct {
	Hold
	Note string
	By   string
	// CreatedAt is when this package's tool wrote the row; zero for a row of another system, which need not say.
	CreatedAt time.Time
	// Problem says why the row could not be understood. It then holds its whole scope, see ReasonUnreadableHold.
	Problem string
}

# Makes one line of each known difference and each skipped check in the output of `go test -v`, and counts the rest.
# Parallel tests take turns in that output; "=== NAME" and its kin say whose turn it is.

/^=== (RUN|CONT|NAME) / { turn = $3; next }

/^ *[a-zA-Z0-9_]+_test\.go:[0-9]+: / {
	message = $0
	sub(/^ *[^ ]+: /, "", message)
	sub(/; seen now: .*/, "", message)
	said[turn] = message
	if (message ~ /^known difference of /) {
		differs[turn] = 1
		print "  " readable(turn) ": " message
	}
	next
}

/^ *--- SKIP: / { if (!($3 in differs)) { skipped++; print "  " readable($3) ": skipped, " ($3 in said ? said[$3] : "without a reason") }; next }
/^ *--- PASS: / { passed[$3] = 1; next }
/^(ok|FAIL)[ \t]/ { last = $0 }

END {
	count = 0
	for (name in passed) { # of a test with subtests only these are checks
		parent = 0
		for (other in passed) if (index(other, name "/") == 1) { parent = 1; break }
		if (!parent && !(name in differs)) count++
	}
	known = 0
	for (name in differs) known++
	printf "  %d checks hold, %d are known differences, %d are skipped\n", count, known, skipped
	print last
}

function readable(name) { gsub("_", " ", name); sub(/^TestProtocol\//, "", name); return name }

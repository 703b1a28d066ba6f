package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custody/internal/command"
	"custody/internal/config"
	"custody/internal/deployed"
	"custody/internal/producer"

	"github.com/spf13/cobra"
)

// cleanBucket is the bucket that is cleaned up, and what a plan asks of it.
func cleanBucket() bucketKind {
	return bucketKind{kind: "bucket to clean", flag: "bucket", variable: "CUSTODY_BUCKET", output: deployed.OutputBucket,
		mayDo: "the reading half of the cleanup function's role (s3:GetBucketVersioning, s3:GetBucketObjectLockConfiguration, " +
			"s3:ListBucketVersions, s3:GetObjectVersionTagging, and for locks s3:GetObjectRetention and s3:GetObjectLegalHold)"}
}

// planFlags are the flags of `custody plan`.
type planFlags struct {
	tables      tableFlags
	bucket      bucketFlags
	commandType string
	fields      map[string]*string // by the field's name in the payload
	settings    map[string]*string // by the variable
	asJSON      bool
}

// planSettings are the stack's settings that a plan depends on beside its bucket and table.
func planSettings() []string {
	return []string{"CUSTODY_WAREHOUSE_PREFIXES", "CUSTODY_LISTING_PREFIXES", "CUSTODY_CHECK_TAGS", "CUSTODY_MIN_OBJECT_AGE"}
}

// needless are the fields that a command has and a plan does without: they name a run, and do not select.
func needless() map[string]string { return map[string]string{"run_id": "plan", "generation": "1"} }

func (f *planFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.commandType, "type", "", "plan for this command `TYPE`: "+strings.Join(command.RunTypes(), ", "))
	f.fields, f.settings = map[string]*string{}, map[string]*string{}
	for _, commandType := range command.RunTypes() {
		for _, field := range producer.Fields(commandType) {
			note := field.Means
			if _, optional := needless()[field.Name]; optional {
				note = "taken as in custody send, and changes nothing here"
			}
			f.fields[field.Name] = flags.String(flagName(field.Name), "", fmt.Sprintf("%s: `%s`, %s", commandType, field.Form, note))
		}
	}
	f.bucket.add(cmd)
	f.tables.addHolds(cmd)
	for _, variable := range planSettings() {
		setting, _ := config.Lookup(variable)
		f.settings[variable] = flags.String(settingFlag(variable), "", fmt.Sprintf("`VALUE` of that setting (default: the stack's, else %s,\nelse %s)", variable, setting.Default))
	}
	addJSON(cmd, &f.asJSON)
	flags.SortFlags = false // a command's fields stay together
}

// settingFlag is a setting as a flag: --check-tags for CUSTODY_CHECK_TAGS.
func settingFlag(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, config.Prefix)), "_", "-")
}

// setting is what the flag says, else the stack or the environment, else what a stack has where nothing is said.
func (f *planFlags) setting(variable string) (string, error) {
	setting, _ := config.Lookup(variable)
	value := firstOf(*f.settings[variable], f.tables.stack.setting(variable), setting.Default)
	if err := config.Check(variable, value); err != nil {
		return "", usagef("--%s: %w", settingFlag(variable), err)
	}
	return value, nil
}

// body is the payload that a producer would send.
func (f *planFlags) body() ([]byte, error) {
	if f.commandType == "" {
		return nil, usagef("which command? Give --type, one of %s, with its fields", strings.Join(command.RunTypes(), ", "))
	}
	if !slices.Contains(command.RunTypes(), f.commandType) {
		return nil, usagef("--type is %q; a plan is for a command that selects objects: %s", f.commandType, strings.Join(command.RunTypes(), ", "))
	}
	values := map[string]string{}
	for _, field := range producer.Fields(f.commandType) {
		values[field.Name] = firstOf(*f.fields[field.Name], needless()[field.Name])
	}
	if err := f.strangers(values); err != nil {
		return nil, err
	}
	return build(f.commandType, values)
}

// command is what the webhook makes of the payload, by its own code.
func (f *planFlags) command(body []byte, bucket string) (command.Command, error) {
	settings, err := f.stack(bucket)
	if err != nil {
		return command.Command{}, err
	}
	decoder, err := command.NewDecoder(settings)
	if err != nil {
		return command.Command{}, usagef("%w", err)
	}
	return decoder.Decode(body)
}

// strangers refuses a field of another command: whoever gave it believes that it counts.
func (f *planFlags) strangers(values map[string]string) error {
	for name, given := range f.fields {
		if _, own := values[name]; !own && *given != "" {
			return usagef("--%s must be left out of %s", flagName(name), f.commandType)
		}
	}
	return nil
}

// stack is what the stack adds to the fields.
func (f *planFlags) stack(bucket string) (command.Settings, error) {
	given := map[string]string{}
	for _, variable := range planSettings() {
		value, err := f.setting(variable)
		if err != nil {
			return command.Settings{}, err
		}
		given[variable] = value
	}
	age, err := time.ParseDuration(given["CUSTODY_MIN_OBJECT_AGE"])
	if err != nil {
		return command.Settings{}, usagef("--%s: %w", settingFlag("CUSTODY_MIN_OBJECT_AGE"), err)
	}
	return command.Settings{
		Accepted: []string{f.commandType}, Bucket: bucket, MinObjectAge: age,
		WarehousePrefixes: strings.Split(given["CUSTODY_WAREHOUSE_PREFIXES"], ","), ListingPrefixes: strings.Split(given["CUSTODY_LISTING_PREFIXES"], ","),
	}, nil
}

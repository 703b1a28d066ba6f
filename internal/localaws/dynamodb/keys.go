package dynamodb

// Limits of items and keys (developer guide, "Quotas").
const (
	maxItem      = 400 << 10
	maxPartition = 2048
	maxSort      = 1024
	maxDepth     = 32 // levels of an attribute, the innermost value included
)

// keyCode checks a Key parameter: exactly the key attributes, each of its type, none empty.
func (t *table) keyCode(key attributes) (string, error) {
	if len(key) != len(t.keys.all()) {
		return "", invalid("The provided key element does not match the schema")
	}
	for _, a := range t.keys.all() {
		if v, ok := key[a.name]; !ok || v.kind != a.kind {
			return "", invalid("The provided key element does not match the schema")
		}
	}
	return t.keys.code(key), t.keys.checkSizes(key)
}

// itemCode checks the key within an item that is put.
func (t *table) itemCode(item attributes) (string, error) {
	for _, a := range t.keys.all() {
		v, ok := item[a.name]
		switch {
		case !ok:
			return "", badParameter("Missing the key %s in the item", a.name)
		case v.kind != a.kind:
			return "", badParameter("Type mismatch for key %s expected: %s actual: %s", a.name, a.kind, v.kind)
		}
	}
	return t.keys.code(item), t.keys.checkSizes(item)
}

// checkSizes refuses empty and overlong key values.
func (k keySchema) checkSizes(item attributes) error {
	for i, a := range k.all() {
		v := item[a.name]
		if v.kind != kindNumber && v.text == "" {
			return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s",
				emptyWord(v.kind), a.name)
		}
		what, most := "hashkey", maxPartition
		if i > 0 {
			what, most = "rangekey", maxSort
		}
		if len(v.text) > most {
			return badParameter("Size of %s has exceeded the maximum size limit of %d bytes", what, most)
		}
	}
	return nil
}

func emptyWord(k kind) string {
	if k == kindBinary {
		return "binary"
	}
	return "string"
}

// checkItem checks an item as it would be stored. Put and update have different words for the same limits.
func (t *table) checkItem(item attributes, updated bool) error {
	for _, v := range item {
		if v.depth() > maxDepth {
			return invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
		}
	}
	if item.size() > maxItem {
		if updated {
			return invalid("Item size to update has exceeded the maximum allowed size")
		}
		return invalid("Item size has exceeded the maximum allowed size")
	}
	for _, x := range t.indexes {
		if err := x.check(item, updated); err != nil {
			return err
		}
	}
	return nil
}

// check refuses an item whose index key attribute cannot be one; an absent one only keeps it out of the index.
func (x *index) check(item attributes, updated bool) error {
	for _, a := range x.keys.all() {
		v, ok := item[a.name]
		switch {
		case !ok:
		case v.kind != a.kind && updated:
			return invalid("The update expression attempted to update the secondary index key to unsupported type")
		case v.kind != a.kind:
			return badParameter("Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", a.name, a.kind, v.kind, x.name)
		case v.kind != kindNumber && v.text == "":
			return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
				"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", emptyWord(v.kind), x.name, a.name)
		}
	}
	return nil
}

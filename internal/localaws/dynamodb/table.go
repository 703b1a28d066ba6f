package dynamodb

import "time"

// table is one table with its rows, indexes and stream.
type table struct {
	name        string
	id          string
	created     time.Time
	definitions []attributeDefinition
	keys        keySchema
	rows        sorted
	bytes       int
	indexes     []*index
	stream      *stream // nil without one
	ttl         string  // attribute name; "" when the time to live is off
	protected   bool
	billing     string
	capacity    *throughput
}

// index is a global secondary index, kept in step with its table.
type index struct {
	name       string
	keys       keySchema
	projection projection
	projected  map[string]bool // nil when everything is
	rows       sorted
	bytes      int
	capacity   *throughput
}

// rowCode is the place of an item in the index: by index key, then by primary key, since index keys need not be unique.
func (x *index) rowCode(primary string, item attributes) string { return x.keys.code(item) + primary }

// project is what the index keeps of an item.
func (x *index) project(item attributes) attributes {
	if x.projected == nil {
		return item
	}
	out := attributes{}
	for name, v := range item {
		if x.projected[name] {
			out[name] = v
		}
	}
	return out
}

func (t *table) arn() string {
	return "arn:aws:dynamodb:" + region + ":" + account + ":table/" + t.name
}

func (x *index) arn(t *table) string { return t.arn() + "/index/" + x.name }

// index finds an index by name.
func (t *table) index(name string) (*index, error) {
	for _, x := range t.indexes {
		if x.name == name {
			return x, nil
		}
	}
	return nil, invalid("The table does not have the specified index: %s", name)
}

// get reads the item under a key code; absent items are nil.
func (t *table) get(code string) attributes {
	r, _ := t.rows.get(code)
	return r.item
}

// store makes item the one under code, in the table and every index; a nil item removes what is there.
func (t *table) store(code string, item attributes) {
	before, had := t.rows.get(code)
	for _, x := range t.indexes {
		x.move(code, before.item, item)
	}
	if had {
		t.bytes -= before.size
	}
	if item == nil {
		t.rows.remove(code)
		return
	}
	r := row{code: code, item: item, size: item.size()}
	t.bytes += r.size
	t.rows.put(r)
}

// move takes the old row out of the index and puts the new one in; items without the index's key attributes have none.
func (x *index) move(primary string, before, now attributes) {
	if before != nil && x.keys.complete(before) {
		old := x.rowCode(primary, before)
		r, _ := x.rows.get(old)
		x.bytes -= r.size
		x.rows.remove(old)
	}
	if now != nil && x.keys.complete(now) {
		item := x.project(now)
		r := row{code: x.rowCode(primary, now), item: item, size: item.size()}
		x.bytes += r.size
		x.rows.put(r)
	}
}

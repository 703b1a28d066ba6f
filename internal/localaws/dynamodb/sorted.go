package dynamodb

import (
	"iter"
	"slices"
	"sort"
	"strings"
)

// maxBlock bounds a block of rows. Inserting moves half a block and half the list of blocks on average: with 512 that
// is a few microseconds at a hundred thousand rows, where one long slice would move all of it.
const maxBlock = 512

// row is one item under its key code, with its size so that pages need not measure it again.
type row struct {
	code string
	item attributes
	size int
}

// sorted keeps rows in order of their codes, in blocks that are never empty. The zero value is empty.
type sorted struct {
	blocks [][]row
	length int
}

// span is a half-open range of codes. An empty upper bound means no bound.
type span struct{ from, to string }

// find returns block and place of a code, or where it belongs.
func (s *sorted) find(code string) (block, place int, found bool) {
	block = sort.Search(len(s.blocks), func(i int) bool {
		b := s.blocks[i]
		return b[len(b)-1].code >= code
	})
	if block == len(s.blocks) {
		return block, 0, false
	}
	place, found = slices.BinarySearchFunc(s.blocks[block], code, func(r row, c string) int { return strings.Compare(r.code, c) })
	return block, place, found
}

func (s *sorted) get(code string) (row, bool) {
	block, place, found := s.find(code)
	if !found {
		return row{}, false
	}
	return s.blocks[block][place], true
}

// put inserts a row or replaces the one with its code.
func (s *sorted) put(r row) {
	block, place, found := s.find(r.code)
	if found {
		s.blocks[block][place] = r
		return
	}
	s.length++
	if block == len(s.blocks) { // above every row: the last block takes it
		if block == 0 {
			s.blocks = [][]row{{r}}
			return
		}
		block--
		place = len(s.blocks[block])
	}
	s.blocks[block] = slices.Insert(s.blocks[block], place, r)
	if b := s.blocks[block]; len(b) > maxBlock {
		half := len(b) / 2
		s.blocks = slices.Insert(s.blocks, block+1, slices.Clone(b[half:]))
		s.blocks[block] = slices.Delete(b, half, len(b))
	}
}

func (s *sorted) remove(code string) {
	block, place, found := s.find(code)
	if !found {
		return
	}
	s.length--
	s.blocks[block] = slices.Delete(s.blocks[block], place, place+1)
	if len(s.blocks[block]) == 0 {
		s.blocks = slices.Delete(s.blocks, block, block+1)
	}
}

// up walks the rows of a span in ascending order, down in descending order. Neither may be used while rows change.
func (s *sorted) up(in span) iter.Seq[row] {
	return func(yield func(row) bool) {
		block, place, _ := s.find(in.from)
		for ; block < len(s.blocks); block, place = block+1, 0 {
			for _, r := range s.blocks[block][place:] {
				if in.to != "" && r.code >= in.to || !yield(r) {
					return
				}
			}
		}
	}
}

func (s *sorted) down(in span) iter.Seq[row] {
	return func(yield func(row) bool) {
		block, end := len(s.blocks), 0
		if in.to != "" {
			block, end, _ = s.find(in.to)
		}
		for {
			for ; end > 0; end-- {
				if r := s.blocks[block][end-1]; r.code < in.from || !yield(r) {
					return
				}
			}
			if block--; block < 0 {
				return
			}
			end = len(s.blocks[block])
		}
	}
}

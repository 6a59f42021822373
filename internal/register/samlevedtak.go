package register

import (
	"time"
)

// samling is the id of a combined decision; 0 for none. The first ones are about the names of towns, one per county.
// Each of the others is about names of one kind and one county in a block of blockSize consecutive places, so that only
// one block has to be kept in memory.
type samling int64

const blockSize = 20_000

// fylkeCount is the number of counties for which ids of combined decisions have room.
const fylkeCount = 20

// townDecision returns the combined decision on the names of towns in a county.
func townDecision(fylke int) samling { return samling(fylke + 1) }

// samlingOf returns the combined decision on places of the same block, county and kind; fylke is the county's index.
func samlingOf(block, fylke int, k kind) samling {
	return samling(1 + fylkeCount + (block*fylkeCount+fylke)*int(kinds) + int(k))
}

func (g *generator) samlevedtakTime(s samling) time.Time {
	src := source{mix(g.seed ^ uint64(s)<<20)}
	return day(src.moment(firstMoment.AddDate(2, 0, 0), lastMoment.AddDate(-2, 0, 0)))
}

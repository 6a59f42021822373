//go:build race

package placename_test

const raced = true

//go:build race

package soap_test

const raced = true

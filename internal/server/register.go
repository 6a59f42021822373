package server

import "grense/internal/store"

// SoapPath is the path of the place-name service below a mount.
const SoapPath = "/soap/stedsnavn/v1"

// HasRegister reports whether data have a place-name register.
func HasRegister(cat *store.Catalog) bool {
	coll, ok := cat.Collection("skrivemaate")
	return ok && len(coll.Relations) > 0
}

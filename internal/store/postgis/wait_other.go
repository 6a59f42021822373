//go:build !linux || !(amd64 || arm64)

package postgis

import "github.com/jackc/pgx/v5/pgconn"

func patient(dial pgconn.DialFunc) pgconn.DialFunc { return dial }

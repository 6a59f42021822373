module grense/internal/geo/locate/testdata/tzf

go 1.26.0

require (
	github.com/paulmach/orb v0.14.0
	github.com/ringsaturn/tzf v1.0.2
	grense v0.0.0
)

require (
	github.com/mitchellh/mapstructure v1.5.0 // indirect
	github.com/ringsaturn/tzf-rel-lite v0.0.2025-b2 // indirect
	github.com/tidwall/geoindex v1.7.0 // indirect
	github.com/tidwall/geojson v1.4.5 // indirect
	github.com/tidwall/rtree v1.10.0 // indirect
	github.com/twpayne/go-polyline v1.1.1 // indirect
	go.mongodb.org/mongo-driver/v2 v2.5.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace grense => ../../../../..

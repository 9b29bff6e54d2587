// Package testdata embeds what programs, too, read of testdata.
package testdata

import "embed"

// Thesis has the thesis's tables, thesis/*.json.
//
//go:embed thesis/*.json
var Thesis embed.FS //nolint:gochecknoglobals // the only form in which Go embeds files

package bench

import "slices"

// processorCell is a cell of `linklab bench --processor`, and what mlget is to take there at
// most.
type processorCell struct {
	cell
	title    string
	size     int64   // bytes, of one body
	cpu      float64 // goal: times the processor time that curl takes
	switches float64 // goal: times curl's voluntary switches; 0: none
}

// processorCells are all cells, in the order of the report. Their goals are the project's own.
func processorCells() []processorCell {
	const size = 100e6
	one := func(scenario, title string, size int64, t Transport, cpu, switches float64) processorCell {
		return processorCell{cell{scenario: scenario, transport: t}, title, size, cpu, switches}
	}
	return []processorCell{
		one("one-82", "one link of 82 Mbit/s", size, Clear, 0.7, 0.4),
		one("one-82", "one link of 82 Mbit/s", size, TLS1, 0.7, 0.6),
		one("one-82", "one link of 82 Mbit/s", size, TLS2, 0.7, 0.6),
		one("two-82-64", "two links of 82 and 64 Mbit/s", size, Clear, 0.8, 0.7),
		one("two-82-64", "two links of 82 and 64 Mbit/s", size, TLS1, 0.7, 0.6),
		one("two-82-64", "two links of 82 and 64 Mbit/s", size, TLS2, 0.7, 0.6),
		one("one-8", "one link of 8 Mbit/s", 10e6, Clear, 0.7, 0.5),
		one("one-300", "one link of 300 Mbit/s", 300e6, Clear, 0.7, 0.5),
		{cell{"sydney", "html/600", Clear}, "600 files of 130 KB, 61 Mbit/s, 290 ms", 0, 1, 0},
		one(loopback, "unshaped loopback", loopbackSize, Clear, 0.83, 0),
	}
}

// processorScenarios are those of the cells.
func processorScenarios() (names []string) {
	for _, p := range processorCells() {
		if !slices.Contains(names, p.scenario) {
			names = append(names, p.scenario)
		}
	}
	return names
}

// sizeIn is how large the body is in a scenario.
func (c Config) sizeIn(scenario string) int64 {
	if c.Processor {
		for _, p := range processorCells() {
			if p.scenario == scenario {
				return p.size
			}
		}
	}
	return c.Size
}

// toolsForFiles are the tools for many files in the place of those for one.
func (c Config) toolsForFiles() (tools []Tool) {
	seen := map[Family]bool{}
	for _, t := range c.Tools {
		if seen[t.Family] {
			continue
		}
		seen[t.Family] = true
		switch t.Family {
		case Mlget:
			tools = append(tools, Tool{Name: "mlget", Family: Mlget, Many: true})
		case Curl:
			tools = append(tools, Tool{Name: "curlz-50", Family: Curl, Variant: "50", Many: true})
		case Aria2:
			tools = append(tools, Tool{Name: "aria2-16", Family: Aria2, Variant: "16", Many: true})
		case Axel, CurlMPTCP, Wget, Wget2:
		}
	}
	return tools
}

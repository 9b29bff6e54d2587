package sim

import (
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/pkg/scheduler"
)

// What Chen, Yuan and Muntean tell of their simulation, and what had to be chosen.
const (
	chenSeconds = 150 // "Simulation time is 150 seconds"
	// A stream of 1 Mbit/s over one link, of 2 Mbit/s over two: MAX_Bitrate.
	chenMbps = 1.0
	// chenBuffer is the receive buffer of their equation 1, in bytes.
	chenBuffer = 2_550_000
	// What a link had left beside the other nodes' traffic is not told. These
	// make the shares of their case 3: their Table IV's energies and throughputs
	// come to 0.89 Mbit/s over WiFi and 1.06 over LTE, and at least 1.03 over
	// WiFi in case 4.
	chenWiFiMbps = 1.10
	chenLTEMbps  = chenWiFiMbps * 1.060 / 0.891
	chenWiFiRTT  = 20 * time.Millisecond
	chenLTERTT   = 60 * time.Millisecond
)

// ChenCase is one of the four cases of their Table IV: J/s and Mbit/s, theirs
// and the simulator's.
type ChenCase struct {
	Case        string  `json:"case"`
	PaperWatts  float64 `json:"paper_watts"`
	PaperMbps   float64 `json:"paper_mbps"`
	Watts       float64 `json:"watts"`
	Mbps        float64 `json:"mbps"`
	CostlyShare float64 `json:"lte_share"` // of the bytes
	JoulesPerMB float64 `json:"joules_per_mb"`
	PaperPerMB  float64 `json:"paper_joules_per_mb"`
}

// chenRadios spend per bit, as the simulator that they used has it: their cases 1
// and 2 give 0.052 J/s at 0.846 Mbit/s and 0.505 at 0.934.
func chenRadios() []energy.Radio {
	return []energy.Radio{
		{Name: "wifi-chen", Source: "Chen et al., Table IV, case 1", Down: 52 / 0.846 * scenario.Goodput},
		{Name: "lte-chen", Source: "Chen et al., Table IV, case 2", Down: 505 / 0.934 * scenario.Goodput},
	}
}

// chenConfig is the stream over both links.
func chenConfig(algorithm string, mode scheduler.EnergyMode) Config {
	cfg := Default(scenario.Scenario{Name: "chen", Links: []scenario.Link{
		{Name: "wlan0", DownMbps: chenWiFiMbps / scenario.Goodput, RTT: chenWiFiRTT},
		{Name: "rmnet0", DownMbps: chenLTEMbps / scenario.Goodput, RTT: chenLTERTT},
	}}, algorithm)
	cfg.Size = 2 * chenMbps * 1e6 / 8 * chenSeconds
	cfg.Window, cfg.Consume = chenBuffer, 2*chenMbps*1e6/8
	cfg.Energy = mode
	cfg.SetRadios(chenRadios())
	return cfg
}

// ChenCases rehearses the four cases with an algorithm.
func ChenCases(algorithm string) ([]ChenCase, error) {
	single := func(index int) Config {
		cfg := chenConfig(algorithm, scheduler.EnergyOff)
		cfg.Size /= 2
		cfg.Consume /= 2
		return cfg.alone(index)
	}
	cases := []struct {
		ChenCase
		cfg Config
	}{
		{ChenCase{Case: "WiFi", PaperWatts: 0.052, PaperMbps: 0.846}, single(0)},
		{ChenCase{Case: "LTE", PaperWatts: 0.505, PaperMbps: 0.934}, single(1)},
		{ChenCase{Case: "both", PaperWatts: 0.628, PaperMbps: 1.951}, chenConfig(algorithm, scheduler.EnergyOff)},
		{ChenCase{Case: "eMTCP", PaperWatts: 0.539, PaperMbps: 1.910}, chenConfig(algorithm, scheduler.EnergyEMTCP)},
	}
	out := make([]ChenCase, len(cases))
	for i, c := range cases {
		res, err := Run(c.cfg)
		if err != nil {
			return nil, err
		}
		megabytes := float64(res.SizeBytes) / 1e6
		c.Watts, c.Mbps = res.Energy.Joules/res.Consumed, megabytes*8/res.Consumed
		c.JoulesPerMB, c.PaperPerMB = res.Energy.Joules/megabytes, c.PaperWatts/c.PaperMbps*8
		c.CostlyShare = float64(res.Links[len(res.Links)-1].Bytes) / float64(res.SizeBytes)
		out[i] = c.ChenCase
	}
	return out, nil
}

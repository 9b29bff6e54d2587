package papers

import (
	"math"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
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
	// chenBattery is what a device's battery holds, in J (Table II).
	chenBattery = 300
)

// ChenShare is a share to offload, and what comes of it: their figure 4.
type ChenShare struct {
	Share       float64 // 0: no rule
	Watts       float64
	Mbps        float64
	PSNR        float64
	CostlyShare float64
	// FileSeconds and FileJoules are of a file that takes all that the links carry.
	FileSeconds float64
	FileJoules  float64
}

// MbitPerJoule is their energy efficiency.
func (s *ChenShare) MbitPerJoule() float64 { return s.Mbps / s.Watts }

// psnr is their equation 2, in dB, of a video of a bit rate that came at another
// one, both in Mbit/s.
func psnr(bitrate, got float64) float64 {
	return 20 * math.Log10(bitrate/math.Abs(bitrate-got))
}

// batteryHours is how long their battery lasts.
func batteryHours(watts float64) float64 { return chenBattery / watts / 3600 }

// ChenCase is one of the four cases of their Table IV: J/s and Mbit/s, theirs
// and the simulator's.
type ChenCase struct {
	Case        string
	PaperWatts  float64
	PaperMbps   float64
	Watts       float64
	Mbps        float64
	CostlyShare float64 // of the bytes
	PaperPSNR   float64
	PSNR        float64
	PaperHours  float64 // until 300 J are spent
	Hours       float64
	JoulesPerMB float64
	PaperPerMB  float64
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
func chenConfig(algorithm string, mode scheduler.EnergyMode) sim.Config {
	cfg := sim.Default(scenario.Scenario{Name: "chen", Links: []scenario.Link{
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
	single := func(index int) sim.Config {
		cfg := chenConfig(algorithm, scheduler.EnergyOff)
		cfg.Size /= 2
		cfg.Consume /= 2
		return cfg.Alone(index)
	}
	cases := []struct {
		ChenCase
		cfg sim.Config
	}{
		{ChenCase{Case: "WiFi", PaperWatts: 0.052, PaperMbps: 0.846, PaperPSNR: 16.274, PaperHours: 5769.23 / 3600}, single(0)},
		{ChenCase{Case: "LTE", PaperWatts: 0.505, PaperMbps: 0.934, PaperPSNR: 23.964, PaperHours: 594.06 / 3600}, single(1)},
		{ChenCase{Case: "both", PaperWatts: 0.628, PaperMbps: 1.951, PaperPSNR: 32.572, PaperHours: 477.71 / 3600}, chenConfig(algorithm, scheduler.EnergyOff)},
		{ChenCase{Case: "eMTCP", PaperWatts: 0.539, PaperMbps: 1.910, PaperPSNR: 27.029, PaperHours: 556.59 / 3600}, chenConfig(algorithm, scheduler.EnergyEMTCP)},
	}
	out := make([]ChenCase, len(cases))
	for i, c := range cases {
		res, err := sim.Run(c.cfg)
		if err != nil {
			return nil, err
		}
		megabytes := float64(res.SizeBytes) / 1e6
		c.Watts, c.Mbps = res.Energy.Joules/res.Consumed, megabytes*8/res.Consumed
		c.JoulesPerMB, c.PaperPerMB = res.Energy.Joules/megabytes, c.PaperWatts/c.PaperMbps*8
		c.PSNR, c.Hours = psnr(c.cfg.Consume*8e-6, c.Mbps), batteryHours(c.Watts)
		c.CostlyShare = float64(res.Links[len(res.Links)-1].Bytes) / float64(res.SizeBytes)
		out[i] = c.ChenCase
	}
	return out, nil
}

// chenShares are the shares of their figure 4.
func chenShares() []float64 {
	return []float64{0, 0.04, 0.08, 0.12, 0.16, 0.20, 0.24, 0.28, 0.32, 0.40, 0.60, 0.80, 1}
}

// SweepChen rehearses the stream of case 4, and a file over links that it fills,
// with one share after the other.
func SweepChen(algorithm string) ([]ChenShare, error) {
	out := make([]ChenShare, 0, len(chenShares()))
	for _, share := range chenShares() {
		stream := chenConfig(algorithm, scheduler.EnergyEMTCP)
		file := chenFile(algorithm)
		if stream.Offload, file.Offload = share, share; share == 0 {
			stream.Energy, file.Energy = scheduler.EnergyOff, scheduler.EnergyOff
		}
		s, err := sim.Run(stream)
		if err != nil {
			return nil, err
		}
		f, err := sim.Run(file)
		if err != nil {
			return nil, err
		}
		row := ChenShare{
			Share: share, Watts: s.Energy.Joules / s.Consumed, Mbps: float64(s.SizeBytes) * 8e-6 / s.Consumed,
			CostlyShare: float64(s.Links[1].Bytes) / float64(s.SizeBytes),
			FileSeconds: f.Seconds, FileJoules: f.Energy.Joules,
		}
		row.PSNR = psnr(stream.Consume*8e-6, row.Mbps)
		out = append(out, row)
	}
	return out, nil
}

// chenFile is a download of 250 MB over links of 20 Mbit/s each, with their radios.
func chenFile(algorithm string) sim.Config {
	cfg := sim.Default(scenario.Scenario{Name: "chen-file", Links: []scenario.Link{
		{Name: "wlan0", DownMbps: 20, RTT: thesisWiFiRTT}, {Name: "rmnet0", DownMbps: 20, RTT: thesisLTERTT},
	}}, algorithm)
	cfg.Energy = scheduler.EnergyEMTCP
	cfg.SetRadios(chenRadios())
	return cfg
}

// nearlyBest is what a share's efficiency may lack of the best one's.
const nearlyBest = 0.005

// bestShare is the smallest share with the stream's best efficiency, or nearly.
func bestShare(rows []ChenShare) ChenShare {
	best := 0.0
	for i := range rows {
		best = max(best, rows[i].MbitPerJoule())
	}
	for i := range rows {
		if rows[i].MbitPerJoule() >= (1-nearlyBest)*best {
			return rows[i]
		}
	}
	return ChenShare{}
}
